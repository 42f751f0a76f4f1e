"""The bench's own arithmetic: ratios, bars, the baselines around ours, and what it reads out of other programs' summaries."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bench import counters, neighbours
from bench.baseline import Baseline
from bench.foreign_clients import read_redis_benchmark, read_slap
from bench.measures import Measure
from bench.neighbours import Used
from bench.reads import requests_for

REDIS_BENCHMARK = """====== TASK.GET 1__rand_int__ node-1 ======
  30000 requests completed in 0.75 seconds
  50 parallel clients
  13 bytes payload

Latency by percentile distribution:
0.000% <= 0.199 milliseconds (cumulative count 1)

Summary:
  throughput summary: 39893.62 requests per second
  latency summary (msec):
          avg       min       p50       p95       p99       max
        1.143     0.192     1.103     1.503     2.135     5.103
"""
SLAP = """Benchmark
\tAverage number of seconds to run all queries: 2.000 seconds
\tMinimum number of seconds to run all queries: 2.000 seconds
"""


def test_a_ratio_is_to_the_mean_of_the_runs_before_and_after() -> None:
    measure = Measure("reads", 60, "/s", against=[40, 60], bar=1.2, aim=1.3)

    assert measure.ratio == pytest.approx(1.2)
    assert (measure.ok, measure.reaches_aim) == (True, False)


@pytest.mark.parametrize(("value", "ok"), [(4.99, True), (5.0, True), (5.01, False)])
def test_an_upper_bar_bounds_from_above(value: float, ok: bool) -> None:
    assert Measure("write p99", 2 * value, "ms", against=[2], bar=5, at_most=True).ok is ok


def test_without_a_comparison_the_bar_bounds_the_value() -> None:
    assert Measure("stale reads", 1, "", bar=0, at_most=True).ok is False
    assert Measure("stale reads", 0, "", bar=0, at_most=True).ok is True


def test_a_comparison_with_nothing_keeps_no_bar() -> None:
    assert Measure("reads", 60, "/s", against=[0, 0], bar=1).ok is False
    assert Measure("write p99", 60, "ms", against=[0], bar=5, at_most=True).ok is False


def test_without_a_bar_there_is_no_verdict() -> None:
    assert Measure("reads", 60, "/s", against=[40]).ok is None


def test_a_row_shows_the_baselines_of_both_sides() -> None:
    row = Measure("reads", 60, "/s", [40, 60], "slap", bar=1, aim=1.3).row()

    assert row == ("reads", "60 /s", "50 (40 … 60) slap", "1.20", "≥ 1", "≥ 1.3", "ok")


def test_a_baseline_is_measured_before_and_after_each_of_ours_and_shared_between_two() -> None:
    order: list[str] = []
    speeds: Iterator[float] = iter([10.0, 20.0, 30.0])

    def measure() -> float:
        order.append("baseline")
        return next(speeds)

    baseline = Baseline(measure)
    first = baseline.around(lambda: order.append("first"))
    second = baseline.around(lambda: order.append("second"))

    assert order == ["baseline", "first", "baseline", "second", "baseline"]
    assert (first[1], second[1]) == ((10.0, 20.0), (20.0, 30.0))


def test_a_summary_of_redis_benchmark_is_read_by_column() -> None:
    assert read_redis_benchmark(REDIS_BENCHMARK) == (39893.62, 1.143, 2.135)


def test_what_is_no_summary_is_said_and_not_taken_for_zero() -> None:
    with pytest.raises(RuntimeError, match="no summary"):
        read_redis_benchmark("Could not connect to Redis")
    with pytest.raises(RuntimeError, match="no summary"):
        read_slap("mariadb-slap: Error when connecting to server", 50, 1000)


def test_mariadb_slaps_mean_latency_follows_from_one_query_under_way_for_each_client() -> None:
    load = read_slap(SLAP, clients=50, queries=80_000)

    assert (load.per_s, load.mean_ms, load.p99_ms) == (40_000, pytest.approx(1.25), None)


@pytest.mark.parametrize(("per_s", "requests"), [(39_999, 79_000), (1_000_000, 80_000), (10, 1_000)])
def test_a_figure_takes_about_two_seconds_on_any_machine(per_s: float, requests: int) -> None:
    assert requests_for(per_s, 2.0, 80_000) == requests


def reads(total: int, master: int, safe: int, **reasons: int) -> dict[str, object]:
    by_reason = dict.fromkeys(("in_flight", "recent_write", "replica_lag", "spill", "aged", "handed_back", "replica_down"), 0) | reasons
    return {"total": total, "by_server": {"master": master, "r1": total - master}, "safe": safe, "by_reason": by_reason}


def test_what_the_master_took_although_it_may_have_been_safe_counts_against_the_replicas_share() -> None:
    before, after = reads(100, 50, 50, spill=7), reads(1100, 650, 550, spill=17, aged=5, recent_write=585)

    assert counters.served_of_safe(before, after) == pytest.approx(97.0)
    assert counters.shares(before, after) == (0.4, 0.5)


def test_without_reads_there_is_no_share() -> None:
    assert counters.shares(reads(5, 0, 5), reads(5, 0, 5)) == (0.0, 0.0)
    assert counters.served_of_safe(reads(5, 0, 5), reads(5, 0, 5)) == 0.0


def test_what_others_took_is_the_machines_work_without_ours() -> None:
    assert neighbours.others_share(Used(10, 100, 40), Used(20, 115, 50), cores=2) == pytest.approx(0.25)
    assert neighbours.others_share(Used(10, 100, 40), Used(20, 109.9, 50), cores=2) == 0.0


def test_waiting_and_interrupts_are_no_work_of_others() -> None:
    ticks = neighbours.TICKS_PER_S
    line = "cpu  " + " ".join(str(seconds * ticks) for seconds in (1, 2, 4, 1000, 1000, 1000, 1000, 8, 0, 0))

    assert neighbours.busy_s(line + "\ncpu0 …") == 15
