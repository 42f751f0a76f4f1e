"""Period keys and the moments at which periods change, over every kind of clock change."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.tasks.config.documents import Period
from apps.tasks.evaluation.periods import Clock, UnknownZone, clock_of, moment_of, zone_named
from tests.unit.evaluating import DAY, NOW, UTC, utc

INSTANT = timedelta(microseconds=1)

# Zones whose clocks change in unlike ways: at night, at midnight, over midnight, into yesterday, by half an hour, by a whole day, never.
ZONES = (
    "UTC",
    "America/New_York",
    "Australia/Lord_Howe",
    "America/Santiago",
    "Asia/Beirut",
    "Pacific/Apia",
    "America/Sao_Paulo",
    "America/Havana",
    "America/St_Johns",
    "Africa/Casablanca",
    "Asia/Kathmandu",
)

LONGEST = {"daily": 2, "weekly": 9, "monthly": 33}

periods = st.builds(
    Period,
    kind=st.sampled_from(["daily", "weekly", "monthly", "every_days"]),
    resets_at=st.sampled_from(["00:00", "04:00", "02:30", "23:59", "12:00", "00:30"]),
    week_starts_on=st.integers(1, 7),
    month_day=st.integers(1, 31),
    every_days=st.integers(1, 40),
    anchor=st.one_of(st.none(), st.dates(date(1990, 1, 1), date(2030, 1, 1))),
)


@st.composite
def moments(draw: st.DrawFn, zone: str) -> datetime:
    """Any moment since 1990, often one near a change of this zone's clocks."""
    at = draw(st.datetimes(datetime(1990, 1, 1), datetime(2037, 1, 1))).replace(tzinfo=UTC)
    if draw(st.booleans()):
        return at
    before, where = at, ZoneInfo(zone)
    for _day in range(400):
        after = before + DAY
        if before.astimezone(where).utcoffset() != after.astimezone(where).utcoffset():
            return before + timedelta(minutes=draw(st.integers(-1440, 2 * 1440)))
        before = after
    return at


def clock(zone: str = "UTC", **fields: Any) -> Clock:
    return clock_of(Period(**fields), ZoneInfo(zone), NOW, None)


@settings(max_examples=600, deadline=None)
@given(data=st.data(), zone=st.sampled_from(ZONES), period=periods)
def test_every_moment_belongs_to_exactly_one_period_and_periods_follow_each_other(data: st.DataObject, zone: str, period: Period) -> None:
    at = data.draw(moments(zone))
    found = clock_of(period, ZoneInfo(zone), NOW, None).period_at(at)
    fresh = clock_of(period, ZoneInfo(zone), NOW, None)

    assert found.starts_at is not None
    assert found.resets_at is not None
    assert found.starts_at <= at < found.resets_at
    assert fresh.period_at(found.resets_at - INSTANT) == fresh.period_at(found.starts_at) == found
    following, former = fresh.period_at(found.resets_at), fresh.period_at(found.starts_at - INSTANT)
    assert following.starts_at == found.resets_at
    assert former.resets_at == found.starts_at
    assert former.key < found.key < following.key
    assert found.resets_at - found.starts_at <= timedelta(days=LONGEST.get(period.kind, period.every_days + 2))


@settings(max_examples=200, deadline=None)
@given(data=st.data(), zone=st.sampled_from(ZONES), period=periods)
def test_a_period_is_found_again_by_its_key(data: st.DataObject, zone: str, period: Period) -> None:
    clocks = clock_of(period, ZoneInfo(zone), NOW, None)
    found = clocks.period_at(data.draw(moments(zone)))

    assert clocks.period_named(found.key) == found
    assert clocks.period_named("nonsense").resets_at is None


@settings(max_examples=300, deadline=None)
@given(data=st.data(), zone=st.sampled_from(ZONES), minutes=st.integers(0, 1439))
def test_a_local_time_is_the_first_moment_that_shows_it_or_a_later_one(data: st.DataObject, zone: str, minutes: int) -> None:
    where = ZoneInfo(zone)
    day = data.draw(moments(zone)).astimezone(where).replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None)
    wanted = day + timedelta(minutes=minutes)

    moment = moment_of(where, wanted)

    assert moment.astimezone(where).replace(tzinfo=None) >= wanted
    assert (moment - INSTANT).astimezone(where).replace(tzinfo=None) < wanted


