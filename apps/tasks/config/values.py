"""What a value of each type is, and by what values are compared.

Pure. A boolean is no number here, although Python says so: what an operator types as `true` must not be compared with 1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import date, datetime, timezone
from difflib import get_close_matches
from typing import Any

from apps.tasks.config.documents import ValueType
from apps.tasks.config.limits import FIRST_YEAR, LAST_YEAR, MAX_CHARACTERS, VERSION
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
