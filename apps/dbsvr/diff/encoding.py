"""A row as one unambiguous string of bytes, and its hash: as SQL for both servers, and the same in Python to prove it.

Pure. First stands, as a number, which of the columns are NULL; then the values of the others in the order of their names; all joined by
commas. A number or a moment is its text, which holds no comma; a text is its length and its bytes, as they are stored. So neither a NULL
that moves, nor a shifted separator, nor another case, nor a trailing space passes for equal. A FLOAT is widened to DOUBLE, whose text is
exact.

The hash is 64 bits of SHA-1, as two CRC-32 of ten bytes' hex each: CONV of hex digits costs twice as much as SHA-1 itself, and MD5 costs
more than SHA-1 on today's servers (docs/replica-diff.md has the figures). Hashes are summed, so edits that repeat do not cancel.

The session must have `SESSION`: the text of a moment, a number and a hash depends on it.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Mapping, Sequence

from apps.dbsvr.diff.table_shape import APPROXIMATE, BITS, BYTES, TEXTS, Column, quoted_name

SESSION = (
    "SET SESSION sql_mode = ''",
    "SET SESSION time_zone = '+00:00'",
    # One byte a character: half of the hash is taken by LEFT, which would look for characters else. Values keep their own bytes.
    "SET SESSION collation_connection = 'latin1_bin'",
    "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
)
NULLS_A_NUMBER = 60
"""Bits, so that it stays a number for the server."""
SHA1_VARIABLE = "@diff_sha1"
"""NULL after a row that could not be hashed."""


def row_bytes_sql(columns: Sequence[Column]) -> str:
    """The row's encoding as an SQL expression. NULL for a row of more than max_allowed_packet."""
    # CONCAT_WS leaves out what is NULL: the number before says so, and no column costs an IFNULL.
    nulls = ["+".join(f"(({value_sql(column)} IS NULL)<<{bit})" for bit, column in enumerate(some)) for some in _nullable(columns)]
    return f"CONCAT_WS(',',{','.join([*nulls, *map(_value_sql, columns)])})"


def row_sha1_sql(columns: Sequence[Column]) -> str:
    """40 hex digits."""
    return f"SHA1({row_bytes_sql(columns)})"


def row_hash_sql(columns: Sequence[Column]) -> str:
    """64 bits, unsigned. The user variable keeps SHA-1 from being computed twice."""
    return f"((CRC32(LEFT({SHA1_VARIABLE}:={row_sha1_sql(columns)},20))<<32)|CRC32(RIGHT({SHA1_VARIABLE},20)))"


def value_sql(column: Column) -> str:
    """The column so that what the client receives is exact."""
    name = quoted_name(column.name)
    if column.type in APPROXIMATE:
        return f"({name}+0e0)"
    if column.type in BITS:
        return f"({name}+0)"
    return name


def _value_sql(column: Column) -> str:
    text = value_sql(column)
    if column.type not in TEXTS | BYTES:
        return text
    bytes_of = text if column.type in BYTES or column.charset == "ascii" else f"CAST({text} AS BINARY)"
    return f"LENGTH({text}),{bytes_of}"


def _nullable(columns: Sequence[Column]) -> list[Sequence[Column]]:
    """In the groups of one number each."""
    nullable = [column for column in columns if column.nullable]
    return [nullable[start : start + NULLS_A_NUMBER] for start in range(0, len(nullable), NULLS_A_NUMBER)]


# --- the same in Python


def row_bytes(columns: Sequence[Column], row: Mapping[str, bytes | None]) -> bytes:
    """`row`: each column's bytes as `value_sql` gives them."""
    parts = [b"%d" % sum((row[column.name] is None) << bit for bit, column in enumerate(some)) for some in _nullable(columns)]
    for column in columns:
        value = row[column.name]
        if value is not None:
            parts += [b"%d" % len(value), value] if column.type in TEXTS | BYTES else [value]
    return b",".join(parts)


def row_sha1(columns: Sequence[Column], row: Mapping[str, bytes | None]) -> str:
    return hashlib.sha1(row_bytes(columns, row), usedforsecurity=False).hexdigest()


def row_hash(columns: Sequence[Column], row: Mapping[str, bytes | None]) -> int:
    digest = row_sha1(columns, row).encode()
    return (zlib.crc32(digest[:20]) << 32) | zlib.crc32(digest[20:])
