"""Whether a value is one of a type, and whether a condition row fits the attribute it asks for.

Pure. A boolean is no number here, although Python says so: what an operator types as `true` must not be compared with 1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import date, datetime, timezone
from difflib import get_close_matches
from typing import Any

from apps.tasks.config.documents import OPERATORS, Condition, ValueType
from apps.tasks.config.faults import Inspection
from apps.tasks.config.limits import FIRST_YEAR, LAST_YEAR, MAX_CHARACTERS, MAX_LISTED_VALUES, MAX_ROWS, VERSION
from workers.protocol import MAX_VALUE


def parse_date(value: object) -> datetime | None:
    """A day or a moment in ISO 8601; a day, and a moment without a zone, is read in UTC. None: it is neither."""
    if not isinstance(value, str) or not 10 <= len(value) <= 40:
        return None
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=timezone.utc)
    return moment if FIRST_YEAR <= moment.year <= LAST_YEAR else None


def parse_version(value: object) -> tuple[int, ...] | None:
    """Dotted numbers, without zeros at the end: 1.0 is 1. None: it is no version."""
    if not isinstance(value, str) or not VERSION.fullmatch(value):
        return None
    parts = [int(part) for part in value.split(".")]
    while len(parts) > 1 and parts[-1] == 0:
        parts.pop()
    return tuple(parts)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and abs(value) <= MAX_VALUE


def is_of_type(value: object, type_: ValueType) -> bool:
    if type_ == "number":
        return _is_number(value)
    if type_ == "text":
        return isinstance(value, str) and 0 < len(value) <= MAX_CHARACTERS["value"]
    if type_ == "boolean":
        return isinstance(value, bool)
    if type_ == "date":
        return parse_date(value) is not None
    return parse_version(value) is not None


def sort_key(value: Any, type_: ValueType) -> Any:
    """By which values of an ordered type are compared. The value is of that type."""
    if type_ == "date":
        return parse_date(value)
    if type_ == "version":
        return parse_version(value)
    return value


def nearest(name: str, known: Mapping[str, object]) -> str:
    """The known name that was probably meant; empty when none is near."""
    return next(iter(get_close_matches(name, list(known)[:2_000], n=1)), "")


def inspect_rows(rows: tuple[Condition, ...], types: Mapping[str, ValueType], unknown_code: str, at: Inspection, **params: Any) -> None:
    """One group of a task, or the filter of one feed. `unknown_code` is noted where a row asks for what has no type."""
    if len(rows) > MAX_ROWS:
        at.note("rows_too_many", limit=MAX_ROWS, count=len(rows))
    seen: list[Condition] = []
    for place, row in enumerate(rows):
        type_ = types.get(row.attribute)
        if type_ is None:
            at.note(unknown_code, place, "attribute", attribute=row.attribute, nearest=nearest(row.attribute, types), **params)
        else:
            _inspect_row(row, type_, at, place)
        if any(row == other and type(row.value) is type(other.value) for other in seen):
            at.note("row_twice", place, attribute=row.attribute)
        seen.append(row)


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
    at.note("value_wrong_type", attribute=attribute, type=type_, value=shown(value))


def shown(value: object) -> str:
    """A value as it stands in a fault: short, as JSON writes it."""
    if isinstance(value, bool):
        text = "true" if value else "false"
    elif isinstance(value, str):
        text = value
    elif isinstance(value, date):
        text = value.isoformat()
    else:
        text = repr(value) if value is not None else ""
    return text if len(text) <= 60 else text[:59] + "…"
