"""When a run must wait: while the replica is far behind, and while the DBSvr has a queue.

A lag is no reason in itself (a cold backup is always late): only one beyond `diff.max_lag_ms` is.
"""

from __future__ import annotations

import time

from apps.dbsvr.db_interface import DbInterface
from apps.dbsvr.diff.failures import ReplicaStands
from apps.dbsvr.diff.servers import Both
from apps.dbsvr.diff.settling import Position, has_passed
from tasksys_site.configuration import Diff
from workers.protocol import DBSvrError

LOOK_EVERY_S = 0.5
STATS_WITHIN_MS = 300


class Throttle:
    def __init__(self, settings: Diff, both: Both, dbsvr: DbInterface | None, instances: list[str]) -> None:
        """`dbsvr` None: nobody is asked for his queue."""
        self._settings = settings
        self._both = both
        self._dbsvr = dbsvr
        self._instances = instances
        self._looked_at = 0.0
        self._sentence = ""
        self._moved: tuple[Position, float] | None = None

    def why_wait(self) -> str:
        """A sentence while the run has to wait, "" when it may go on. Raises ReplicaStands when waiting cannot help."""
        now = time.monotonic()
        if now - self._looked_at >= LOOK_EVERY_S:
            self._looked_at = now
            self._sentence = self._lag() or self._queue()
        return self._sentence

    def _lag(self) -> str:
        theirs, ours = self._both.replica.snapshot(), self._both.master.snapshot()
        if why := self._both.replica.why_it_stands():
            raise ReplicaStands(f"the replica stands still: {why}")
        now = time.monotonic()
        if self._moved is None or has_passed(theirs.position, self._moved[0]) or not has_passed(ours.position, theirs.position):
            self._moved = theirs.position, now
        elif now - self._moved[1] > max(self._settings.stands_after_s, 0):
            raise ReplicaStands("the replica stands still: what it shows does not move, and the master's tick does")
        lag_ms = max(0, ours.wall_us - theirs.wall_us) // 1000
        return f"waits: the replica is {lag_ms / 1000:.1f} s behind" if lag_ms > self._settings.max_lag_ms else ""

    def _queue(self) -> str:
        for name in self._instances if self._dbsvr is not None else ():
            try:
                assert self._dbsvr is not None
                queues = self._dbsvr.stats(name, deadline_ms=STATS_WITHIN_MS)["queues"]
            except (DBSvrError, KeyError):
                continue  # a DBSvr that says nothing is no queue: whether it is well is for others to say
            users = sum(queue["depth"] + queue["backlog"] for queue in queues.values())
            if users > self._settings.max_queue:
                return f"waits: {users} requests stand before DBSvr {name}"
        return ""
