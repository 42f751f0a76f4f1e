"""What ours is compared with, measured before and after it: a machine whose speed drifts favours neither."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class Baseline:
    """Between two of ours it is measured once: it is the end of the one and the beginning of the other."""

    def __init__(self, measure: Callable[[], float]) -> None:
        self._measure = measure
        self._last: float | None = None

    def around(self, ours: Callable[[], T]) -> tuple[T, tuple[float, float]]:
        """What `ours` gave, and the baseline just before and just after."""
        before = self._measure() if self._last is None else self._last
        value = ours()
        self._last = self._measure()
        return value, (before, self._last)
