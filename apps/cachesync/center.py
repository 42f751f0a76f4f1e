"""The cache sync center: purges what is unfinished on the cache nodes, for as long as it takes.

The table is the truth: a look at it says which nodes have something before them, and each is worked off by itself, oldest first, many
users a round trip; rows are closed when the node has confirmed. A worker that dies in between leaves rows, and the next look finds
them. A node that fails is left alone for a while that grows (its breaker), and its rows wait.
"""

from __future__ import annotations

import concurrent.futures
import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence

from apps.cachesync import purge_rows, registry
from apps.cachesync.nodes import CacheNode, NodeUnavailable, Stale
from apps.cachesync.purge_rows import EVERY_NODE, FLUSH, Row
from tasksys_site import configuration

log = logging.getLogger(__name__)

AT_ONCE = 500
FLUSH_INSTEAD = 20_000
"""With more rows than this before it a node is emptied: quicker, and after so long its copies are old anyway."""
WORK_S = 10.0
"""One task works on a node no longer; the next look goes on."""


class Center:
    """Shared by the threads of a worker; a forked child makes its own."""

    def __init__(self, cache: configuration.Cache) -> None:
        self._cache = cache
        self._lock = threading.Lock()
        self._known: dict[str, CacheNode] = {}
        self._at_work: set[str] = set()
        self._again: set[str] = set()

    def nodes(self) -> Mapping[str, CacheNode]:
        """All registered nodes, as the registry is now."""
        rows = registry.nodes()
        with self._lock:
            before = self._known
            self._known = {row.name: self._node(row.name, row.url) for row in rows}
            for name, node in before.items():
                if self._known.get(name) is not node:
                    node.close()
            return dict(self._known)

    def _node(self, name: str, url: str) -> CacheNode:
        known = self._known.get(name)
        if known is not None and known.url == url:
            return known
        return CacheNode(name, url, self._cache.copy_ttl_ms, self._cache.timeout_ms)

    def purge_node(self, name: str) -> int:
        """Work off what the node has before it; the number of rows closed."""
        return self._alone(name, lambda: self._work_off(name))

    def purge_everywhere(self) -> int:
        """Work off the rows of every node: all are purged at once, and each that does not confirm is to be flushed instead."""
        return self._alone(EVERY_NODE, self._work_off_everywhere)

    def _alone(self, name: str, work: Callable[[], int]) -> int:
        """One thread at a time: who comes meanwhile goes away again, and lets the other look once more."""
        with self._lock:
            if name in self._at_work:
                self._again.add(name)
                return 0
            self._at_work.add(name)
        closed = 0
        try:
            while True:
                with self._lock:
                    self._again.discard(name)
                closed += work()
                with self._lock:
                    if name not in self._again:
                        self._at_work.remove(name)
                        return closed
        except BaseException:
            with self._lock:
                self._at_work.discard(name)
            raise

    def _work_off(self, name: str) -> int:
        closed, until = 0, time.monotonic() + WORK_S
        while time.monotonic() < until:
            rows = purge_rows.of_node(name, AT_ONCE)
            if not rows:
                break
            # After the rows: whoever made them knew the node from the registry, so one that is not there now is gone.
            node = self.nodes().get(name)
            if node is not None and not node.is_good:
                break
            try:
                if node is not None:
                    if len(rows) == AT_ONCE and purge_rows.count(name, FLUSH_INSTEAD) == FLUSH_INSTEAD:
                        rows.append(Row(rows[0].id, FLUSH, 0, 0, name))
                    self._purge(node, rows)
            except NodeUnavailable as error:
                log.warning("purges wait for their node", extra={"node": name, "error": error})
                break
            closed += purge_rows.close([row.id for row in rows])
        return closed

    @staticmethod
    def _purge(node: CacheNode, rows: Sequence[Row]) -> None:
        """When it returns, all that the rows ask for is done. Raises NodeUnavailable."""
        if any(row.uid == FLUSH for row in rows):
            node.flush()
            log.warning("cache node was flushed", extra={"node": node.name})
            return
        newest: dict[int, Stale] = {}
        for row in rows:
            known = newest.get(row.uid)
            if known is None or (known.generation, known.version) < (row.generation, row.version):
                newest[row.uid] = row.stale
        node.purge(list(newest.values()))

    def _work_off_everywhere(self) -> int:
        closed, until = 0, time.monotonic() + WORK_S
        while time.monotonic() < until and (rows := purge_rows.of_node(EVERY_NODE, AT_ONCE)):
            nodes = self.nodes()
            unconfirmed = []
            if nodes:
                with concurrent.futures.ThreadPoolExecutor(len(nodes)) as threads:
                    running = {name: threads.submit(self._purge, node, rows) for name, node in nodes.items()}
                unconfirmed = [name for name, each in running.items() if each.exception() is not None]
            purge_rows.close_for_all([row.id for row in rows], unconfirmed, max(row.generation for row in rows))
            closed += len(rows)
        return closed

    def let_join(self) -> None:
        """Empty the nodes that everybody has heard of and nobody uses yet; from then on they are used."""
        nodes = self.nodes()
        for row in registry.joining():
            node = nodes.get(row.name)
            if node is None or node.url != row.url or not node.is_good:
                continue
            try:
                run = str(node.describe()["run_id"])
                node.flush()
            except NodeUnavailable as error:
                log.warning("a node cannot join", extra={"node": row.name, "error": error})
            else:
                registry.joined(row.name, row.url, run)

    def admit(self, runs: Mapping[str, str]) -> None:
        """Empty the nodes whose server was started anew (`runs`: as met just now); from then on they are used again.

        Should it be started once more before it is emptied, that run is not the one that is admitted.
        """
        nodes = self.nodes()
        for row in registry.nodes():
            run = runs.get(row.name)
            node = nodes.get(row.name)
            if not run or node is None or node.url != row.url or row.state == "joining" or run == row.admitted_run:
                continue
            if not row.admitted_run:
                registry.admit_first(row.name, row.url, run)
                continue
            try:
                node.flush()
            except NodeUnavailable:
                continue  # the next probe meets it again
            log.warning("cache node was started anew and has been emptied", extra={"node": row.name})
            registry.admit(row.name, row.url, run)
