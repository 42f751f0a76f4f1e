"""The encoding of rows is unambiguous, and sums of hashes do not cancel."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from apps.dbsvr.diff import keys, statements
from apps.dbsvr.diff.encoding import row_bytes, row_hash, row_hash_sql
from apps.dbsvr.diff.table_shape import Column, TableShape, shape, why_not_comparable, why_unlike

TEXT = Column("a", "varchar", "varchar(50)", "utf8mb4", "utf8mb4_general_ci", True)
OTHER = Column("b", "varbinary", "varbinary(50)", nullable=True)
NUMBER = Column("c", "bigint", "bigint(20)", nullable=True)
LAST = Column("d", "text", "text", "utf8mb4", "utf8mb4_bin", True)
COLUMNS = (TEXT, OTHER, NUMBER, LAST)
TABLE = TableShape("s", "t", COLUMNS, (NUMBER, TEXT))

tricky = st.lists(st.sampled_from([b"N", b",", b":", b"1", b"0", b" ", b"a", b"A", b"\x00", b"\xff", b"3:abc,"]), max_size=6).map(b"".join)
values = st.one_of(st.none(), tricky, st.binary(max_size=12))
numbers = st.one_of(st.none(), st.integers(-(2**63), 2**63).map(lambda number: b"%d" % number))
rows = st.fixed_dictionaries({"a": values, "b": values, "c": numbers, "d": values})


@settings(deadline=None)
@given(rows, rows)
def test_two_rows_have_the_same_bytes_only_when_they_are_the_same_row(one: dict[str, bytes | None], other: dict[str, bytes | None]) -> None:
    assert (row_bytes(COLUMNS, one) == row_bytes(COLUMNS, other)) == (one == other)


@settings(deadline=None)
@given(rows, st.permutations(["a", "b", "d"]))
def test_a_value_that_moves_to_another_column_is_seen(row: dict[str, bytes | None], order: list[str]) -> None:
    moved = row | {new: row[old] for old, new in zip(("a", "b", "d"), order, strict=True)}
    assert (row_bytes(COLUMNS, moved) == row_bytes(COLUMNS, row)) == (moved == row)


@settings(deadline=None)
@given(st.lists(st.tuples(rows, rows), min_size=1, max_size=4), st.integers(1, 4))
def test_the_same_edit_on_several_rows_does_not_cancel(
    edits: list[tuple[dict[str, bytes | None], dict[str, bytes | None]]], times: int
) -> None:
    before = [row for row, _ in edits] * times
    after = [row for _, row in edits] * times
    same = sorted(row_bytes(COLUMNS, row) for row in before) == sorted(row_bytes(COLUMNS, row) for row in after)
    assert (sum(row_hash(COLUMNS, row) for row in before) == sum(row_hash(COLUMNS, row) for row in after)) == same


def test_the_hash_has_two_independent_halves_of_sha1() -> None:
    row = {"a": b"x", "b": None, "c": b"5", "d": b""}
    assert row_bytes(COLUMNS, row) == b"2,1,x,5,0,"
    assert 2**63 < row_hash(COLUMNS, row) | 2**63 < 2**64
    assert "SHA1(CONCAT_WS(','," in row_hash_sql(COLUMNS)


def test_a_table_of_many_nullable_columns_says_each_null() -> None:
    columns = tuple(Column(f"c{number:03}", "int", "int(11)", nullable=True) for number in range(130))
    none: dict[str, bytes | None] = {column.name: None for column in columns}
    seen = {row_bytes(columns, none | {column.name: b"1"}) for column in columns}
    assert len(seen) == len(columns)
    assert row_hash_sql(columns).count("<<59)") == 2


@settings(deadline=None)
@given(st.one_of(st.text(max_size=20), st.binary(max_size=20)), st.integers())
def test_a_key_survives_its_way_to_a_page_and_back(part: str | bytes, number: int) -> None:
    key = (part, str(number))
    text = keys.encode_key(key)
    back = keys.decode_key(text)
    # Bytes that are no text come back as bytes; both stand for the same value in SQL.
    column = Column("k", "varbinary", "varbinary(20)")
    assert keys.literal(column, back[0]) == keys.literal(column, part)
    assert back[1] == str(number)
    assert json.loads(text)


def test_a_bound_names_the_columns_one_by_one_and_ends_where_it_says() -> None:
    assert keys.between(TABLE.key, ("5", "x"), ()) == "`c`>=5 AND (`c`>5 OR `a`>_utf8mb4 X'78')"
    assert keys.between(TABLE.key, (), ("5", "x")) == "`c`<=5 AND (`c`<5 OR `a`<=_utf8mb4 X'78')"
    assert keys.between(TABLE.key, (), ()) == "TRUE"
    stretch = statements.Stretch(TABLE, "1", "9", ("5", "x"))
    assert stretch.condition == "`c`>=1 AND `c`<=9 AND `c`>=5 AND (`c`>5 OR `a`>_utf8mb4 X'78')"


@settings(deadline=None)
@given(st.text(max_size=30))
def test_no_text_leaves_its_literal(text: str) -> None:
    for column in (TEXT, OTHER, NUMBER, Column("day", "date", "date")):
        literal = keys.literal(column, text)
        inner = literal.removeprefix("_utf8mb4 ").removeprefix("X")
        assert (inner.startswith("'") and inner.endswith("'") and inner.count("'") % 2 == 0) or inner.lstrip("-").replace(".", "").isdigit()
        assert "\\" not in literal


def test_tables_that_mean_different_things_are_told_apart_but_not_by_the_order_of_columns() -> None:
    rows = [("id", "int", "int(11)", "", "", "NO"), ("text", "varchar", "varchar(9)", "utf8mb4", "utf8mb4_bin", "YES")]
    ours = shape("s", "t", rows, ["id"])
    assert why_unlike(ours, shape("s", "t", rows[::-1], ["id"])) == ""
    other = [rows[0], ("text", "varchar", "varchar(9)", "utf8mb4", "utf8mb4_general_ci", "YES")]
    assert "utf8mb4_general_ci on the replica" in why_unlike(ours, shape("s", "t", other, ["id"]))
    assert "text is on the master only" in why_unlike(ours, shape("s", "t", rows[:1], ["id"]))
    assert "keys differ" in why_unlike(ours, shape("s", "t", rows, ["text"]))
    assert why_not_comparable(shape("s", "t", rows, [])) == "the table has no primary key"
    assert "geometry" in why_not_comparable(shape("s", "t", [*rows, ("g", "geometry", "geometry", "", "", "NO")], ["id"]))
