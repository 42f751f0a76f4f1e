"""The pure core of points delivery: what an answer means, how long to wait, who goes next, turns, rest, and the comparison of a day."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.tasks.points.answers import LONGEST_HOLD_S, Answer, Meaning, Outcome, meaning_of
from apps.tasks.points.comparing import (
    CONFIRMED,
    FEW,
    GIVEN_UP,
    GIVEN_UP_HERE,
    MISSING,
    ON_THE_WAY,
    OTHER_POINTS,
    UNKNOWN_HERE,
    Between,
    OurGrant,
    OurSums,
    Sums,
    narrow,
)
from apps.tasks.points.moves import move_after
from apps.tasks.points.order import LOOK_AGAIN_MS, next_step, replaced_by_newest
from apps.tasks.points.pace import AHEAD_US, take_turns
from apps.tasks.points.rest import FAILURES, FIRST_REST_S, LONGEST_REST_S, Rest
from apps.tasks.points.states import Grant, State
from apps.tasks.points.waits import LONGEST_MS, failed_for_ms, full_wait_ms, wait_ms
from deploy.local.reference import ORDERS, faults_for
from deploy.reference.faults import Fault, Faults, WrongFaults, faults_of

NOW_MS = 1_796_000_000_000
NOW = NOW_MS / 1000


def grant(version: int = 1, state: State = State.PENDING, attempts: int = 0, due_ms: int = 0, tier: int = 0) -> Grant:
    return Grant(f"7:1:p{version}:{tier}", 7, version, 1, f"p{version}", tier, 5, 5 * version, NOW_MS, state, attempts, due_ms)


# What an answer means


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        (200, Outcome.CONFIRMED),
        (201, Outcome.CONFIRMED),
        (204, Outcome.CONFIRMED),
        (409, Outcome.CONFIRMED),
        (400, Outcome.REJECTED),
        (422, Outcome.REJECTED),
        (410, Outcome.REJECTED),
        (408, Outcome.AGAIN),
        (425, Outcome.AGAIN),
        (429, Outcome.AGAIN),
        (500, Outcome.AGAIN),
        (503, Outcome.AGAIN),
        (301, Outcome.AGAIN),
    ],
)
def test_a_status_decides(status: int, outcome: Outcome) -> None:
    assert meaning_of(Answer(status), NOW).outcome is outcome


@pytest.mark.parametrize("status", [401, 403, 404, 405])
def test_a_wrong_secret_or_address_rejects_no_grant(status: int) -> None:
    meaning = meaning_of(Answer(status), NOW)

    assert (meaning.outcome, meaning.is_away) == (Outcome.AGAIN, True)


def test_silence_after_the_request_had_left_is_not_known_to_have_failed() -> None:
    assert meaning_of(Answer(0, "no answer", left=True), NOW).outcome is Outcome.UNKNOWN
    assert meaning_of(Answer(0, "refused", left=False), NOW).outcome is Outcome.AGAIN


@pytest.mark.parametrize(
    ("retry_after", "hold_s"),
    [
        ("7", 7.0),
        ("", 0.0),
        ("soon", 0.0),
        ("999999999999", LONGEST_HOLD_S),
        ("Sun, 29 Nov 2026 16:53:30 GMT", 10.0),
        ("Sun, 29 Nov 2020 16:53:30 GMT", 0.0),
    ],
)
def test_a_retry_after_is_seconds_or_a_date_and_bounded(retry_after: str, hold_s: float) -> None:
    at = 1_795_971_200.0  # 2026-11-29 16:53:20 UTC

    assert meaning_of(Answer(429, retry_after=retry_after), at).hold_s == hold_s


# Waits and moves


def test_waits_double_up_to_five_minutes_and_chance_takes_half_at_most() -> None:
    assert [full_wait_ms(attempts) for attempts in (1, 2, 3, 9, 10, 1000)] == [1000, 2000, 4000, 256_000, LONGEST_MS, LONGEST_MS]
    assert (wait_ms(3, 0.0), wait_ms(3, 1.0)) == (2000, 4000)


@given(st.integers(1, 2_000))
def test_the_time_failed_is_the_sum_of_the_waits(attempts: int) -> None:
    assert failed_for_ms(attempts) == sum(full_wait_ms(number) for number in range(1, attempts + 1))


def test_what_failed_waits_and_what_failed_for_too_long_is_dead() -> None:
    again, unknown = Meaning(Outcome.AGAIN, "500"), Meaning(Outcome.UNKNOWN, "silence")
    sent = grant(state=State.SENT, attempts=1)

    assert move_after(sent, again, NOW_MS, 60, 1.0)[:3] == (State.PENDING, NOW_MS + 1000, None)
    assert move_after(sent, unknown, NOW_MS, 60, 1.0)[:3] == (State.INDETERMINATE, NOW_MS + 1000, None)
    assert move_after(sent._replace(attempts=6), again, NOW_MS, 60, 1.0)[:3] == (State.DEAD, 0, NOW_MS)
    assert move_after(sent, Meaning(Outcome.CONFIRMED), NOW_MS, 60, 1.0).is_settled
    assert move_after(sent, Meaning(Outcome.REJECTED, "x" * 999), NOW_MS, 60, 1.0).error == "x" * 255


def test_a_retry_after_that_is_longer_than_the_wait_is_kept() -> None:
    assert move_after(grant(attempts=1), Meaning(Outcome.AGAIN, hold_s=90), NOW_MS, 60, 1.0).due_ms == NOW_MS + 90_000


# A user's order


def test_the_first_goes_by_version_then_tier() -> None:
    rows = [grant(3), grant(2, tier=2), grant(2, tier=1)]

    assert next_step(rows, NOW_MS).send == grant(2, tier=1)


@pytest.mark.parametrize("state", [State.SENT, State.INDETERMINATE, State.PENDING])
def test_behind_one_that_waits_nothing_goes(state: State) -> None:
    first = grant(1, state, attempts=1, due_ms=NOW_MS + 30_000)

    step = next_step([grant(2), first], NOW_MS)

    assert step.send is None
    assert step.first == first
    # Another relay is sending the first one, perhaps: its lease is no reason to wait that long.
    assert step.until_ms == NOW_MS + (LOOK_AGAIN_MS if state is State.SENT else 30_000)


def test_one_that_nobody_tried_goes_though_it_was_kept_out_of_sight() -> None:
    assert next_step([grant(1, due_ms=NOW_MS + 9_000)], NOW_MS).send is not None


def test_one_that_is_being_sent_is_not_taken_when_its_lease_has_ended_before_it_is_called_indeterminate() -> None:
    assert next_step([grant(1, State.SENT, 1, NOW_MS - 1)], NOW_MS).send is None
    assert next_step([grant(1, State.INDETERMINATE, 1, NOW_MS - 1)], NOW_MS).send is not None


def test_a_newer_total_replaces_what_is_pending_and_not_what_may_have_arrived() -> None:
    rows = [grant(4), grant(1, State.INDETERMINATE, 1), grant(2), grant(3, attempts=2)]

    assert replaced_by_newest(rows) == [grant(2), grant(3, attempts=2)]


# Turns


@given(st.integers(1, 5_000), st.lists(st.tuples(st.integers(0, 300_000), st.integers(0, 40)), max_size=60))
def test_no_second_has_more_turns_than_the_rate(rate: int, relays: list[tuple[int, int]]) -> None:
    free, now, turns = 0, NOW_MS * 1000, []
    for passed, wanted in relays:
        now += passed
        taken = take_turns(free, now, wanted, rate)
        assert all(now <= at <= now + AHEAD_US for at in taken.at_us)
        free = taken.free_from_us
        turns += taken.at_us
    assert turns == sorted(turns)
    assert all(later - first >= 1_000_000 // rate for first, later in itertools.pairwise(turns))


def test_a_clock_that_was_set_back_does_not_stop_delivery() -> None:
    assert take_turns(NOW_MS * 1000 + 3_600_000_000, NOW_MS * 1000, 1, 10).at_us


# Rest


def test_after_failures_in_a_row_nothing_is_sent_then_one_and_then_all() -> None:
    rest = Rest()
    for _ in range(FAILURES):
        assert rest.allowed(100.0, 16, 0) == 16
        rest.note(True, 100.0, 101.0)

    assert rest.allowed(101.0 + FIRST_REST_S / 2, 16, 0) == 0
    assert rest.allowed(101.0 + FIRST_REST_S, 16, 0) == 1
    rest.note(False, 103.0, 103.1)
    assert rest.allowed(103.1, 16, 0) == 16


def test_a_failed_try_doubles_the_rest_and_what_was_sent_before_it_does_not() -> None:
    rest = Rest()
    for _ in range(FAILURES + 10):
        rest.note(True, 100.0, 101.0)
    assert rest.rest_s == FIRST_REST_S

    for number in range(1, 12):
        rest.note(True, rest.until + 0.1, rest.until + 0.2)
        assert rest.rest_s == min(FIRST_REST_S * 2**number, LONGEST_REST_S)


def test_of_those_that_were_sent_together_one_answer_is_enough() -> None:
    rest = Rest()
    rest.note(False, 100.0, 100.1)
    for _ in range(FAILURES + 10):
        rest.note(True, 100.0, 102.0)

    assert rest.allowed(102.0, 16, 0) == 16, "what times out is known last"


# A day


class Sides:
    """Grants here and there by moment, and how often sums were asked for."""

    def __init__(self, ours: Mapping[int, OurGrant], theirs: Mapping[int, tuple[int, int]]) -> None:
        self.ours, self.theirs, self.asked = ours, theirs, 0

    def our_sums(self, between: Between) -> OurSums:
        rows = self.our_grants(between).values()
        sums = {standing: [row.points for row in rows if row.standing == standing] for standing in (CONFIRMED, ON_THE_WAY)}
        return OurSums(*(Sums(len(points), sum(points)) for points in sums.values()))

    def their_sums(self, between: Between) -> Sums:
        self.asked += 1
        rows = self.their_grants(between).values()
        return Sums(len(rows), sum(points for _, points in rows))

    def our_grants(self, between: Between) -> dict[str, OurGrant]:
        return {f"g{at:08}": row for at, row in self.ours.items() if between[0] <= at < between[1]}

    def their_grants(self, between: Between) -> dict[str, tuple[int, int]]:
        return {f"g{at:08}": row for at, row in self.theirs.items() if between[0] <= at < between[1]}

    def differences(self) -> list[tuple[str, str]]:
        found = narrow((0, 86_400_000), self.our_sums, self.their_sums, self.our_grants, self.their_grants)
        assert not found.more
        return [(each.kind, each.grant_id) for each in found.differences]


MANY = {at: OurGrant(at, 5, CONFIRMED) for at in range(0, 86_400_000, 20_000)}
THEIRS = {at: (at, 5) for at in MANY}


def test_equal_days_are_compared_by_one_sum() -> None:
    sides = Sides(MANY, THEIRS)

    assert sides.differences() == []
    assert sides.asked == 1
    assert len(MANY) > FEW


def test_each_kind_of_difference_is_found_among_thousands_by_few_sums() -> None:
    theirs: dict[int, Any] = {**THEIRS, 40_000: (40_000, 6), 123: (9, 9)}
    del theirs[80_020_000]
    ours = {**MANY, 60_000: OurGrant(60_000, 5, GIVEN_UP)}
    sides = Sides(ours, theirs)

    assert sorted(sides.differences()) == [
        (GIVEN_UP_HERE, "g00060000"),
        (MISSING, "g80020000"),
        (OTHER_POINTS, "g00040000"),
        (UNKNOWN_HERE, "g00000123"),
    ]
    assert sides.asked < 80


def test_what_is_on_its_way_may_be_there_or_not() -> None:
    ours = {1: OurGrant(1, 5, ON_THE_WAY), 2: OurGrant(2, 5, ON_THE_WAY), 3: OurGrant(3, 5, CONFIRMED)}

    assert Sides(ours, {1: (1, 5), 3: (3, 5)}).differences() == []
    assert Sides(ours, {1: (1, 5)}).differences() == [(MISSING, "g00000003")], "the sums alone could agree"


# The reference server's faults


def test_shares_are_tried_in_order_and_a_dead_server_cuts_all() -> None:
    faults = Faults(errors=0.2, lost=0.3)

    assert [faults.choose(lambda drawn=drawn: drawn) for drawn in (0.1, 0.3, 0.6)] == [Fault.ERROR, Fault.LOST, Fault.NONE]  # type: ignore[misc]
    assert Faults(dead=True, errors=1.0).choose(lambda: 0.0) is Fault.CUT


@pytest.mark.parametrize("wrong", [{"erors": 1}, {"errors": 2}, {"dead": 1}, {"slow_ms": -1}, {"errors": "all"}, {"errors": True}])
def test_a_fault_that_there_is_not_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(WrongFaults):
        faults_of(wrong)


def test_what_is_not_named_is_well() -> None:
    assert faults_of({"slow_ms": 500}) == Faults(slow_ms=500)
    assert faults_of({"errors": 1}) == Faults(errors=1.0)


@pytest.mark.parametrize("order", ORDERS)
def test_every_order_of_the_command_line_is_one_that_a_server_takes(order: str) -> None:
    faults = faults_for(order, 500, 0.5)

    if order != "show":
        assert faults is not None
        assert (faults_of(faults) == Faults()) == (order == "well")
