"""The comparison's workload and decisions."""

from __future__ import annotations

import pytest

from bench.compare import cell, measures
from bench.replica_lag import is_near
from bench.ways import OURS, Peer
from bench.workload import RATE, USERS, Outcome, earlier_writes, is_pinned, quantile, steps


@pytest.mark.parametrize(
    ("written_at", "pinned"),
    [(None, False), (100.0, True), (98.001, True), (98.0, False), (50.0, False)],
)
def test_a_user_is_pinned_to_the_master_for_the_window_after_his_last_write(written_at: float | None, pinned: bool) -> None:
    assert is_pinned(written_at, now=100.0, window_s=2.0) is pinned


def test_steps_come_at_the_rate_and_are_the_same_for_the_same_seed() -> None:
    plan = steps("a", 0.1, seconds=2.0)

    assert len(plan) == 2 * RATE
    assert plan[RATE].after_s == pytest.approx(1.0)
    assert plan == steps("a", 0.1, seconds=2.0) != steps("b", 0.1, seconds=2.0)


def test_steps_write_as_often_as_asked_and_ask_for_few_users_often() -> None:
    plan = steps("a", 0.1, seconds=20.0)

    assert sum(step.is_write for step in plan) / len(plan) == pytest.approx(0.1, abs=0.01)
    assert {step.user for step in plan} <= set(range(USERS))
    assert sum(step.user < USERS // 4 for step in plan) / len(plan) == pytest.approx(0.5, abs=0.02)  # half on a quarter


def test_earlier_writes_fill_the_window_before_the_beginning_and_nothing_after_it() -> None:
    written_at = earlier_writes("a", 0.1, began_at=1000.0, seconds=15.0)

    assert 985.0 <= min(written_at.values()) < 986.0
    assert 999.9 < max(written_at.values()) < 1000.0
    # A hot user wrote lately, and of his writes the last counts.
    assert all(1000.0 - written_at.get(user, 985.0) <= 15.0 for user in range(50))


def test_a_quantile_is_a_value_that_was_measured() -> None:
    values = list(range(1, 101))

    assert (quantile(values, 0.5), quantile(values, 0.99), quantile(values, 1.0), quantile([7.0], 0.99)) == (50, 99, 100, 7.0)
    with pytest.raises(ValueError, match="no values"):
        quantile([], 0.5)


def test_shares_are_of_reads_and_what_was_not_done_in_time_is_told() -> None:
    outcome = Outcome(planned=20)
    outcome.add(Outcome(0, done=6, reads=4, from_replica=3, stale=1, latencies_s=[0.001, 0.002, 0.003, 0.1]))
    outcome.add(Outcome(0, done=4, reads=4, from_replica=0, stale=0, latencies_s=[0.001] * 4))

    shown = cell("pin 2 s", 1, 0.1, outcome, None)

    assert (shown["replica_share"], shown["stale_share"], shown["done_share"]) == (0.375, 0.125, 0.5)
    assert (shown["read_p50_ms"], shown["read_p99_ms"]) == (1.0, 100.0)


@pytest.mark.parametrize(("measured_s", "near"), [(None, False), (0.69, False), (0.71, True), (1.29, True), (1.31, False)])
def test_a_lag_is_as_asked_for_within_three_tenths_and_an_unknown_one_is_not(measured_s: float | None, near: bool) -> None:
    assert is_near(measured_s, 1.0) is near


def test_a_single_stale_read_of_ours_in_any_cell_misses_the_bar_and_others_do_not_count() -> None:
    clean, stale = Outcome(1, 1, 1, 1, 0, latencies_s=[0.001]), Outcome(1, 1, 1, 1, 1, latencies_s=[0.001])
    cells = [cell(OURS, 0, 0.1, clean, 1.0), cell("split, no guard", 0, 0.1, stale, None)]

    assert [measure.ok for measure in measures(cells)] == [True]
    assert [measure.ok for measure in measures([*cells, cell(OURS, 10, 0.1, stale, 1.0)])] == [False]


def test_a_peer_is_a_name_and_an_address() -> None:
    assert Peer.parse("proxy=127.0.0.1:6033") == Peer("proxy", "127.0.0.1", 6033)
    assert Peer.parse("proxy=[::1]:6033").host == "::1"


@pytest.mark.parametrize(
    "text", ["", "proxy", "proxy=host", "proxy=:6033", "=host:6033", "proxy=host:0", "proxy=host:x", "proxy=host:65536"]
)
def test_what_is_no_peer_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="name=host:port"):
        Peer.parse(text)
