"""When a sweep must wait: while a replica is behind, and while a DBSvr has a queue.

`why_wait` is pure, over what the DBSvrs say of themselves (TASK.STATS). A replica that is stopped or gone is nothing to wait for: it
takes all of it when it comes back. Without any DBSvr that answers nobody knows, and that is a reason to wait.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any

from apps.dbsvr.db_interface import DbInterface
from tasksys_site.configuration import Sweep as Settings
from workers.protocol import DBSvrError

LOOK_EVERY_S = 0.5
STATS_WITHIN_MS = 300
FOLLOWING = ("serving", "catching_up", "held")


def why_wait(said: Mapping[str, Mapping[str, Any]], settings: Settings) -> str:
    """`said`: of each DBSvr that has answered. A sentence, or "" when the sweep may go on."""
    if not said:
        return "waits: no DBSvr says how it stands"
    for name, stats in said.items():
        users = sum(queue["depth"] + queue["backlog"] for queue in stats["queues"].values())
        if users > settings.max_queue:
            return f"waits: {users} requests stand before DBSvr {name}"
        for replica, state in stats["replicas"].items():
            lag_ms = state["lag_ms"]
            if state["state"] in FOLLOWING and lag_ms is not None and lag_ms > settings.max_lag_ms:
                return f"waits: replica {replica} is {lag_ms / 1000:.1f} s behind"
    return ""


class Pace:
    def __init__(self, settings: Settings, dbsvr: DbInterface, instances: Iterable[str]) -> None:
        self._settings = settings
        self._dbsvr = dbsvr
        self._instances = tuple(instances)
        self._looked_at = 0.0
        self._sentence = ""

    def why_wait(self) -> str:
        now = time.monotonic()
        if now - self._looked_at >= LOOK_EVERY_S:
            self._looked_at = now
            self._sentence = why_wait(self._ask(), self._settings)
        return self._sentence

    def _ask(self) -> dict[str, Mapping[str, Any]]:
        said = {}
        for name in self._instances:
            try:
                said[name] = self._dbsvr.stats(name, deadline_ms=STATS_WITHIN_MS)
            except DBSvrError:
                continue  # whether it is well is for others to say
        return said
