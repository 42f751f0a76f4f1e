"""Rows about one attribute that no value fulfils together, such as level ≥ 30 and level < 20.

Pure. Looks at rows that fit their attribute's type; it need not find every contradiction, but what it finds is one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from apps.tasks.config.documents import Condition, ValueType
from apps.tasks.config.values import sort_key


def never_holds(rows: Sequence[Condition], type_: ValueType) -> bool:
    """Whether no value fulfils all of these rows, which all ask for the same attribute."""
    bounds = _Bounds()
    wanted: set[Any] | None = None
    unwanted: set[Any] = set()
    for row in rows:
        if row.operator in ("=", "in"):
            these = _keys(row, type_)
            wanted = these if wanted is None else wanted & these
        elif row.operator in ("!=", "not_in"):
            unwanted |= _keys(row, type_)
        else:
            bounds.narrow(row, type_)
    if wanted is not None:
        return not any(bounds.let(value) for value in wanted - unwanted)
    return bounds.are_crossed()


def _keys(row: Condition, type_: ValueType) -> set[Any]:
    values: Iterable[Any] = row.value if row.operator in ("in", "not_in") else (row.value,)
    return {sort_key(value, type_) for value in values}


class _Bounds:
    """What is left between the rows' limits; a bound is a value and whether the value itself is still allowed."""

    def __init__(self) -> None:
        self.low: tuple[Any, bool] | None = None
        self.high: tuple[Any, bool] | None = None

    def narrow(self, row: Condition, type_: ValueType) -> None:
        if row.operator == "between":
            self._raise_low(sort_key(row.value[0], type_), True)
            self._drop_high(sort_key(row.value[1], type_), type_ != "date")
        elif row.operator in (">", ">=", "after"):
            self._raise_low(sort_key(row.value, type_), row.operator != ">")
        elif row.operator in ("<", "<=", "before"):
            self._drop_high(sort_key(row.value, type_), row.operator == "<=")

    def _raise_low(self, value: Any, included: bool) -> None:
        if self.low is None or value > self.low[0] or (value == self.low[0] and not included):
            self.low = (value, included)

    def _drop_high(self, value: Any, included: bool) -> None:
        if self.high is None or value < self.high[0] or (value == self.high[0] and not included):
            self.high = (value, included)

    def let(self, value: Any) -> bool:
        if self.low is not None and not (value > self.low[0] or (value == self.low[0] and self.low[1])):
            return False
        return self.high is None or value < self.high[0] or (value == self.high[0] and self.high[1])

    def are_crossed(self) -> bool:
        if self.low is None or self.high is None:
            return False
        return bool(self.low[0] > self.high[0]) or (self.low[0] == self.high[0] and not (self.low[1] and self.high[1]))
