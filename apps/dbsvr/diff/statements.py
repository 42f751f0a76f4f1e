"""The SQL that compares: sums of stretches, the keys that divide them, and single rows. Pure.

Each is a reading statement, the same for master and replica.
"""

from __future__ import annotations

from collections.abc import Sequence

from apps.dbsvr.diff.encoding import SHA1_VARIABLE, row_hash_sql, row_sha1_sql, value_sql
from apps.dbsvr.diff.keys import Key, between, one_of, order, within
from apps.dbsvr.diff.table_shape import TableShape, quoted_name

TICKS = "SELECT instance, generation, tick, wall_us FROM {schema}.db_info"
BY_KEY = "FORCE INDEX (PRIMARY)"


class Stretch:
    """A part of a table: from after one key up to and with another, inside the run's bounds of the first column."""

    def __init__(self, table: TableShape, first: str, last: str, after: Key = (), up_to: Key = ()) -> None:
        self.table, self.first, self.last, self.after, self.up_to = table, first, last, after, up_to

    def part(self, after: Key, up_to: Key) -> Stretch:
        return Stretch(self.table, self.first, self.last, after, up_to)

    @property
    def condition(self) -> str:
        # Bounds and keys say the same at the ends; the server makes one range of them.
        parts = (within(self.table.key[0], self.first, self.last), between(self.table.key, self.after, self.up_to))
        return " AND ".join(part for part in parts if part != "TRUE") or "TRUE"


def sums(stretch: Stretch) -> str:
    """One row: how many rows, the sum of their hashes, how many of them could be hashed."""
    table = stretch.table
    # No derived table: the server would merge it, and compute the hash for each of the three.
    return (
        f"SELECT COUNT(*), COALESCE(SUM({row_hash_sql(table.columns)}),0), COUNT({SHA1_VARIABLE})"
        f" FROM {table.full_name} {BY_KEY} WHERE {stretch.condition}"
    )


def hashed_rows(stretch: Stretch) -> str:
    """Key and SHA-1 of each row."""
    table = stretch.table
    return (
        f"SELECT {_key_columns(table)}, {row_sha1_sql(table.columns)}"
        f" FROM {table.full_name} {BY_KEY} WHERE {stretch.condition} ORDER BY {order(table.key)}"
    )


def key_at(stretch: Stretch, place: int) -> str:
    """The key of the row at that place, from 0, in the stretch."""
    table = stretch.table
    columns = _key_columns(table)
    return f"SELECT {columns} FROM {table.full_name} {BY_KEY} WHERE {stretch.condition} ORDER BY {order(table.key)} LIMIT {place},1"


def rows_by_key(table: TableShape, keys: Sequence[Key]) -> str:
    """All columns of these rows, and their SHA-1."""
    columns = ", ".join(f"{value_sql(column)} {quoted_name(column.name)}" for column in table.columns)
    return f"SELECT {columns}, {row_sha1_sql(table.columns)} FROM {table.full_name} WHERE {one_of(table.key, keys)}"


def hashes_by_key(table: TableShape, keys: Sequence[Key]) -> str:
    return f"SELECT {_key_columns(table)}, {row_sha1_sql(table.columns)} FROM {table.full_name} WHERE {one_of(table.key, keys)}"


def _key_columns(table: TableShape) -> str:
    return ", ".join(quoted_name(column.name) for column in table.key)
