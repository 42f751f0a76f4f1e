"""What the writer's logic node does before a write is answered (INV 9): other nodes first, then its own.

(1) Every node that the answer names is purged, all at once, within `purge_before_answer_ms`; what is not done by then the cache sync
center does. (2) Its own node is set right by one script; when that is not confirmed, a purge row for it is committed first. When that
fails too there is no answer: the caller hears that the outcome is unknown, and repeats the event.
Rows whose purge is confirmed are closed afterwards, by a thread of its own: nobody waits for that, and what it misses the center
purges again, to no harm.
"""

from __future__ import annotations

import concurrent.futures
import logging
import queue
import threading
import time
from collections.abc import Collection, Sequence
from typing import NamedTuple

from django.db import Error, close_old_connections

from apps.cachesync import purge_rows, registry
from apps.cachesync.node_set import NodeSet
from apps.cachesync.nodes import CacheNode, NodeUnavailable, Stale
from apps.cachesync.purge_rows import EVERY_NODE
from workers.protocol import TimedOut, WriteAnswer

log = logging.getLogger(__name__)

OWN_ROW_WITHIN_S = 1.0
THREADS = 16
CLOSINGS = 10_000
"""Kept at most; one more is left to the center."""


class Purging:
    """Shared by threads; a forked child makes its own."""

    def __init__(self, nodes: NodeSet, within_ms: int) -> None:
        self._nodes = nodes
        self._within_s = within_ms / 1000
        self._threads = concurrent.futures.ThreadPoolExecutor(THREADS, thread_name_prefix="purge")
        self._closer = Closer()

    def complete(self, own: CacheNode | None, answer: WriteAnswer, write_through: bool) -> None:
        """Both steps. `own`: the node that the write has named; None when it named none. Raises TimedOut."""
        confirmed = self._purge_others(own, _stale(answer), answer.purge) if answer.purge else set()
        if own is not None:
            try:
                own.settle(answer.snapshot.uid, answer, write_through)
                confirmed.add(own.name)
            except NodeUnavailable as error:
                log.warning("the writer's own node did not confirm", extra={"node": own.name, "error": error})
                self._leave_row(_stale(answer), own.name)
        if answer.purge:
            self._closer.put(_stale(answer), confirmed)

    def complete_later(self, own: CacheNode, answer: WriteAnswer) -> None:
        """For a write of which nobody waits to hear any more."""

        def complete() -> None:
            try:
                self.complete(own, answer, write_through=True)
            except TimedOut as error:
                log.warning("a write that nobody waits for is not completed", extra={"uid": answer.snapshot.uid, "error": error})

        threading.Thread(target=complete, name="late completion", daemon=True).start()  # not of the pool, in which it waits for others

    def complete_at_once(self, answered: Sequence[tuple[CacheNode, WriteAnswer]]) -> list[bool]:
        """One word to each own node; True for each write that is complete with that. Waits for nothing else."""
        done = [False] * len(answered)
        by_own: dict[CacheNode, list[int]] = {}
        for place, (own, answer) in enumerate(answered):
            if not answer.purge:
                by_own.setdefault(own, []).append(place)
        for own, places in by_own.items():
            try:
                own.settle_many([answered[place][1] for place in places])
            except NodeUnavailable:
                continue  # `complete` finds out once more, and says so
            for place in places:
                done[place] = True
        return done

    def forget_profile(self, erased: WriteAnswer) -> None:
        """His profile goes from every node: any may have kept one. Of a node that does not confirm in time, a purge row remembers it."""
        running = {self._threads.submit(node.forget_profile, erased.snapshot.uid): node.name for node in self._nodes.registered()}
        done, _late = concurrent.futures.wait(running, timeout=self._within_s)
        for each, name in running.items():
            if each not in done or each.exception() is not None:
                self._leave_row(_stale(erased), name)

    def complete_many(self, answered: Sequence[tuple[CacheNode | None, WriteAnswer]]) -> list[TimedOut | None]:
        """The same for many writes at once: one round trip for each node named, one for each own node. In order, the error of each that
        must not be answered."""
        stale = [_stale(answer) for _own, answer in answered]
        confirmed = self._purge_others_of_many(answered, stale)
        failed: list[TimedOut | None] = [None] * len(answered)
        by_own: dict[CacheNode, list[int]] = {}
        for place, (own, _answer) in enumerate(answered):
            if own is not None:
                by_own.setdefault(own, []).append(place)
        for own, places in by_own.items():
            try:
                own.settle_many([answered[place][1] for place in places])
                for place in places:
                    confirmed[place].add(own.name)
            except NodeUnavailable as error:
                log.warning("the writer's own node did not confirm", extra={"node": own.name, "error": error})
                failure: TimedOut | None = None
                for place in places:
                    # When one row cannot be written, the others' callers are not kept waiting for the same.
                    failure = failed[place] = failure or self._failure_to_leave_row(stale[place], own.name)
        for place, (_own, answer) in enumerate(answered):
            if answer.purge:
                self._closer.put(stale[place], confirmed[place])
        return failed

    def _purge_others_of_many(self, answered: Sequence[tuple[CacheNode | None, WriteAnswer]], stale: Sequence[Stale]) -> list[set[str]]:
        """For each write the names of the nodes that have confirmed in time."""
        confirmed: list[set[str]] = [set() for _each in answered]
        by_node: dict[CacheNode, list[int]] = {}
        for place, (own, answer) in enumerate(answered):
            for node in self._others(own, answer.purge) if answer.purge else ():
                by_node.setdefault(node, []).append(place)
        running = {self._threads.submit(node.purge, [stale[it] for it in places]): node for node, places in by_node.items()}
        done, _late = concurrent.futures.wait(running, timeout=self._within_s)
        for each in done:
            if each.exception() is None:
                for place in by_node[running[each]]:
                    confirmed[place].add(running[each].name)
        return confirmed

    def _failure_to_leave_row(self, stale: Stale, node: str) -> TimedOut | None:
        try:
            self._leave_row(stale, node)
        except TimedOut as error:
            return error
        return None

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._closer.close()

    def _purge_others(self, own: CacheNode | None, stale: Stale, names: Collection[str]) -> set[str]:
        """The names of those that have confirmed in time."""
        running = {self._threads.submit(node.purge, [stale]): node.name for node in self._others(own, names)}
        done, _late = concurrent.futures.wait(running, timeout=self._within_s)
        return {running[each] for each in done if each.exception() is None}

    def _others(self, own: CacheNode | None, names: Collection[str]) -> Collection[CacheNode]:
        """The nodes that are named, each once."""
        named = [self._nodes.named(name) for name in names if name != EVERY_NODE]
        if EVERY_NODE in names:
            named = list(self._nodes.registered())
        # Its own is set right by the second step, which purges too. Who is being left alone is not waited for.
        return {node.name: node for node in named if node is not None and node is not own and node.is_good}.values()

    def _leave_row(self, stale: Stale, node: str) -> None:
        row = self._threads.submit(_insert, stale, node)
        try:
            row.result(OWN_ROW_WITHIN_S)
        except (Error, concurrent.futures.TimeoutError) as error:
            raise TimedOut(
                "applied, but a stale copy could neither be removed nor written down; repeat it with the same event id"
            ) from error


