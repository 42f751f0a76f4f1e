"""Two rows of one key, side by side: which columns differ, and how a value is written so that the difference can be seen.

Pure. A row is column -> text, None for NULL, {"hex": "…"} for what is no text; None in place of a row: there is none.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

Row = Mapping[str, Any] | None

NULL = "NULL"
SPACE = "␣"
"""Stands for a space at either end of a text, which nobody would see."""
NO_TEXT = {number: chr(0x2400 + number) for number in range(32)} | {127: "␡"}


class Column(NamedTuple):
    """One column of both rows. None: there is no row on that side."""

    name: str
    on_master: str | None
    on_replica: str | None
    differs: bool


def side_by_side(on_master: Row, on_replica: Row) -> list[Column]:
    """Those that differ first, otherwise in the order of the table."""
    names = list(dict.fromkeys([*(on_master or ()), *(on_replica or ())]))
    columns = []
    for name in names:
        differs = on_master is not None and on_replica is not None and on_master.get(name) != on_replica.get(name)
        columns.append(Column(name, _of(on_master, name), _of(on_replica, name), differs))
    return sorted(columns, key=lambda column: not column.differs)


def _of(row: Row, name: str) -> str | None:
    return None if row is None else write(row.get(name))


def write(value: Any) -> str:
    """A value as it is read: NULL is not the text "NULL", which stands in quotes, and spaces at the ends are visible."""
    if value is None:
        return NULL
    if isinstance(value, Mapping):
        return f"0x{value.get('hex', '')}"
    text = str(value)
    if text in ("", NULL) or text.startswith(("0x", '"')):
        return f'"{text}"'
    inner = text.strip(" ")
    if len(inner) < len(text):
        start = len(text) - len(text.lstrip(" "))
        text = SPACE * start + inner + SPACE * (len(text) - start - len(inner))
    return text.translate(NO_TEXT)


def key_words(key: str) -> str:
    """The primary key's values, as they are kept, for people."""
    try:
        parts = json.loads(key)
    except ValueError:
        return key
    return " · ".join(write(part) for part in parts) if isinstance(parts, list) else str(parts)
