"""Periods in the user's own zone: a new zone counts from the next period on, and the records alone say which period he is in."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

from hypothesis import given, settings
from hypothesis import strategies as st

from apps.tasks.config.documents import Period
from apps.tasks.evaluation.periods import Clock, PeriodOfTime, clock_of
from apps.tasks.evaluation.user_periods import key_of, period_from_key, user_period_at
from tests.unit.evaluating import DAY, NOW, UTC, decision, done, record, task, utc

HOUR = timedelta(hours=1)
SHANGHAI, NEW_YORK = "Asia/Shanghai", "America/New_York"


def clock(zone: str, kind: str = "daily") -> Clock:
    return clock_of(Period(kind=kind), ZoneInfo(zone), NOW, None)  # type: ignore[arg-type]


def at(zone: str, moment: datetime, *keys: str) -> PeriodOfTime:
    return user_period_at(clock(zone), moment, keys)


def test_without_records_the_present_zone_counts() -> None:
    period = at(SHANGHAI, NOW)

    assert (period.starts_at, period.resets_at) == (utc(2026, 11, 29, 16), utc(2026, 11, 30, 16))
    assert period.key == "20261129T1600Z-20261130T1600Z"
    assert period_from_key(period.key) == period


def test_a_period_with_a_record_runs_to_its_end_in_the_zone_in_which_it_began() -> None:
    begun = at(SHANGHAI, NOW)

    assert at(NEW_YORK, NOW + HOUR, begun.key) == begun


def test_after_it_the_new_zone_counts_and_nothing_is_left_out_or_counted_twice() -> None:
    begun = at(SHANGHAI, NOW)

    following = at(NEW_YORK, utc(2026, 11, 30, 16), begun.key)

    assert (following.starts_at, following.resets_at) == (begun.resets_at, utc(2026, 12, 1, 5))
    assert at(NEW_YORK, utc(2026, 12, 1, 5), begun.key).key == "20261201T0500Z-20261202T0500Z"


def test_a_rest_of_less_than_half_a_period_joins_the_next_one() -> None:
    begun = at("Asia/Tokyo", NOW)  # ends an hour before the day does in Shanghai

    following = at(SHANGHAI, utc(2026, 11, 30, 15), begun.key)

    assert (following.starts_at, following.resets_at) == (utc(2026, 11, 30, 15), utc(2026, 12, 1, 16))


def test_a_late_event_finds_a_period_that_ends_where_a_later_record_begins() -> None:
    later = key_of(utc(2026, 11, 30, 5), utc(2026, 12, 1, 5))

    period = at(SHANGHAI, utc(2026, 11, 29, 20), later)

    assert (period.starts_at, period.resets_at) == (utc(2026, 11, 29, 16), utc(2026, 11, 30, 5))


def test_other_keys_say_nothing() -> None:
    assert at(SHANGHAI, NOW, "2026-11-30", "once", "20261340T1600Z-20261130T1600Z", "20261201T0000Z-20261101T0000Z") == at(SHANGHAI, NOW)


ZONES = (
    "UTC",
    SHANGHAI,
    NEW_YORK,
    "Pacific/Apia",
    "Pacific/Kiritimati",
    "Etc/GMT+12",
    "Australia/Lord_Howe",
    "America/Santiago",
    "Asia/Beirut",
)


@settings(max_examples=300, deadline=None)
@given(
    moves=st.lists(st.tuples(st.sampled_from(ZONES), st.integers(1, 60 * 40)), min_size=1, max_size=25),
    kind=st.sampled_from(["daily", "weekly", "monthly"]),
    start=st.datetimes(datetime(2011, 12, 1), datetime(2012, 3, 1)),
)
def test_whoever_moves_again_and_again_has_periods_without_overlap_and_none_shorter_than_half_a_usual_one(
    moves: list[tuple[str, int]], kind: str, start: datetime
) -> None:
    moment, found = start.replace(tzinfo=UTC), dict[str, PeriodOfTime]()
    for zone, minutes in moves:  # he makes progress each time that he is seen
        period = user_period_at(clock(zone, kind), moment, found)
        assert period.holds(moment)
        assert user_period_at(clock(zone, kind), moment, [*found, period.key]) == period
        found[period.key] = period
        moment += timedelta(minutes=minutes)

    in_order = sorted(found.values(), key=lambda period: period.key)
    for former, following in pairwise(in_order):
        assert former.resets_at is not None
        assert following.starts_at is not None
        assert former.resets_at <= following.starts_at
    usual = {"daily": DAY, "weekly": 7 * DAY, "monthly": 28 * DAY}[kind]
    for period in in_order:
        assert period.starts_at is not None
        assert period.resets_at is not None
        assert period.resets_at - period.starts_at >= usual / 2 - HOUR


MINE = Period(kind="daily", zone="user", fallback_zone=NEW_YORK)


def test_a_task_takes_the_zone_from_the_attribute_and_else_the_fallback() -> None:
    assert decision(task(period=MINE), zone=SHANGHAI).period.resets_at == utc(2026, 11, 30, 16)
    for unknown in ("", "Mars/Olympus", 8, None):
        assert decision(task(period=MINE), zone=unknown).period.resets_at == utc(2026, 12, 1, 5)


def test_a_task_completed_before_the_move_stays_completed_until_its_period_ends() -> None:
    key = decision(task(period=MINE), zone=SHANGHAI).period.key

    assert decision(task(period=MINE), done(period=key), zone=NEW_YORK).status == "completed"
    assert decision(task(period=MINE), done(period=key), now=utc(2026, 11, 30, 16), zone=NEW_YORK).status == "available"


def test_a_streak_goes_on_over_a_move() -> None:
    of = task(kind="streak", streak={"length": 3}, period=MINE)
    days = ["20261127T1600Z-20261128T1600Z", "20261128T1600Z-20261129T1600Z"]

    found = decision(of, *(done(period=key) for key in days), record(period="20261129T1600Z-20261130T1600Z"), zone=NEW_YORK)

    assert found.streak is not None
    assert (found.streak.run, found.streak.fills) == (2, True)