def _stale(answer: WriteAnswer) -> Stale:
    snapshot = answer.snapshot
    return Stale(snapshot.uid, snapshot.generation, snapshot.version)


def _insert(stale: Stale, node: str) -> None:
    close_old_connections()
    purge_rows.insert(stale, node)


class _Closing(NamedTuple):
    stale: Stale
    confirmed: set[str]


class Closer:
    """Closes rows whose purge was confirmed, many at once."""

    PAUSE_S = 0.02
    """So that the writes of a moment share a statement."""

    def __init__(self) -> None:
        self._waiting: queue.Queue[_Closing | None] = queue.Queue(CLOSINGS)
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def put(self, stale: Stale, confirmed: set[str]) -> None:
        if not confirmed:
            return
        try:
            self._waiting.put_nowait(_Closing(stale, confirmed))
        except queue.Full:
            return  # the center purges again, and closes
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="purge rows", daemon=True)
                self._thread.start()

    def close(self) -> None:
        with self._lock:
            if self._thread is not None:
                self._waiting.put(None)
                self._thread.join(10)

    def _run(self) -> None:
        while (first := self._waiting.get()) is not None:
            time.sleep(self.PAUSE_S)
            closings = [first]
            while len(closings) < 100 and not self._waiting.empty():
                following = self._waiting.get_nowait()
                if following is None:
                    return
                closings.append(following)
            try:
                close_old_connections()
                purge_rows.close([row for closing in closings for row in _confirmed_rows(closing)])
            except Error as error:
                log.warning("confirmed purges could not be closed; the center does it", extra={"error": error})


def _confirmed_rows(closing: _Closing) -> list[int]:
    """The user's rows, up to this state, that are done with what the nodes have confirmed."""
    state = (closing.stale.generation, closing.stale.version)
    rows = [row for row in purge_rows.of_user(closing.stale.uid) if (row.generation, row.version) <= state]
    confirmed = set(closing.confirmed)
    # Looked up after the rows: a node that is not there now had no copies when they were made.
    if any(row.node == EVERY_NODE for row in rows) and {node.name for node in registry.nodes()} <= confirmed:
        confirmed.add(EVERY_NODE)
    return [row.id for row in rows if row.node in confirmed]
