"""The arithmetic of history: rolling up, gaps, windows."""

from __future__ import annotations

import pytest

from apps.dbsvr.columns import MEAN, SAMPLE, SERVER_SAMPLE, WORST, sample_row, server_rows
from apps.dbsvr.series import grid, start_of
from apps.dbsvr.steps import FINER, STEPS, Row, closed_before, combine, step_start
from tests.unit.samples_of_a_dbsvr import healthy, replica


def test_rates_are_combined_by_their_mean_and_lags_by_their_worst() -> None:
    rows = [({"reads": 10.0, "lag_ms": 5.0}, 1), ({"reads": 30.0, "lag_ms": 900.0}, 1), ({"reads": 20.0, "lag_ms": 1.0}, 1)]

    assert combine(rows, {"reads": MEAN, "lag_ms": WORST}) == {"reads": 20.0, "lag_ms": 900.0}


def test_a_mean_weighs_the_seconds_that_were_known() -> None:
    assert combine([({"reads": 10.0}, 9), ({"reads": 20.0}, 1)], {"reads": MEAN}) == {"reads": 11.0}


def test_the_unknown_neither_counts_as_zero_nor_spoils_the_rest() -> None:
    rows: list[tuple[Row, int]] = [({"reads": None, "lag_ms": None}, 1), ({"reads": 30.0, "lag_ms": None}, 1)]

    assert combine(rows, {"reads": MEAN, "lag_ms": WORST}) == {"reads": 30.0, "lag_ms": None}


def test_combining_twice_gives_what_combining_once_gives() -> None:
    seconds = [({"reads": float(number)}, 1) for number in range(60)]
    tens = [(combine(seconds[start : start + 10], {"reads": MEAN}), 10) for start in range(0, 60, 10)]

    assert combine(tens, {"reads": MEAN}) == combine(seconds, {"reads": MEAN}) == {"reads": 29.5}


@pytest.mark.parametrize(("now", "end"), [(1000.0, 990), (1009.9, 1000), (1010.0, 1000), (1011.9, 1000), (1012.0, 1010)])
def test_a_step_is_closed_two_seconds_after_its_end(now: float, end: int) -> None:
    assert closed_before(now, 10) == end


def test_each_step_is_made_of_whole_finer_ones_that_are_kept_long_enough() -> None:
    for seconds, finer in FINER.items():
        assert seconds % finer == 0
        assert STEPS[finer].keep_s > 10 * seconds
    for step in STEPS.values():
        assert step.keep_s > step.window_s
        assert 144 <= step.window_s / step.seconds <= 1440
    assert step_start(1234.9, 60) == 1200


def test_every_column_is_filled_from_the_figures_of_a_second() -> None:
    row = sample_row(healthy(read_p50_ms=1.0))

    assert row.keys() == SAMPLE.keys()
    assert (row["reads"], row["reason_recent_write"], row["reason_spill"], row["query_waiting"]) == (200.0, 20.0, 0.0, 1)
    assert (row["read_p50_ms"], row["write_p99_ms"], row["error_overloaded"]) == (1.0, None, 0.0)


def test_without_rates_the_reasons_are_unknown_and_not_zero() -> None:
    row = sample_row(healthy(reads=None, reasons={}, errors={}))

    assert (row["reason_spill"], row["error_overloaded"]) == (None, None)


def test_a_replica_that_does_not_answer_has_no_lag_whatever_was_computed() -> None:
    rows = server_rows(healthy(replicas={"r1": replica(state="silent", lag_ms=7.0), "r2": replica()}))

    assert [rows[name]["lag_ms"] for name in ("master", "r1", "r2")] == [None, None, 20.0]
    assert all(row.keys() == SERVER_SAMPLE.keys() for row in rows.values())


def test_a_missing_row_is_a_gap_and_an_unknown_value_is_not() -> None:
    drawn = grid({100: [1.0], 101: [None], 103: [3.00049]}, width=1, step_s=1, after=99, newest=103)

    assert drawn.at == [100, 101, 102, 103]
    assert drawn.rows == [1, 1, 0, 1]
    assert drawn.columns == [[1.0, None, None, 3.0]]


def test_only_the_steps_after_those_one_has_are_given() -> None:
    rows = {at: [1.0] for at in range(100, 200, 10)}

    assert grid(rows, width=1, step_s=10, after=170, newest=190).at == [180, 190]
    assert grid(rows, width=1, step_s=10, after=190, newest=190).at == []
    assert grid(rows, width=1, step_s=10, after=173, newest=190).at == [180, 190]


def test_a_chart_begins_with_its_window_or_with_the_first_row() -> None:
    assert start_of(300, 1, now=1000.5, first=10) == 700
    assert start_of(300, 1, now=1000.5, first=900) == 899
    assert start_of(300, 1, now=1000.5, first=None) == 700
