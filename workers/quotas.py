"""What all users together have used of a task's caps, while one event is applied.

Pure. The figures come from rows that both DBSvrs write, so they must be locked before they are looked at: who asks without having them
is told so, and comes again with them. What is counted here is kept by `settle`, when the whole event went well.
"""

from __future__ import annotations

from typing import TypeAlias

from workers.protocol import Change

QuotaKey: TypeAlias = tuple[int, str]
"""(task, key): the key is `total`, a period key, or `points`."""

POINTS = "points"
"""Counts points; every other key counts completions."""


class QuotasNeeded(Exception):
    """The event may use up a cap: apply it with the quotas of its changes. Nothing was done."""


class Counting:
    """`used`: of each quota that the event's changes name; None when they are not at hand."""

    __slots__ = ("_counted", "_used")

    def __init__(self, used: dict[QuotaKey, int] | None) -> None:
        self._used = used
        self._counted: dict[QuotaKey, int] = {}

    def capped_by(self, change: Change, points: int, completions: int) -> str:
        """The first of the change's caps that has no room for this; empty when all have."""
        for key, limit in change.caps.items():
            more = points if key == POINTS else completions
            if more and self._of((change.task, key)) + more > limit:
                return key
        return ""

    def count(self, change: Change, points: int, completions: int) -> None:
        """Use so much of the change's caps; negative: release it. Never below zero: a cap may be younger than what is released."""
        for key in change.caps:
            if more := points if key == POINTS else completions:
                place = change.task, key
                self._counted[place] = max(0, self._of(place) + more)

    def settle(self) -> None:
        if self._counted:
            assert self._used is not None
            self._used.update(self._counted)

    def _of(self, place: QuotaKey) -> int:
        if self._used is None:
            raise QuotasNeeded(f"task {place[0]} is capped by {place[1]}")
        return self._counted[place] if place in self._counted else self._used[place]
