"""Whether condition rows fit the attributes that they ask for, and can hold together.

Pure. The same for a task's conditions and for the filter of an event feed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from apps.tasks.config.contradictions import never_holds
from apps.tasks.config.documents import OPERATORS, Condition, ValueType
from apps.tasks.config.faults import Inspection
from apps.tasks.config.limits import MAX_LISTED_VALUES, MAX_ROWS
from apps.tasks.config.values import is_of_type, nearest, shown, sort_key
from workers.protocol import MAX_VALUE


def inspect_rows(rows: tuple[Condition, ...], types: Mapping[str, ValueType], unknown_code: str, at: Inspection, **params: Any) -> None:
    """One group of a task, or the filter of one feed. `unknown_code` is noted where a row asks for what has no type."""
    if len(rows) > MAX_ROWS:
        at.note("rows_too_many", limit=MAX_ROWS, count=len(rows))
    faults_before = len(at.found)
    seen: list[Condition] = []
    for place, row in enumerate(rows):
        type_ = types.get(row.attribute)
        if type_ is None:
            at.note(unknown_code, place, "attribute", attribute=row.attribute, nearest=nearest(row.attribute, types), **params)
        else:
            _inspect_row(row, type_, at, place)
        if row in seen:
            at.note("row_twice", place, attribute=row.attribute)
        seen.append(row)
    if len(at.found) == faults_before and len(rows) > 1:
        _inspect_contradictions(rows, types, at)


def _inspect_contradictions(rows: tuple[Condition, ...], types: Mapping[str, ValueType], at: Inspection) -> None:
    by_attribute: dict[str, list[Condition]] = {}
    for row in rows:
        by_attribute.setdefault(row.attribute, []).append(row)
    for name, about in by_attribute.items():
        if len(about) > 1 and never_holds(about, types[name]):
            at.note("group_never_holds", attribute=name)


def _inspect_row(row: Condition, type_: ValueType, at: Inspection, place: int) -> None:
    operator, value = row.operator, row.value
    if operator not in OPERATORS[type_]:
        at.note("operator_unfit", place, "operator", attribute=row.attribute, type=type_, operator=operator, fit=list(OPERATORS[type_]))
    elif operator == "exists":
        if value is not None:
            at.note("value_unwanted", place, "value", attribute=row.attribute)
    elif operator in ("in", "not_in"):
        _inspect_choices(row, type_, at.inside(place, "value"))
    elif operator == "between":
        _inspect_range(row, type_, at.inside(place, "value"))
    elif value is None or value == "":
        at.note("value_missing", place, "value", attribute=row.attribute, type=type_)
    elif not is_of_type(value, type_):
        note_wrong_type(at.inside(place, "value"), row.attribute, type_, value)


def _inspect_choices(row: Condition, type_: ValueType, at: Inspection) -> None:
    choices = row.value
    if not isinstance(choices, list | tuple):
        at.note("value_no_list", attribute=row.attribute, value=shown(choices))
        return
    if not choices:
        at.note("choices_empty", attribute=row.attribute)
    if len(choices) > MAX_LISTED_VALUES:
        at.note("choices_too_many", attribute=row.attribute, limit=MAX_LISTED_VALUES, count=len(choices))
        return
    seen = set()
    for place, choice in enumerate(choices):
        if not is_of_type(choice, type_):
            note_wrong_type(at.inside(place), row.attribute, type_, choice)
        elif choice in seen:
            at.note("choice_twice", place, attribute=row.attribute, value=shown(choice))
        else:
            seen.add(choice)


def _inspect_range(row: Condition, type_: ValueType, at: Inspection) -> None:
    ends = row.value
    if not isinstance(ends, list | tuple) or len(ends) != 2:
        at.note("range_needs_two", attribute=row.attribute)
        return
    wrong = [place for place, end in enumerate(ends) if not is_of_type(end, type_)]
    for place in wrong:
        note_wrong_type(at.inside(place), row.attribute, type_, ends[place])
    if wrong:
        return
    low, high = (sort_key(end, type_) for end in ends)
    # The end of a range of dates does not belong to it: from a day to the same day holds for nobody.
    if low > high or (type_ == "date" and low == high):
        at.note("range_reversed", attribute=row.attribute, low=shown(ends[0]), high=shown(ends[1]))


def note_wrong_type(at: Inspection, attribute: str, type_: ValueType, value: object) -> None:
    if type_ == "number" and isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        at.note("out_of_range", value=value, low=-MAX_VALUE, high=MAX_VALUE)
        return
    # The text "30" is no number, and without its quotes nobody would see why.
    looks_right = isinstance(value, str) and type_ in ("number", "boolean")
    at.note("value_wrong_type", attribute=attribute, type=type_, value=f'"{shown(value)}"' if looks_right else shown(value))
