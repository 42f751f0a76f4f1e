"""Period keys and the moments at which they change, over every kind of clock change."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.tasks.periods import DAILY, ONCE, period_at, period_named

SECOND = timedelta(seconds=1)

# Zones whose clocks change in unlike ways: at night, at midnight, over midnight, by half an hour, by a whole day, never.
ZONES = (
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "America/Sao_Paulo",
    "America/Havana",
    "America/Santiago",
    "Australia/Lord_Howe",
    "Asia/Beirut",
    "Asia/Kathmandu",
    "Africa/Cairo",
    "Pacific/Apia",
    "America/Toronto",
    "Asia/Shanghai",
)


def utc(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=timezone.utc)  # type: ignore[arg-type,misc]


def test_once_is_one_period_without_end() -> None:
    assert period_at(ONCE, ZoneInfo("Asia/Shanghai"), utc(2026, 11, 30)) == period_named("once", ZoneInfo("UTC"))
    assert period_at(ONCE, ZoneInfo("UTC"), utc(2026, 11, 30)).resets_at is None


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
        pytest.param("America/Toronto", utc(1919, 3, 31, 4), "1919-03-30", utc(1919, 3, 31, 4, 30), id="clocks jump from 23:30 to 00:30"),
        pytest.param("America/St_Johns", utc(2006, 10, 29, 2, 30, 30), "2006-10-29", utc(2006, 10, 30, 3, 30), id="back into yesterday"),
    ],
)
def test_a_day_is_a_local_date_and_ends_where_the_next_begins(zone: str, at: datetime, key: str, resets_at: datetime) -> None:
    period = period_at(DAILY, ZoneInfo(zone), at)

    assert (period.key, period.resets_at) == (key, resets_at)


@settings(max_examples=400, deadline=None)
@given(
    zone=st.sampled_from(ZONES),
    at=st.datetimes(datetime(1995, 1, 1), datetime(2037, 1, 1)),
)
def test_the_key_holds_until_resets_at_and_not_a_second_longer(zone: str, at: datetime) -> None:
    where, moment = ZoneInfo(zone), at.replace(tzinfo=timezone.utc)

    period = period_at(DAILY, where, moment)

    assert period.resets_at is not None
    assert period.resets_at > moment
    assert period_at(DAILY, where, period.resets_at - SECOND).key == period.key
    assert period_at(DAILY, where, period.resets_at).key > period.key
    assert period.resets_at - moment <= timedelta(hours=26)


@given(zone=st.sampled_from(ZONES), at=st.datetimes(datetime(1995, 1, 1), datetime(2037, 1, 1)))
@settings(max_examples=200, deadline=None)
def test_a_period_is_found_again_by_its_key(zone: str, at: datetime) -> None:
    period = period_at(DAILY, ZoneInfo(zone), at.replace(tzinfo=timezone.utc))

    assert period_named(period.key, ZoneInfo(zone)) == period


def test_the_last_day_there_is_has_no_end() -> None:
    assert period_at(DAILY, ZoneInfo("UTC"), datetime(9999, 12, 31, 12, tzinfo=timezone.utc)).resets_at is None


def test_a_period_that_is_not_known_is_a_fault() -> None:
    with pytest.raises(ValueError, match="unknown period"):
        period_at("hourly", ZoneInfo("UTC"), utc(2026, 1, 1))
