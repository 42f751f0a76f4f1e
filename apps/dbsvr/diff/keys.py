"""Keys of rows: as values, as JSON, and as conditions in SQL.

Pure. A key is a tuple of what the key's columns hold: text for what is text or number, bytes for what is no text. A condition names the
columns one by one: no server makes an index range of `(a, b) > (1, 2)`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from apps.dbsvr.diff.table_shape import APPROXIMATE, BITS, BYTES, NUMBERS, TEXTS, Column, TableShape, quoted_name

Value: TypeAlias = "str | bytes"
Key: TypeAlias = "tuple[Value, ...]"
Row: TypeAlias = "dict[str, Value | None]"

OPEN_END: Key = ()
"""Before the first key, or after the last."""


def value_of(column: Column, raw: bytes) -> Value:
    """What a server sent. Bytes that are no UTF-8 stay bytes, so that nothing is lost on the way to a page and back."""
    if column.type in BYTES:
        try:
            text = raw.decode()
        except UnicodeDecodeError:
            return raw
        return text if text.isprintable() else raw
    return raw.decode("utf-8", "surrogateescape")


def encode_key(key: Key) -> str:
    return json.dumps([_to_json(value) for value in key], ensure_ascii=False) if key else ""


def decode_key(text: str) -> Key:
    return tuple(_from_json(value) for value in json.loads(text)) if text else OPEN_END


def key_digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def row_as_json(row: Row | None) -> dict[str, object] | None:
    return None if row is None else {name: None if value is None else _to_json(value) for name, value in row.items()}


def literal(column: Column, value: Value | None) -> str:
    """As SQL. Text in hex: neither the session's character set nor a quote in it can matter."""
    if value is None:
        return "NULL"
    if column.type in NUMBERS | BITS | APPROXIMATE and isinstance(value, str) and _is_number(value):
        return value
    raw = value if isinstance(value, bytes) else value.encode("utf-8", "surrogateescape")
    if column.type in BYTES:
        return f"X'{raw.hex()}'"
    if column.type in TEXTS:
        return f"_utf8mb4 X'{raw.hex()}'"
    return "'" + raw.decode("ascii", "replace").replace("'", "''").replace("\\", "") + "'"


def between(key: Sequence[Column], after: Key, up_to: Key) -> str:
    """The rows after `after` and up to and with `up_to`."""
    conditions = [_beyond(key, after, ">", strict=True)] if after else []
    conditions += [_beyond(key, up_to, "<", strict=False)] if up_to else []
    return " AND ".join(conditions) or "TRUE"


def within(column: Column, first: str, last: str) -> str:
    """The rows whose `column` is from `first` to `last`, both included; "": no bound."""
    conditions = [f"{quoted_name(column.name)}>={literal(column, first)}"] if first else []
    conditions += [f"{quoted_name(column.name)}<={literal(column, last)}"] if last else []
    return " AND ".join(conditions) or "TRUE"


def one_of(key: Sequence[Column], keys: Sequence[Key]) -> str:
    if len(key) == 1:
        return f"{quoted_name(key[0].name)} IN ({','.join(literal(key[0], value) for (value,) in keys)})"
    return " OR ".join("(" + " AND ".join(_equal(column, value) for column, value in zip(key, each, strict=True)) + ")" for each in keys)


def order(key: Sequence[Column]) -> str:
    return ",".join(quoted_name(column.name) for column in key)


def key_of(table: TableShape, row: Mapping[str, Value | None]) -> Key:
    return tuple(row[column.name] or "" for column in table.key)


def why_bad_bound(column: Column, text: str) -> str:
    """Why this cannot be a bound of a run; "" when it can."""
    if text and column.type in NUMBERS and not _is_number(text):
        return f"{column.name} is a number, {text!r} is none"
    return ""


def _beyond(key: Sequence[Column], bound: Key, way: str, strict: bool) -> str:
    """a > 1 OR a = 1 AND (b > 2 OR …), with `a >= 1` before it, from which the server makes a range."""
    name, text = quoted_name(key[0].name), literal(key[0], bound[0])
    if len(key) == 1:
        return f"{name}{way}{'' if strict else '='}{text}"
    return f"{name}{way}={text} AND ({name}{way}{text} OR {_beyond(key[1:], bound[1:], way, strict)})"


def _equal(column: Column, value: Value) -> str:
    return f"{quoted_name(column.name)}={literal(column, value)}"


def _is_number(text: str) -> bool:
    digits = text.removeprefix("-").replace(".", "", 1)
    return digits.isascii() and digits.isdigit() and len(text) <= 70


def _to_json(value: Value) -> object:
    if isinstance(value, bytes):
        return {"hex": value.hex()}
    try:
        value.encode()
    except UnicodeEncodeError:  # what was no UTF-8 in a column of text
        return {"hex": value.encode("utf-8", "surrogateescape").hex()}
    return value


def _from_json(value: object) -> Value:
    return bytes.fromhex(value["hex"]) if isinstance(value, dict) else str(value)
