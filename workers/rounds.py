"""When the front looks around: every LOOK_AROUND_S while requests wait, every LOOK_AROUND_IDLE_S at the latest when none do.

An idle front is woken by its workers for each beat anyway. A round rides along with their word, since a wake-up of its own costs more
than all that is done in it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

LOOK_AROUND_S = 0.02
LOOK_AROUND_IDLE_S = 0.12
"""A little more than lies between two beats: while they come, no round needs a wake-up of its own."""


class Rounds:
    def __init__(self, look_around: Callable[[float], None], requests_wait: Callable[[], bool]) -> None:
        self._look_around = look_around
        self._requests_wait = requests_wait
        self._looked_at = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._over: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def go(self) -> None:
        """Look around now, and from then on until `stop`. Raises what a look raises."""
        self._look()
        try:
            await self._over
        finally:
            if self._timer is not None:
                self._timer.cancel()
            self._timer = None

    def stop(self) -> None:
        if not self._over.done():
            self._over.set_result(None)

    def ride_along(self) -> None:
        """The front is awake anyway, and has done what it was woken for."""
        every_s = LOOK_AROUND_S if self._requests_wait() else LOOK_AROUND_IDLE_S / 2
        if self._timer is not None and time.monotonic() - self._looked_at >= every_s:
            self._timer.cancel()
            self._look()

    def _look(self) -> None:
        if self._over.done():
            return
        self._looked_at = time.monotonic()
        try:
            self._look_around(self._looked_at)
        except Exception as error:  # noqa: BLE001  # whatever it is, it ends the front, which a timer's callback would not
            self._over.set_exception(error)
            return
        wait_s = LOOK_AROUND_S if self._requests_wait() else LOOK_AROUND_IDLE_S
        self._timer = asyncio.get_running_loop().call_later(wait_s, self._look)
