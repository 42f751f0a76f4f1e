"""How the rows of one key are shown side by side, and what a run says of itself."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest

from apps.dbsvr.console.diff.present import Stretches, run_row, sentence
from apps.dbsvr.console.diff.rows import key_words, side_by_side, write
from apps.dbsvr.diff.models import CANCELLED, DIFFERENT, ENDED, EQUAL, NOT_COMPARED, RUNNING, STOPPED, DiffRun

NOW = datetime(2026, 11, 30, tzinfo=timezone.utc)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "NULL"),
        ("NULL", '"NULL"'),
        ("", '""'),
        ("0xff", '"0xff"'),
        ({"hex": "00ff"}, "0x00ff"),
        ("a ", "a␣"),
        ("  a b", "␣␣a b"),
        ("  ", "␣␣"),
        ("a\tb\x00", "a␉b␀"),
        ("7", "7"),
    ],
)
def test_values_that_differ_never_look_the_same(value: object, text: str) -> None:
    assert write(value) == text


def test_the_columns_that_differ_come_first_and_are_marked() -> None:
    columns = side_by_side({"uid": "7", "progress": "3", "note": None}, {"uid": "7", "progress": "4", "note": ""})

    assert [(column.name, column.differs) for column in columns] == [("progress", True), ("note", True), ("uid", False)]
    assert columns[1][1:3] == ("NULL", '""')


def test_a_missing_row_has_no_values_and_no_single_column_is_to_blame() -> None:
    columns = side_by_side({"uid": "7"}, None)

    assert [(column.on_master, column.on_replica, column.differs) for column in columns] == [("7", None, False)]


def test_a_key_is_read_as_its_values() -> None:
    assert key_words('["7", "1", "once"]') == "7 · 1 · once"
    assert key_words("no JSON") == "no JSON"


def run(**changes: object) -> DiffRun:
    return DiffRun(pk=1, replica="r1", schema="tasksys_user", table="user_task", **{"created_at": NOW, **changes})


def test_only_a_run_that_has_compared_every_row_says_so() -> None:
    whole = run_row(run(state=ENDED, outcome=EQUAL), Stretches(equal_rows=1000), "en")
    nearly = run_row(run(state=ENDED, outcome=NOT_COMPARED), Stretches(999_999, 0, 1), "en")
    unknown = run_row(run(state=ENDED, outcome=NOT_COMPARED), Stretches(1000, 0, 0, 1, (("no such table", None),)), "en")

    assert sentence(whole) == "equal, 100 % compared: 1,000 rows"
    assert nearly.coverage == "99.9 % compared: 999,999 rows; 1 not"
    assert unknown.coverage == "1,000 rows compared, an unknown number not"
    assert unknown.reasons == ("not compared: no such table",)


def test_a_run_under_way_says_how_far_it_is_and_how_long_it_will_take() -> None:
    row = run_row(run(state=RUNNING, rows_expected=1000, rows_compared=250, busy_ms=10_000), Stretches(equal_rows=250), "en")

    assert (row.percent, row.progress, row.changes, row.is_active) == (25, "25 %, about 30 s left", ("pause", "cancel"), True)


def test_a_stopped_run_says_why_and_can_go_on() -> None:
    row = run_row(run(state=STOPPED, why="the replica does not answer", differences=2), Stretches(), "en")

    assert (row.why, row.changes, row.well) == ("the replica does not answer", ("resume", "cancel"), "no")


def test_what_a_cancelled_run_has_found_stands() -> None:
    row = run_row(run(state=CANCELLED, outcome=DIFFERENT, differences=1), Stretches(0, 500, 500), "en")

    assert sentence(row) == "different, cancelled, 50.0 % compared: 500 rows; 500 not, 1 row differed"
