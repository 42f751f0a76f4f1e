"""Periods in the user's own time zone, which he may change at any moment: the new zone counts from the next period on.

Pure. The key of such a period says when it begins and ends (20261129T1600Z-20261130T1600Z), so the user's records alone tell which period
he is in, whatever zone he had when it began:

1. While a record's period runs, it is the user's present period; its end does not move.
2. When it is over, the next one begins at that very moment and ends where a period of the present zone ends. If that would be less than
   half a period of that zone, it ends one later: else a user who moves again and again would get a period an hour.
3. From that end on, and for who has no record, periods are those of the present zone.

A period that is found for a moment before an existing record's is cut at that record's beginning. So no two periods overlap.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime, timedelta, timezone
from functools import lru_cache

from apps.tasks.config.limits import FIRST_YEAR, LAST_YEAR
from apps.tasks.evaluation.periods import Clock, PeriodOfTime, compact

_KEY = re.compile(r"([0-9]{8}T[0-9]{4}Z)-([0-9]{8}T[0-9]{4}Z)\Z")
JUST_BEFORE = timedelta(microseconds=1)


def key_of(starts_at: datetime, resets_at: datetime) -> str:
    return f"{compact(starts_at)}-{compact(resets_at)}"


@lru_cache(maxsize=65536)
def period_from_key(key: str) -> PeriodOfTime | None:
    """None for a key that is none of a period in a user's zone. Whoever writes records may write any key."""
    found = _KEY.match(key)
    if found is None:
        return None
    try:
        starts_at, resets_at = (datetime.strptime(each, "%Y%m%dT%H%MZ").replace(tzinfo=timezone.utc) for each in found.groups())
    except ValueError:
        return None
    is_sound = starts_at < resets_at and starts_at.year >= FIRST_YEAR and resets_at.year <= LAST_YEAR
    return PeriodOfTime(key, starts_at, resets_at) if is_sound else None


def user_period_at(clock: Clock, at: datetime, keys: Iterable[str]) -> PeriodOfTime:
    """The user's period at that moment. `clock`: of the zone that he has now; `keys`: of his records of the task."""
    recorded = []
    for key in keys:
        period = period_from_key(key)
        if period is not None:
            if period.holds(at):
                return period
            recorded.append(period)
    begun = [period for period in recorded if _start(period) <= at]
    if not begun:
        return _cut(_full(clock, at), at, recorded)
    last = max(begun, key=_end)
    return _cut(_after(clock, _end(last), at), at, recorded)


def _after(clock: Clock, left_at: datetime, at: datetime) -> PeriodOfTime:
    """The period at `at`, of who left his last recorded one at `left_at`."""
    first = _full(clock, left_at)
    if _start(first) == left_at:
        return _full(clock, at)
    ends_at = _end(first)
    if (ends_at - left_at) * 2 < ends_at - _start(first):
        ends_at = _end(_full(clock, ends_at))
    return _between(left_at, ends_at) if at < ends_at else _full(clock, at)


def _cut(period: PeriodOfTime, at: datetime, recorded: Iterable[PeriodOfTime]) -> PeriodOfTime:
    ends_at = min((_start(other) for other in recorded if at < _start(other) < _end(period)), default=None)
    return period if ends_at is None else _between(_start(period), ends_at)


def _full(clock: Clock, at: datetime) -> PeriodOfTime:
    period = clock.period_at(at)
    return _between(_start(period), _end(period))


def _between(starts_at: datetime, resets_at: datetime) -> PeriodOfTime:
    return PeriodOfTime(key_of(starts_at, resets_at), starts_at, resets_at)


def _start(period: PeriodOfTime) -> datetime:
    assert period.starts_at is not None
    return period.starts_at


def _end(period: PeriodOfTime) -> datetime:
    assert period.resets_at is not None
    return period.resets_at
