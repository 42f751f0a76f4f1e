"""When was a tick committed? From that follow a replica's lag and when it will show a stamp.

Pure: moments are passed in (CLOCK_MONOTONIC, seconds). The wall clock plays no part, so that a stepped clock changes nothing.
"""

from __future__ import annotations

from bisect import bisect_left

RESOLUTION_S = 0.005
KEEP = 40_000
"""Entries kept: over three minutes at full resolution; of older ticks it is only known that they are older."""


class TickClock:
    """Commit moments of one DBSvr's ticks, at a resolution of RESOLUTION_S."""

    def __init__(self) -> None:
        self._ticks: list[int] = []
        self._moments: list[float] = []

    @property
    def newest(self) -> int:
        return self._ticks[-1] if self._ticks else 0

    def note(self, tick: int, at: float) -> None:
        """`tick`, and everything before it, is committed at `at`."""
        if tick <= self.newest:
            return
        if self._moments and at - self._moments[-1] < RESOLUTION_S:
            self._ticks[-1] = tick
            return
        self._ticks.append(tick)
        self._moments.append(at)
        if len(self._ticks) > KEEP:
            del self._ticks[: KEEP // 2], self._moments[: KEEP // 2]

    def committed_at(self, tick: int) -> float | None:
        """When `tick` was committed, as nearly as is known; None for a tick not committed yet."""
        place = bisect_left(self._ticks, tick)
        return self._moments[place] if place < len(self._moments) else None

    def age_of_first_after(self, tick: int, now: float) -> float:
        """Seconds since the first commit after `tick`: how far a server that shows `tick` is behind. 0 when none came after."""
        at = self.committed_at(tick + 1)
        return 0.0 if at is None else max(0.0, now - at)
