"""Looks at a server's endpoints: each by a thread of its own, so that one that hangs delays no other and no request.

Leans on `endpoints` for what the looks mean. The endpoint in use is not looked at: its use shows how it is.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

from workers.endpoints import Look, Standing
from workers.process import StopFlag

LOOK_EVERY_S = 1.0
YOUNG_S = 2.0
"""A look so young counts; older ones are awaited when an endpoint must be chosen."""
CHOOSE_WITHIN_S = 2.5
NOTICE_STOP_S = 0.1

LookAt = Callable[[str], Look]


class Probes:
    """`look_at` makes one look, with every wait in it bounded; it answers faults, and raises nothing."""

    def __init__(self, endpoints: Sequence[str], look_at: LookAt) -> None:
        self.endpoints = tuple(endpoints)
        self._look_at = look_at
        self.standings = {endpoint: Standing(endpoint) for endpoint in self.endpoints}
        self._changed = threading.Condition()
        self._in_use: str | None = None
        self._look_now = {endpoint: threading.Event() for endpoint in self.endpoints}
        self._started = False

    def looks(self, stop: StopFlag) -> list[Look]:
        """A young look at each endpoint, in their order; one that does not come in time (or before the stop) is a fault."""
        self._start()
        asked_at = time.monotonic()
        until = asked_at + CHOOSE_WITHIN_S

        def missing() -> list[str]:
            return [endpoint for endpoint, standing in self.standings.items() if standing.looked_at < asked_at - YOUNG_S]

        with self._changed:
            self._in_use = None
            for endpoint in missing():
                self._look_now[endpoint].set()
            while missing() and not stop and (left := until - time.monotonic()) > 0:
                self._changed.wait(min(left, NOTICE_STOP_S))
            late = set(missing())
            return [
                Look(standing.endpoint, (f"{standing.endpoint}: no answer within {CHOOSE_WITHIN_S:g} s",))
                if standing.endpoint in late or standing.last is None
                else standing.last
                for standing in self.standings.values()
            ]

    def use(self, endpoint: str) -> None:
        """This one is in use now: it is not looked at, and what was seen of it before counts no more."""
        with self._changed:
            self._in_use = endpoint
            self.standings[endpoint] = Standing(endpoint)

    def _start(self) -> None:
        if self._started:
            return
        self._started = True
        for endpoint in self.endpoints:
            # Daemons: a look that hangs keeps no process from ending.
            threading.Thread(target=self._go_on_looking, args=(endpoint,), daemon=True, name=f"probe {endpoint}").start()

    def _go_on_looking(self, endpoint: str) -> None:
        look_now = self._look_now[endpoint]
        while True:
            if self._in_use != endpoint:
                look = self._look_at(endpoint)
                with self._changed:
                    if self._in_use != endpoint:
                        self.standings[endpoint].note(look, time.monotonic())
                    self._changed.notify_all()
            look_now.wait(LOOK_EVERY_S)
            look_now.clear()
