"""A row as one unambiguous string of bytes, and its hash: as SQL for both servers, and the same in Python to prove it.

Pure. Columns stand in the order of their names, joined by commas. A number or a moment is its text, which holds no comma; a text is
`length:bytes`, in bytes as they are stored, so neither a shifted separator, nor another case, nor a trailing space passes for equal; NULL
is `N`, which no value begins with. A FLOAT is widened to DOUBLE, whose text is exact.

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
NULL = b"N"
SHA1_VARIABLE = "@diff_sha1"
"""NULL after a row that could not be hashed."""


def row_bytes_sql(columns: Sequence[Column]) -> str:
    """The row's encoding as an SQL expression. NULL for a row of more than max_allowed_packet."""
    return f"CONCAT_WS(',',{','.join(map(_value_sql, columns))})"


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
    if column.type in TEXTS:
        text = f"CAST({text} AS BINARY)"
    if column.type in TEXTS | BYTES:
        text = f"CONCAT(LENGTH({text}),':',{text})"
    return f"IFNULL({text},'N')" if column.nullable else text


# --- the same in Python


def row_bytes(columns: Sequence[Column], row: Mapping[str, bytes | None]) -> bytes:
    """`row`: each column's bytes as `value_sql` gives them."""
    return b",".join(_value_bytes(column, row[column.name]) for column in columns)


def row_sha1(columns: Sequence[Column], row: Mapping[str, bytes | None]) -> str:
    return hashlib.sha1(row_bytes(columns, row), usedforsecurity=False).hexdigest()


def row_hash(columns: Sequence[Column], row: Mapping[str, bytes | None]) -> int:
    digest = row_sha1(columns, row).encode()
    return (zlib.crc32(digest[:20]) << 32) | zlib.crc32(digest[20:])


def _value_bytes(column: Column, value: bytes | None) -> bytes:
    if value is None:
        return NULL
    return b"%d:%b" % (len(value), value) if column.type in TEXTS | BYTES else value
