"""What a table looks like to the comparison: its columns, its primary key, and whether two servers mean the same by it.

Pure. Built of rows of information_schema. The order of columns does not matter; the type, the character set and the collation do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

NUMBERS = frozenset({"tinyint", "smallint", "mediumint", "int", "bigint", "decimal", "year"})
MOMENTS = frozenset({"date", "time", "datetime", "timestamp"})
APPROXIMATE = frozenset({"float", "double"})
TEXTS = frozenset({"char", "varchar", "tinytext", "text", "mediumtext", "longtext", "enum", "set", "json"})
BYTES = frozenset({"binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob"})
BITS = frozenset({"bit"})
KNOWN = NUMBERS | MOMENTS | APPROXIMATE | TEXTS | BYTES | BITS
KEY_TYPES = NUMBERS | MOMENTS | TEXTS | BYTES


class Column(NamedTuple):
    """`full_type` as the server declares it, `bigint(20) unsigned`; `charset` and `collation` are empty where there is none."""

    name: str
    type: str
    full_type: str
    charset: str = ""
    collation: str = ""
    nullable: bool = False


class TableShape(NamedTuple):
    """`columns` in the order of their names; `key`: those of the primary key, in its order."""

    schema: str
    name: str
    columns: tuple[Column, ...]
    key: tuple[Column, ...]

    @property
    def full_name(self) -> str:
        return f"{quoted_name(self.schema)}.{quoted_name(self.name)}"

    @property
    def has_uid(self) -> bool:
        return any(column.name == "uid" for column in self.columns)

    def column(self, name: str) -> Column:
        return next(column for column in self.columns if column.name == name)


def quoted_name(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def shape(schema: str, name: str, columns: Iterable[Sequence[str]], key: Sequence[str]) -> TableShape:
    """`columns`: rows of name, type, full type, charset, collation, "YES" when nullable. `key`: names in the key's order."""
    made: Mapping[str, Column] = {
        row[0]: Column(row[0], row[1].lower(), row[2].lower(), row[3], row[4], row[5] == "YES") for row in columns
    }
    return TableShape(schema, name, tuple(made[each] for each in sorted(made)), tuple(made[each] for each in key))


def why_not_comparable(table: TableShape) -> str:
    """A sentence, or "" when the comparison can read this table."""
    if not table.key:
        return "the table has no primary key"
    strange = [f"{column.name} ({column.full_type})" for column in table.columns if column.type not in KNOWN]
    strange += [f"{column.name} ({column.full_type}) in the key" for column in table.key if column.type not in KEY_TYPES]
    return f"columns of a type that cannot be compared: {', '.join(strange)}" if strange else ""


def why_unlike(master: TableShape, replica: TableShape) -> str:
    """In which way the replica's table is another one; "" when both mean the same."""
    if [column.name for column in master.key] != [column.name for column in replica.key]:
        return f"keys differ: ({_names(master.key)}) on the master, ({_names(replica.key)}) on the replica"
    ours, theirs = {each.name: each for each in master.columns}, {each.name: each for each in replica.columns}
    faults = [f"{name} is on the master only" for name in ours if name not in theirs]
    faults += [f"{name} is on the replica only" for name in theirs if name not in ours]
    faults += [
        f"{name} is {_said(column)} on the master, {_said(theirs[name])} on the replica"
        for name, column in ours.items()
        if name in theirs and column != theirs[name]
    ]
    return f"columns differ: {'; '.join(faults)}" if faults else ""


def _names(columns: Sequence[Column]) -> str:
    return ", ".join(column.name for column in columns)


def _said(column: Column) -> str:
    return " ".join(filter(None, [column.full_type, column.collation, "" if column.nullable else "not null"]))
