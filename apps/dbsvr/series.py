"""From rows of history to what a chart draws: one value for every step, with gaps where there is nothing.

Pure. A missing row is a gap, never a zero and never a line drawn across; `rows` says which steps have one, so that a chart can tell
"nobody looked" from "the value was unknown".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

Value = float | None


class Grid(msgspec.Struct, frozen=True):
    """`at` is each step's beginning; `columns` has one list of values a series, as long as `at`."""

    at: list[int]
    rows: list[int]
    columns: list[list[Value]]


def grid(rows: Mapping[int, Sequence[Value]], width: int, step_s: int, after: int, newest: int) -> Grid:
    """All steps with after < at <= newest. Before the first row there ever was, nothing: that is no gap."""
    start = (after // step_s + 1) * step_s
    at = list(range(start, newest + 1, step_s))
    nothing: list[Value] = [None] * width
    found = [rows.get(moment) for moment in at]
    return Grid(
        at=at,
        rows=[int(row is not None) for row in found],
        columns=[[_rounded((row if row is not None else nothing)[index]) for row in found] for index in range(width)],
    )


def _rounded(value: Value) -> Value:
    """Three decimals: what is drawn and said needs no more, and the answer is half as long."""
    return None if value is None else round(value, 3)


def start_of(window_s: int, step_s: int, now: float, first: int | None) -> int:
    """The moment after which a chart begins: its window, or the first row there is."""
    start = int(now) - window_s
    return start if first is None else max(start, first - step_s)
