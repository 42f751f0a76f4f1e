"""var/bench/latest.json: a part's run leaves the other parts' figures, each with its own moment."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.measures import Measure
from bench.page import page
from bench.record import Circumstances, merge, read, write

PARTS = ("reads", "writes", "compare")
MORNING = Circumstances("2026-11-30T06:00:00+00:00", load=0.1, cores=2)
EVENING = Circumstances("2026-11-30T18:00:00+00:00", load=0.2, cores=2, others=0.5)


def test_a_part_replaces_what_it_said_before_and_leaves_the_rest() -> None:
    record = merge({}, "reads", [Measure("old name", 1, "/s"), Measure("reads", 1, "/s")], (), MORNING, PARTS)
    record = merge(record, "writes", [Measure("writes", 2, "/s", [1.0], "slap", bar=1.5)], (), MORNING, PARTS)
    record = merge(record, "compare", [], [{"way": "pin 2 s"}], MORNING, PARTS)

    record = merge(record, "reads", [Measure("reads", 3, "/s")], (), EVENING, PARTS)

    measures = record["measures"]
    assert list(measures) == ["reads", "writes"]
    assert (measures["reads"]["value"], measures["reads"]["at"]) == (3, EVENING.at)
    assert (measures["writes"]["value"], measures["writes"]["at"]) == (2, MORNING.at)
    assert [(cell["way"], cell["at"]) for cell in record["comparison"]] == [("pin 2 s", MORNING.at)]


def test_a_measure_is_recorded_with_its_comparison_bar_and_verdict() -> None:
    measure = Measure("writes", 6, "/s", [1.0, 3.0], "slap", bar=2.5, aim=4)

    entry = merge({}, "writes", [measure], (), EVENING, PARTS)["measures"]["writes"]

    wanted = {"value": 6, "unit": "/s", "against": 2.0, "ratio": 3.0, "bar": 2.5, "ok": True, "aim": 4, "against_runs": [1.0, 3.0]}
    assert entry.items() >= wanted.items()
    assert (entry["load"], entry["others"], entry["busy"]) == (0.2, 0.5, True)


def test_figures_of_parts_that_are_no_more_go() -> None:
    old = {"measures": {"gone": {"value": 1, "part": "lags"}, "before parts": {"value": 1}}, "comparison": [{"way": "x"}]}

    assert merge(old, "reads", [], (), MORNING, PARTS) == {"measures": {}, "comparison": []}


@pytest.mark.parametrize(
    ("load", "others", "busy"), [(0.0, None, False), (0.3, 0.15, False), (0.31, 0.0, True), (0.0, 0.16, True), (2.0, None, True)]
)
def test_a_machine_with_other_work_is_called_busy(load: float, others: float | None, busy: bool) -> None:
    assert Circumstances("", load, cores=2, others=others).is_busy is busy


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "bench" / "latest.json"
    record = merge({}, "reads", [Measure("reads", 1, "/s")], (), MORNING, PARTS)

    write(path, record)

    assert read(path) == record
    assert [each.name for each in path.parent.iterdir()] == ["latest.json"]


@pytest.mark.parametrize("text", [None, "", "{", "[]"])
def test_what_is_no_record_counts_as_none(tmp_path: Path, text: str | None) -> None:
    path = tmp_path / "latest.json"
    if text is not None:
        path.write_text(text)

    assert read(path) == {}


def test_the_page_says_of_each_part_when_it_was_measured_and_what_disturbed_it() -> None:
    record = merge({}, "reads", [Measure("TASK.GET", 60, "/s", [40, 60], "slap", bar=1, aim=1.3)], (), MORNING, PARTS)
    record = merge(record, "writes", [Measure("p99", 7.5, "ms", bar=5, at_most=True)], (), EVENING, PARTS)

    assert list(page(record)) == [
        "- reads: 2026-11-30 06:00 UTC, 2 cores, load 0.1 at the start",
        "- writes: 2026-11-30 18:00 UTC, 2 cores, load 0.2 at the start, other programs took 50% of the machine",
        "",
        "| measure | value | against | ratio | bar | aim |  |",
        "|---|---|---|---|---|---|---|",
        "| TASK.GET | 60 /s | 50 (slap) | 1.20 | ≥ 1 | ≥ 1.3 | ok |",
        "| p99 | 7.5 ms |  |  | ≤ 5 |  | short |",
    ]
