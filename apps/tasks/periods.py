"""Which day a record belongs to, and when the next begins.

Pure. Nothing resets at midnight: the period key is computed from the event's own time, so late events land where they belong.
A day of a daily task is a local date in the task's zone. `resets_at` is the first moment that has another key, also where clocks
change: a day may have 23, 24.5 or 25 hours, begin at 01:00 because midnight was skipped, or not exist at all.
Where clocks went back over midnight into yesterday (last in Newfoundland in 2011), yesterday's date comes again for an hour;
`resets_at` passes over that hour.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, timezone
from zoneinfo import ZoneInfo

ONCE, DAILY = "once", "daily"


@dataclass(frozen=True, slots=True)
class PeriodOfTime:
    """The key of a period and the first moment after it (None: it never ends)."""

    key: str
    resets_at: datetime | None


WHOLE_LIFE = PeriodOfTime("once", None)


def period_at(period: str, zone: ZoneInfo, at: datetime) -> PeriodOfTime:
    """The period in which the moment `at` (with a zone of its own) lies."""
    if period == ONCE:
        return WHOLE_LIFE
    if period == DAILY:
        local = at.astimezone(zone)
        return PeriodOfTime(local.date().isoformat(), _end_of_day(local, zone))
    raise ValueError(f"unknown period {period!r}")


def period_named(key: str, zone: ZoneInfo) -> PeriodOfTime:
    """The period that has this key. A key that no period has (an operator changed the task's period) is taken as one without end."""
    try:
        day = date.fromisoformat(key)
    except ValueError:
        return PeriodOfTime(key, None)
    return PeriodOfTime(key, _end_of_day(datetime.combine(day, time(12), tzinfo=zone), zone))


def _end_of_day(local: datetime, zone: ZoneInfo) -> datetime | None:
    try:
        next_date = local.date() + timedelta(days=1)
    except OverflowError:  # the last day of year 9999
        return None
    for fold in (0, 1):
        midnight = datetime.combine(next_date, time.min, tzinfo=zone).replace(fold=fold)
        in_utc = midnight.astimezone(timezone.utc)
        exists = in_utc.astimezone(zone).replace(tzinfo=None) == midnight.replace(tzinfo=None)
        if not exists:
            return _moment_of_the_jump(next_date, zone)
        # Where clocks went back over midnight, the same date comes twice; midnight with fold=0 may already lie behind us.
        if in_utc > local.astimezone(timezone.utc):
            return in_utc
    raise AssertionError(f"no end of the day {local.isoformat()} in {zone.key}")


def _moment_of_the_jump(skipped: date, zone: ZoneInfo) -> datetime:
    """When the clocks jumped over the midnight that begins the date `skipped`.

    With fold=1 a skipped time is read with the offset after the jump, with fold=0 with the one before it: as moments, the first lies
    before the jump or at it, the second after it or at it. Between them we halve until one second is left.
    """
    midnight = datetime.combine(skipped, time.min, tzinfo=zone)
    before = int(midnight.replace(fold=1).astimezone(timezone.utc).timestamp()) - 1
    after = int(midnight.replace(fold=0).astimezone(timezone.utc).timestamp())
    offset_after = datetime.fromtimestamp(after, zone).utcoffset()
    while after - before > 1:
        middle = (before + after) // 2
        if datetime.fromtimestamp(middle, zone).utcoffset() == offset_after:
            after = middle
        else:
            before = middle
    return datetime.fromtimestamp(after, timezone.utc)
