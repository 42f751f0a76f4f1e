"""The value of a condition as a person types it, and as the document holds it.

Pure. One text holds one value; for `in` and `not_in` several, with commas between them (quoted where a value has a comma of its
own); `between` has a second text for its upper end.
"""

from __future__ import annotations

import csv
import json
import math
from datetime import date, datetime
from typing import Any

from apps.tasks.config.documents import ValueType

TRUE, FALSE = "true", "false"
LISTS = ("in", "not_in")


class BadValue(ValueError):
    """The text is no value of the attribute's type. `expected` is that type, `text` the part that does not fit."""

    def __init__(self, expected: ValueType, text: str) -> None:
        super().__init__(expected, text)
        self.expected, self.text = expected, text


def value_from_text(expected: ValueType | None, operator: str, text: str, upper: str = "") -> Any:
    """`expected` None: the type is not known; what is JSON is taken as such, anything else as text. Raises BadValue."""
    if operator == "exists":
        return None
    if operator in LISTS:
        return [_one(expected, part) for part in _parts(text)]
    if operator == "between":
        return [_one(expected, text.strip()), _one(expected, upper.strip())]
    return _one(expected, text.strip())


def text_of_value(operator: str, value: Any) -> tuple[str, str]:
    """The text and, for `between`, that of the upper end."""
    if operator == "exists" or value is None:
        return "", ""
    if operator == "between" and isinstance(value, list | tuple) and len(value) == 2:
        return _text(value[0]), _text(value[1])
    if operator in LISTS and isinstance(value, list | tuple):
        return ", ".join(_quoted(_text(each)) for each in value), ""
    return _text(value), ""


def _parts(text: str) -> list[str]:
    rows = csv.reader(text.splitlines(), skipinitialspace=True)
    return [part.strip() for row in rows for part in row if part.strip()]


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if any(mark in text for mark in ',"\n') or text != text.strip() else text


def _one(expected: ValueType | None, text: str) -> Any:
    if expected is None:
        try:
            return json.loads(text)
        except ValueError:
            return text
    fits = {"number": _number, "boolean": _boolean, "date": _moment, "version": _version}.get(expected)
    if fits is None:
        return text
    try:
        return fits(text)
    except ValueError as error:
        raise BadValue(expected, text) from error


def _number(text: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return number


def _boolean(text: str) -> bool:
    found = {TRUE: True, "yes": True, "1": True, "是": True, FALSE: False, "no": False, "0": False, "否": False}.get(text.lower())
    if found is None:
        raise ValueError(text)
    return found


def _moment(text: str) -> str:
    try:
        date.fromisoformat(text)
    except ValueError:
        datetime.fromisoformat(text)
    return text


def _version(text: str) -> str:
    if not text or not all(part.isdigit() for part in text.split(".")):
        raise ValueError(text)
    return text


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return TRUE if value else FALSE
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
