"""The cache nodes as this process sees them: the ring, who may be used, and the one thread that looks once a second.

Each look is made of two small queries: the registry, then the unfinished purges (in this order, so that a node's purges are known as
late as the node itself). What it found counts from the moment at which it was *sent*, and no longer than UNSEEN_AFTER_S.
Processes need not agree on what they see: a copy's freshness rests on trail, versions and tokens; this here bounds the time for
which a node that missed a purge is used (INV 11). The same thread writes down what the process has counted.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

from django.db import Error, close_old_connections, connections

from apps.cachesync import purge_rows, registry
from apps.cachesync.nodes import CacheNode, NodeUnavailable
from apps.cachesync.readmission import Readmission
from apps.cachesync.registry import UNSEEN_AFTER_S
from apps.cachesync.ring import Ring
from tasksys_site import configuration

log = logging.getLogger(__name__)

LOOK_S = 1.0
SECOND_LOOK_S = 0.25
"""After the first, which takes every purge that it sees for an old one."""
FIRST_WAIT_S = 1.0

Chore = Callable[[Mapping[str, CacheNode]], None]


class View(NamedTuple):
    """One look. `ring`: the nodes in use, also those that may not be used for a while; None without any."""

    sent_at: float
    ring: Ring | None
    nodes: Mapping[str, CacheNode]
    why_not: Mapping[str, str]


NOTHING = View(float("-inf"), None, {}, {})


def _meet(node: CacheNode) -> None:
    """A node of a new installation: from its first run on each other one must be emptied first."""
    with contextlib.suppress(NodeUnavailable):
        run = str(node.describe()["run_id"])
        registry.admit_first(node.name, node.url, run)
        node.admitted_run = run


class NodeSet:
    """Shared by threads; a forked child makes its own."""

    def __init__(self, cache: configuration.Cache, chore: Chore | None = None) -> None:
        """`chore`: something small to be done after each look."""
        self._cache = cache
        self._chore = chore
        self._view = NOTHING
        self._readmission = Readmission(cache.purge_grace_ms / 1000)
        self._looked = threading.Event()
        self._ending = threading.Event()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None
        self._complained = ""

    def choose(self, uid: int) -> CacheNode | None:
        """The user's node: his own on the ring, else the next that may be used; None when there is none, and the DBSvr serves."""
        if self._thread is None:
            self._start()
        view = self._view
        if view.ring is None or time.monotonic() - view.sent_at >= UNSEEN_AFTER_S:
            return None
        name = view.ring.node_of(uid)
        if not view.why_not[name] and view.nodes[name].is_good:
            return view.nodes[name]
        for name in view.ring.in_turn(uid):
            if not view.why_not[name] and view.nodes[name].is_good:
                return view.nodes[name]
        return None

    def may_serve(self, node: CacheNode) -> bool:
        """Whether what the node has just given may be handed on: asked *after* it was given."""
        view = self._view
        return view.nodes.get(node.name) is node and not view.why_not[node.name] and time.monotonic() - view.sent_at < UNSEEN_AFTER_S

    def registered(self) -> list[CacheNode]:
        """Every node that may hold copies, used or not."""
        return list(self._view.nodes.values())

    def named(self, name: str) -> CacheNode | None:
        return self._view.nodes.get(name)

    def why_not(self) -> Mapping[str, str]:
        """Of each node why this process does not use it; empty where it does."""
        return self._view.why_not

    def look(self) -> None:
        """One look, in the calling thread. Raises the database's errors, and leaves what was known before as it was."""
        sent_at = time.monotonic()
        rows = registry.nodes()
        unfinished = purge_rows.unfinished()
        before = self._view.nodes
        nodes = {}
        for row in rows:
            known = before.get(row.name)
            if known is None or known.url != row.url:
                known = CacheNode(row.name, row.url, self._cache.copy_ttl_ms, self._cache.timeout_ms)
            known.admitted_run = row.admitted_run
            nodes[row.name] = known
            if row.state == "in_use" and not row.admitted_run:
                _meet(known)
        why_not = self._readmission.judge(sent_at, rows, unfinished)
        on_ring = [row.name for row in rows if row.state == "in_use"]
        ring = self._view.ring
        if not on_ring:
            ring = None
        elif ring is None or ring.names != tuple(sorted(on_ring)):
            ring = Ring(on_ring)
        self._report(why_not)
        self._view = View(sent_at, ring, nodes, why_not)
        self._looked.set()
        for name, node in before.items():
            if nodes.get(name) is not node:
                node.close()

    def close(self) -> None:
        self._ending.set()
        if self._thread is not None:
            self._thread.join(10)
        for node in self._view.nodes.values():
            node.close()
        self._view = NOTHING

    def _start(self) -> None:
        with self._starting:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="cache nodes", daemon=True)
                self._thread.start()
        self._looked.wait(FIRST_WAIT_S)

    def _run(self) -> None:
        pause = SECOND_LOOK_S
        while not self._ending.is_set():
            self._look_and_report()
            self._ending.wait(pause)
            pause = LOOK_S
        connections.close_all()

    def _look_and_report(self) -> None:
        try:
            close_old_connections()
            self.look()
            if self._chore is not None:
                self._chore(self._view.nodes)
        except Error as error:
            if not self._complained:
                log.warning("cache nodes cannot be looked at; without a look none is used", extra={"error": error})
            self._complained = str(error)
        except Exception:
            # The thread must outlive any fault, else no node would ever be used again.
            log.exception("cache nodes could not be looked at")
        else:
            if self._complained:
                log.info("cache nodes can be looked at again")
            self._complained = ""

    def _report(self, why_not: Mapping[str, str]) -> None:
        for name, why in why_not.items():
            was = self._view.why_not.get(name)
            if was is not None and was != why:
                log.warning("cache node %s", "is not used" if why else "is used again", extra={"node": name, "why": why or was})
