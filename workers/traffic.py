"""How often tasks are begun and completed, by day: what lists of tasks show beside them.

Counted in memory by the master's worker, from the changes that it has committed, and added to table `task_traffic` about once a second.
A figure to look at, no part of the promise: what was counted since the last second is lost with a worker that is killed. One object
outlives the lives of a worker.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import date, timedelta
from typing import NamedTuple

WRITE_EVERY_S = 1.0
ROWS_AT_ONCE = 500
"""In one transaction, so that no write waits long for it; what is left comes a second later."""
KEEP_DAYS = 100
MOST = 100_000
"""Counters in memory while the table cannot be written; what is above is not counted."""


class Row(NamedTuple):
    task: int
    day: str
    started: int
    completed: int


class Traffic:
    def __init__(self) -> None:
        self._counts: dict[tuple[int, str], list[int]] = {}
        self._next_at = 0.0
        self._swept_on = ""

    def note(self, day: str, begun: Iterable[int], completed: Iterable[int]) -> None:
        """What a committed transaction has done at this day (UTC): one number of a task for each record begun, and each completed."""
        for task, count in Counter(begun).items():
            self._add(task, day, count, 0)
        for task, count in Counter(completed).items():
            self._add(task, day, 0, count)

    def _add(self, task: int, day: str, started: int, completed: int) -> None:
        counts = self._counts.get((task, day))
        if counts is None:
            if len(self._counts) >= MOST:
                return
            counts = self._counts[task, day] = [0, 0]
        counts[0] += started
        counts[1] += completed

    def is_due(self, now: float) -> bool:
        return bool(self._counts) and now >= self._next_at

    def take(self, now: float) -> list[Row]:
        """Rows to be added to the table, in the order of their keys; they are not held here any more."""
        self._next_at = now + WRITE_EVERY_S
        keys = sorted(self._counts)[:ROWS_AT_ONCE]
        return [Row(*key, *self._counts.pop(key)) for key in keys]

    def oldest_kept(self, day: str) -> str | None:
        """Once a day: the first day of which rows are kept."""
        if day == self._swept_on:
            return None
        self._swept_on = day
        return (date.fromisoformat(day) - timedelta(days=KEEP_DAYS)).isoformat()

    def give_back(self, rows: Iterable[Row], again_at: float) -> None:
        """They were not written."""
        self._next_at = again_at
        for row in rows:
            self._add(*row)
