"""The four steps in which history is kept, and the arithmetic of going from one to the next.

Pure. A step is closed when its end has passed. Means are weighted by the seconds that were known; a step in which nothing was
known has no row: a gap stays a gap.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from apps.dbsvr.columns import WORST


class Step(NamedTuple):
    seconds: int
    keep_s: int
    """How long its rows are kept."""
    window: str
    window_s: int
    """The window of a chart that is drawn with it."""


STEPS: dict[int, Step] = {
    1: Step(1, 2 * 3600, "5m", 300),
    10: Step(10, 48 * 3600, "1h", 3600),
    60: Step(60, 8 * 86400, "24h", 86400),
    600: Step(600, 90 * 86400, "7d", 7 * 86400),
}
FINER = {10: 1, 60: 10, 600: 60}
WINDOWS = {step.window: step for step in STEPS.values()}

Row = Mapping[str, float | None]


def step_start(at: float, seconds: int) -> int:
    return int(at) // seconds * seconds


def closed_before(now: float, seconds: int) -> int:
    """The end of the newest closed step. A finer row may be written a moment late, hence the allowance."""
    return step_start(now - 2, seconds)


def combine(rows: Iterable[tuple[Row, int]], how: Mapping[str, str]) -> dict[str, float | None]:
    """One row from several, each given with the number of seconds that it stands for."""
    given = list(rows)
    return {name: _combined([(row.get(name), seconds) for row, seconds in given], way) for name, way in how.items()}


def _combined(values: Iterable[tuple[float | None, int]], way: str) -> float | None:
    known = [(value, seconds) for value, seconds in values if value is not None]
    if not known:
        return None
    if way == WORST:
        return max(value for value, _seconds in known)
    return sum(value * seconds for value, seconds in known) / sum(seconds for _value, seconds in known)
