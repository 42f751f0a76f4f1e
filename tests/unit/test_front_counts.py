"""What a front counts of its reads: margins, and what they waited for."""

from __future__ import annotations

from typing import Any, cast

import pytest

from workers.clients import Client
from workers.front_counts import SHOWN_KEPT, FirstShown, FrontCounts
from workers.histogram import Histogram, HistogramJson, quantile
from workers.requests import READ, Request


def read(stamp: int, arrived: float, waits: bool = False, users: int = 1) -> Request:
    request = Request(1, READ, [7] * users, cast(Client, None), "n1", arrived, 0)
    request.stamp, request.waits_for_replication = stamp, waits
    return request


def reads_of(counts: FrontCounts) -> dict[str, Any]:
    return cast("dict[str, Any]", counts.as_json()["reads"])


def by_bound(histogram: HistogramJson) -> dict[float, int]:
    """Counts by upper bound, those of empty buckets left out."""
    return {bound: count for bound, count in zip([*histogram["bounds"], float("inf")], histogram["counts"], strict=True) if count}


def test_a_value_is_counted_under_the_first_bound_that_is_not_below_it() -> None:
    histogram = Histogram((1, 2, 4))
    for value in (0, 1, 1.5, 2, 4, 5):
        histogram.add(value)

    assert histogram.as_json() == {"bounds": [1, 2, 4], "counts": [2, 2, 1, 1], "sum": 13.5}


def test_a_coarser_histogram_counts_the_same_values_and_keeps_the_last_bound() -> None:
    histogram = Histogram((1, 2, 3, 4, 5))
    for value in (1, 2, 3, 4, 5, 6):
        histogram.add(value)

    assert histogram.as_json(every=2) == {"bounds": [1, 3, 5], "counts": [1, 2, 2, 1], "sum": 21}


def test_without_values_there_is_no_quantile() -> None:
    assert quantile([0, 0], [1.0], 0.5) is None
    assert quantile([1, 9, 0], [1.0, 2.0], 0.5) == 2.0


def test_margins_are_counted_by_their_power_of_two() -> None:
    counts = FrontCounts(["r1"])
    for margin in (0, 1, 2, 3, 4, 2**20 - 1, 2**20, 2**50):
        counts.note_replica_reads([read(stamp=100, arrived=0.0)], 100 + margin, 0.001)

    assert by_bound(reads_of(counts)["margin_ticks"]) == {0: 1, 1: 1, 3: 2, 7: 1, 2**20 - 1: 1, float("inf"): 2}


def test_a_group_counts_as_many_times_as_it_has_users() -> None:
    counts = FrontCounts(["r1"])
    counts.note_replica_reads([read(stamp=100, arrived=0.0, users=3), read(stamp=101, arrived=0.0, users=2)], 100, 0.001)
    group = read(stamp=100, arrived=0.0, users=5)
    group.reason = "in_flight"
    counts.note_master_reads([group], 0.001)

    reads = reads_of(counts)
    assert by_bound(reads["margin_ticks"]) == {0: 3}
    assert reads["short"] == 2
    assert reads["by_reason"]["in_flight"] == 5
    assert sum(counts.as_json()["latency_ms"]["read"]["all"]["counts"]) == 10  # type: ignore[index]


def test_a_replica_read_below_the_stamp_is_counted_as_what_it_is_and_not_as_a_margin() -> None:
    counts = FrontCounts(["r1"])
    counts.note_replica_reads([read(stamp=100, arrived=0.0)], 99, 0.001)

    assert reads_of(counts)["short"] == 1
    assert by_bound(reads_of(counts)["margin_ticks"]) == {}


def test_a_tick_of_another_generation_says_nothing_about_margins() -> None:
    counts = FrontCounts(["r1"])
    counts.note_replica_reads([read(stamp=100, arrived=0.0)], None, 0.001)

    assert reads_of(counts)["short"] == 0
    assert by_bound(reads_of(counts)["margin_ticks"]) == {}
    assert sum(reads_of(counts)["wait_ms"]["worker"]["counts"]) == 1


def test_a_read_whose_stamp_was_shown_when_it_came_has_waited_for_a_worker_alone() -> None:
    counts = FrontCounts(["r1"])
    counts.note_replica_reads([read(stamp=5, arrived=10.0)], 5, 10.030)

    waits = reads_of(counts)["wait_ms"]
    assert waits["replication"]["sum"] == 0
    assert waits["worker"]["sum"] == pytest.approx(30, abs=0.01)
    assert sum(waits["replication"]["counts"]) == sum(waits["worker"]["counts"]) == 1


def test_a_wait_is_for_replication_until_the_first_replica_shows_the_stamp_and_for_a_worker_from_then_on() -> None:
    counts = FrontCounts(["r1", "r2"])
    counts.shown.note(1, 4, 10.000)
    request = read(stamp=5, arrived=10.010, waits=True)
    counts.shown.note(1, 6, 10.050)  # by a replica that is too busy
    counts.shown.note(1, 7, 10.080)
    counts.note_replica_reads([request], 7, 10.085)

    waits = reads_of(counts)["wait_ms"]
    assert waits["replication"]["sum"] == pytest.approx(40, abs=0.01)
    assert waits["worker"]["sum"] == pytest.approx(35, abs=0.01)


def test_a_new_generation_forgets_when_ticks_were_shown() -> None:
    shown = FirstShown()
    shown.note(1, 900, 1.0)
    shown.note(2, 10, 2.0)

    assert shown.at(10) == 2.0
    assert shown.at(11) is None


def test_when_ticks_were_shown_is_kept_for_the_newest_and_bounded() -> None:
    shown = FirstShown()
    for tick in range(1, 3 * SHOWN_KEPT):
        shown.note(1, tick, float(tick))

    assert shown.at(3 * SHOWN_KEPT - 1) == 3 * SHOWN_KEPT - 1
    assert len(shown._ticks) == len(shown._moments) <= SHOWN_KEPT


def test_percentiles_forget_what_histograms_keep() -> None:
    counts = FrontCounts(["r1"])
    counts.turn(100.0)
    counts.note_replica_reads([read(stamp=1, arrived=100.0)], 1, 100.010)
    counts.master_latency.add(30.0)

    def latency() -> dict[str, Any]:
        return cast("dict[str, Any]", counts.as_json()["latency_ms"])["read"]

    assert latency()["p50"] >= 10
    assert latency()["p99"] >= 30
    counts.turn(106.0)
    assert latency()["p99"] >= 30
    counts.turn(112.0)
    assert latency()["p50"] is latency()["p99"] is None
    assert sum(latency()["all"]["counts"]) == 2
    assert latency()["all"]["sum"] == pytest.approx(40, abs=0.01)