@pytest.mark.parametrize(
    ("zone", "at", "key", "resets_at"),
    [
        pytest.param("UTC", utc(2026, 11, 30, 23, 59, 59), "2026-11-30", utc(2026, 12, 1), id="last second of a plain day"),
        pytest.param("UTC", utc(2026, 12, 1), "2026-12-01", utc(2026, 12, 2), id="midnight belongs to the new day"),
        pytest.param("Asia/Shanghai", utc(2026, 11, 29, 16), "2026-11-30", utc(2026, 11, 30, 16), id="east of Greenwich"),
        pytest.param("Europe/Berlin", utc(2026, 3, 29, 0, 30), "2026-03-29", utc(2026, 3, 29, 22), id="day of 23 hours"),
        pytest.param("Europe/Berlin", utc(2026, 10, 25, 0, 30), "2026-10-25", utc(2026, 10, 25, 23), id="day of 25 hours"),
        pytest.param("Australia/Lord_Howe", utc(2026, 4, 4, 14), "2026-04-05", utc(2026, 4, 5, 13, 30), id="day of 24.5 hours"),
        pytest.param("Australia/Lord_Howe", utc(2026, 10, 3, 14), "2026-10-04", utc(2026, 10, 4, 13), id="day of 23.5 hours"),
        pytest.param("America/Sao_Paulo", utc(2018, 11, 3, 12), "2018-11-03", utc(2018, 11, 4, 3), id="next day begins at 01:00"),
        pytest.param("America/Santiago", utc(2026, 9, 5, 12), "2026-09-05", utc(2026, 9, 6, 4), id="midnight skipped in Chile"),
        pytest.param("Asia/Beirut", utc(2026, 3, 28, 12), "2026-03-28", utc(2026, 3, 28, 22), id="midnight skipped in Lebanon"),
        pytest.param("America/Havana", utc(2026, 10, 31, 12), "2026-10-31", utc(2026, 11, 1, 4), id="midnight comes twice"),
        pytest.param("America/Havana", utc(2026, 11, 1, 4, 30), "2026-11-01", utc(2026, 11, 2, 5), id="between the two midnights"),
        pytest.param("America/Sao_Paulo", utc(2018, 2, 18, 2, 30), "2018-02-17", utc(2018, 2, 18, 3), id="the last hour comes twice"),
        pytest.param("Pacific/Apia", utc(2011, 12, 30, 9), "2011-12-29", utc(2011, 12, 30, 10), id="the next date does not exist"),
        pytest.param("Pacific/Apia", utc(2011, 12, 30, 10), "2011-12-31", utc(2011, 12, 31, 10), id="the day after the one that never was"),
        pytest.param("America/Toronto", utc(1919, 3, 31, 4), "1919-03-30", utc(1919, 3, 31, 4, 30), id="clocks jump from 23:30 to 00:30"),
        pytest.param(
            "America/St_Johns", utc(2006, 10, 29, 2, 30, 30), "2006-10-29", utc(2006, 10, 30, 3, 30), id="before back into yesterday"
        ),
        pytest.param(
            "America/St_Johns", utc(2006, 10, 29, 3), "2006-10-29", utc(2006, 10, 30, 3, 30), id="yesterday's date again is today"
        ),
    ],
)
def test_a_day_is_a_local_date_and_ends_where_the_next_begins(zone: str, at: datetime, key: str, resets_at: datetime) -> None:
    period = clock(zone, kind="daily").period_at(at)

    assert (period.key, period.resets_at) == (key, resets_at)


