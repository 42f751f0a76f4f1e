"""Sweeps: when a round begins, which day is kept, what a sweep waits for, which grants go, and what the console says."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone
from typing import Any

import msgspec
import pytest
from pydantic import ValidationError

from apps.dbsvr.judge import Judgement, judge
from apps.dbsvr.sweep_rules import CODES, FAILS, LATE, LATE_AFTER_S, SweepNow, SweepsNow, look
from apps.dbsvr.sweeps.pace import why_wait
from apps.dbsvr.sweeps.schedule import first_day_kept, is_due, may_try
from apps.dbsvr.words import en
from tasksys_site.configuration import Points, Sweep
from tests.unit.samples_of_a_dbsvr import START

NOON = datetime(2026, 11, 30, 12, tzinfo=timezone.utc)


@pytest.mark.parametrize(
    ("at", "began", "due"),
    [
        ("02:00", None, True),
        ("02:00", NOON - timedelta(hours=1), False),
        ("02:00", NOON - timedelta(hours=10), False),
        ("02:00", NOON - timedelta(hours=10, seconds=1), True),
        ("13:00", NOON - timedelta(hours=22), False),
        ("13:00", NOON - timedelta(hours=24), True),
        ("", None, False),
    ],
)
def test_a_round_begins_once_a_day_at_its_time_or_as_soon_as_somebody_works_again(at: str, began: datetime | None, due: bool) -> None:
    assert is_due(at, NOON, began) is due


def test_a_day_is_kept_until_it_has_ended_the_days_and_a_spare_one_ago() -> None:
    ends = datetime(2026, 11, 1, tzinfo=timezone.utc)  # of October 31st

    assert first_day_kept([(ends + timedelta(days=31)).timestamp() - 1], 30) == date(2026, 10, 31)
    assert first_day_kept([(ends + timedelta(days=31)).timestamp()], 30) == date(2026, 11, 1)


def test_what_is_refused_for_its_moment_is_older_than_all_that_is_deleted() -> None:
    """An event dated five minutes ahead of its first time, whose repetition the API still takes, is there."""
    for hour in range(72):
        now = NOON + timedelta(hours=hour)
        oldest_taken = now - timedelta(days=30)
        applied = oldest_taken - timedelta(minutes=5)

        assert applied.date() >= first_day_kept([now.timestamp()], 30)


def test_of_several_clocks_the_one_that_is_behind_counts() -> None:
    right, ahead = NOON.timestamp(), (NOON + timedelta(days=365)).timestamp()

    assert first_day_kept([ahead, right, ahead], 30) == first_day_kept([right], 30)


def test_after_an_error_it_is_tried_again_in_ten_minutes() -> None:
    assert may_try(NOON, None)
    assert not may_try(NOON, NOON - timedelta(minutes=9))
    assert may_try(NOON, NOON - timedelta(minutes=10))


def stats(lag_ms: float | None = 5, state: str = "serving", waiting: int = 0) -> dict[str, Any]:
    return {
        "queues": {"query": {"depth": waiting, "backlog": 0}, "finish": {"depth": 0, "backlog": waiting}},
        "replicas": {"r1": {"state": state, "lag_ms": lag_ms}},
    }


@pytest.mark.parametrize(
    ("said", "waits"),
    [
        ({"a": stats(), "b": stats()}, ""),
        ({"a": stats(), "b": stats(lag_ms=10_001, state="catching_up")}, "waits: replica r1 is 10.0 s behind"),
        ({"a": stats(lag_ms=10_001, state="held")}, "waits: replica r1 is 10.0 s behind"),
        ({"a": stats(lag_ms=99_999, state="stopped")}, ""),
        ({"a": stats(lag_ms=None, state="down")}, ""),
        ({"a": stats(waiting=101)}, "waits: 202 requests stand before DBSvr a"),
        ({}, "waits: no DBSvr says how it stands"),
    ],
)
def test_a_sweep_waits_for_replicas_that_follow_and_for_queues(said: dict[str, Any], waits: str) -> None:
    assert why_wait(said, Sweep()) == waits


def test_grants_are_kept_for_ever_or_for_long_enough_to_compare_their_day() -> None:
    assert (Points().keep_days, Points(keep_days=0).keep_days, Points(keep_days=14).keep_days) == (90, 0, 14)
    with pytest.raises(ValidationError, match="keep_days"):
        Points(keep_days=13)


def test_a_grant_goes_when_it_is_settled_for_good_and_its_task_takes_nothing_back() -> None:
    from apps.tasks.points.states import State
    from apps.tasks.points.sweep import OldGrant, doomed

    def grant(name: str, task: int = 7, state: State = State.CONFIRMED, settled_ms: int | None = 10) -> OldGrant:
        return OldGrant(name, 5, task, state, settled_ms)

    grants = [
        grant("goes"),
        grant("goes too", state=State.SUPERSEDED),
        grant("never said when", settled_ms=None),
        grant("of a task that takes back", task=8),
        grant("settled lately", settled_ms=100),
        *(grant(state.word, state=state) for state in State if state not in (State.CONFIRMED, State.SUPERSEDED)),
        grant("goes~back"),
        grant("stays~back"),
        grant("went long ago~back"),
    ]

    going = doomed(grants, frozenset({7}), before_ms=100, there=frozenset({"goes", "stays"}))

    assert going == ["goes", "goes too", "never said when", "goes~back", "went long ago~back"]


def now(**fields: Any) -> SweepsNow:
    return SweepsNow(START, (SweepNow("applied_event", **fields),))


@pytest.mark.parametrize(
    ("sweeps", "said"),
    [
        (None, []),
        (SweepsNow(START), []),
        (now(), []),
        (now(began_at=START - LATE_AFTER_S + 1), []),
        (now(began_at=START - LATE_AFTER_S), [(LATE, "")]),
        (now(began_at=START - LATE_AFTER_S, waits="waits: …"), [(LATE, "waits")]),
        (now(error="no", failing_since=START - 9, began_at=START - LATE_AFTER_S), [(FAILS, "")]),
        (msgspec.structs.replace(now(error="no"), looked_at=START - 31), []),
    ],
)
def test_what_is_so_is_said(sweeps: SweepsNow | None, said: list[tuple[str, str]]) -> None:
    assert [(finding.code, finding.case) for finding in look(sweeps, {}, START)] == said


def test_the_light_shows_a_sweep_that_cannot_go_on_and_keeps_its_beginning() -> None:
    first = judge({}, Judgement(), START, sweeps=now(error="no", failing_since=START - 9))
    later = judge({}, first, START + 9, sweeps=now(error="no", failing_since=START))

    assert [(finding.code, finding.since) for finding in later.findings] == [(FAILS, START - 9)]


def test_every_finding_has_words() -> None:
    assert set(CODES) <= {key.partition("/")[0] for key in en.SENTENCES}