@pytest.mark.parametrize(
    ("fields", "zone", "at", "key", "starts_at", "resets_at"),
    [
        pytest.param(
            {"kind": "daily", "resets_at": "04:00"},
            "Asia/Shanghai",
            utc(2026, 11, 30, 19),
            "2026-11-30",
            utc(2026, 11, 29, 20),
            utc(2026, 11, 30, 20),
            id="before four in the morning it is still yesterday",
        ),
        pytest.param(
            {"kind": "daily", "resets_at": "02:30"},
            "America/New_York",
            utc(2026, 3, 8, 7),
            "2026-03-08",
            utc(2026, 3, 8, 7),
            utc(2026, 3, 9, 6, 30),
            id="a reset that the clocks skip comes at the jump",
        ),
        pytest.param(
            {"kind": "daily", "resets_at": "01:30"},
            "America/New_York",
            utc(2026, 11, 1, 6),
            "2026-11-01",
            utc(2026, 11, 1, 5, 30),
            utc(2026, 11, 2, 6, 30),
            id="a reset that comes twice counts once, the first time",
        ),
        pytest.param(
            {"kind": "daily", "resets_at": "12:00"},
            "Pacific/Apia",
            utc(2011, 12, 30, 12),
            "2011-12-30",
            utc(2011, 12, 30, 10),
            utc(2011, 12, 30, 22),
            id="noon of the day that never was is the jump",
        ),
        pytest.param(
            {"kind": "weekly"}, "UTC", utc(2026, 12, 6, 23), "week-2026-11-30", utc(2026, 11, 30), utc(2026, 12, 7), id="a week from Monday"
        ),
        pytest.param(
            {"kind": "weekly", "week_starts_on": 7},
            "UTC",
            utc(2026, 12, 5),
            "week-2026-11-29",
            utc(2026, 11, 29),
            utc(2026, 12, 6),
            id="a week from Sunday",
        ),
        pytest.param({"kind": "monthly"}, "UTC", utc(2026, 11, 30), "month-2026-11-01", utc(2026, 11, 1), utc(2026, 12, 1), id="a month"),
        pytest.param(
            {"kind": "monthly", "month_day": 31},
            "UTC",
            utc(2027, 2, 28),
            "month-2027-02-28",
            utc(2027, 2, 28),
            utc(2027, 3, 31),
            id="the 31st of February",
        ),
        pytest.param(
            {"kind": "monthly", "month_day": 30},
            "UTC",
            utc(2028, 2, 28),
            "month-2028-01-30",
            utc(2028, 1, 30),
            utc(2028, 2, 29),
            id="a leap year's February",
        ),
        pytest.param(
            {"kind": "monthly", "month_day": 31},
            "UTC",
            utc(2026, 12, 31),
            "month-2026-12-31",
            utc(2026, 12, 31),
            utc(2027, 1, 31),
            id="over the year's end",
        ),
        pytest.param(
            {"kind": "every_days", "every_days": 3, "anchor": date(2026, 11, 30)},
            "UTC",
            utc(2026, 12, 2, 23),
            "days-2026-11-30",
            utc(2026, 11, 30),
            utc(2026, 12, 3),
            id="every three days from the anchor",
        ),
        pytest.param(
            {"kind": "every_days", "every_days": 3, "anchor": date(2026, 11, 30)},
            "UTC",
            utc(2026, 11, 29),
            "days-2026-11-27",
            utc(2026, 11, 27),
            utc(2026, 11, 30),
            id="and before it",
        ),
    ],
)
def test_periods_begin_at_their_reset_time(
    fields: dict[str, Any], zone: str, at: datetime, key: str, starts_at: datetime, resets_at: datetime
) -> None:
    period = clock(zone, **fields).period_at(at)

    assert (period.key, period.starts_at, period.resets_at) == (key, starts_at, resets_at)


def test_once_is_one_period_without_end() -> None:
    period = clock(kind="once").period_at(NOW)

    assert (period.key, period.starts_at, period.resets_at) == ("once", None, None)


def test_a_window_is_one_period_whose_key_says_when_it_begins() -> None:
    window = clock_of(Period(kind="window"), zone_named("UTC"), NOW, NOW + 2 * DAY)

    for at in (NOW - DAY, NOW, NOW + 2 * DAY, NOW + 3 * DAY):
        assert window.period_at(at) == window.period_at(NOW)
    assert (window.period_at(NOW).key, window.period_at(NOW).resets_at) == ("window-20261130T1200Z", NOW + 2 * DAY)


def test_the_last_day_there_is_has_no_end() -> None:
    assert clock(kind="daily").period_at(datetime(9999, 12, 31, 12, tzinfo=UTC)).resets_at is None


def test_a_zone_that_is_not_known_is_a_fault() -> None:
    with pytest.raises(UnknownZone, match="Mars"):
        zone_named("Mars/Olympus")
