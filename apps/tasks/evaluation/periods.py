"""Which period a moment belongs to, and when the next begins.

Pure. Nothing resets: the period key is computed from the event's own time, so late events land where they belong.

A repeating period begins at a local time on certain dates (every day, on Mondays, on the 31st or the month's last day, …). The moment of
that local time is the first at which the clocks on the wall show it or a later time. So a period has 23, 24.5 or 25 hours where clocks
change, begins at 01:00 where midnight was skipped, and a date that never was (Apia, 30 December 2011) has none. Those moments only rise,
and a period lasts from one to the next: every moment belongs to exactly one, also in an hour that comes twice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, timezone
from functools import lru_cache
from zoneinfo import ZoneInfo

from apps.tasks.config.documents import Period
from apps.tasks.config.limits import MAX_EVERY_DAYS

UTC = timezone.utc
EPOCH_DAY = date(1970, 1, 1)
"""Where periods of several days are counted from when no anchor is given."""


@dataclass(frozen=True, slots=True)
class PeriodOfTime:
    """A period's key, its first moment and the first moment after it (None: it never began, it never ends)."""

    key: str
    starts_at: datetime | None
    resets_at: datetime | None

    def holds(self, at: datetime) -> bool:
        return (self.starts_at is None or self.starts_at <= at) and (self.resets_at is None or at < self.resets_at)


WHOLE_LIFE = PeriodOfTime("once", None, None)


class UnknownZone(ValueError):
    """This host's time zone data does not know the zone."""


@lru_cache(maxsize=1024)
def zone_named(name: str) -> ZoneInfo:
    """Raises UnknownZone."""
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, KeyError) as error:
        raise UnknownZone(f"time zone {name!r} is not known here") from error


def is_zone(name: str) -> bool:
    try:
        zone_named(name)
    except UnknownZone:
        return False
    return True


class Clock:
    """The periods of one kind in one zone: which one a moment belongs to, and which one has a certain key."""

    def period_at(self, at: datetime) -> PeriodOfTime:
        raise NotImplementedError

    def period_named(self, key: str) -> PeriodOfTime:
        """The period that has this key. A key that none has (an operator changed the task's period) is taken as one without bounds."""
        raise NotImplementedError


class WholeLife(Clock):
    """`once`."""

    def period_at(self, at: datetime) -> PeriodOfTime:
        return WHOLE_LIFE

    def period_named(self, key: str) -> PeriodOfTime:
        return PeriodOfTime(key, None, None)


class Window(Clock):
    """`window`: a single period. Its key says when it begins: a task that is offered again at another time begins anew."""

    def __init__(self, starts_at: datetime, ends_at: datetime | None) -> None:
        self._period = PeriodOfTime(f"window-{compact(starts_at)}", starts_at, ends_at)

    def period_at(self, at: datetime) -> PeriodOfTime:
        return self._period

    def period_named(self, key: str) -> PeriodOfTime:
        return self._period if key == self._period.key else PeriodOfTime(key, None, None)


class Repeating(Clock):
    """Periods that follow each other for ever. They are numbered; `date_of` a number is the local date on which that period begins.

    `number_near` a date is the number of a period that begins on it or before.
    """

    def __init__(
        self, prefix: str, zone: ZoneInfo, resets: time, date_of: Callable[[int], date], number_near: Callable[[date], int]
    ) -> None:
        self.zone = zone
        self._prefix = prefix
        self._resets = resets
        self._date_of = date_of
        self._number_near = number_near
        # The period asked for last: nearly always the one that is asked for next. One assignment, so threads may share it.
        self._last = WHOLE_LIFE

    def period_at(self, at: datetime) -> PeriodOfTime:
        last = self._last
        if last is not WHOLE_LIFE and last.holds(at):
            return last
        near = self._number_near(at.astimezone(self.zone).date())
        # The next date's period has begun already only where clocks go back over its beginning; this date's may begin later today.
        for number in range(near + 1, near - 3, -1):
            starts_at = self._start_of(number)
            if starts_at is not None and starts_at <= at:
                self._last = period = PeriodOfTime(self._key_of(number), starts_at, self._start_of(number + 1))
                return period
        raise AssertionError(f"no period begins before {at.isoformat()} in {self.zone.key}")

    def period_named(self, key: str) -> PeriodOfTime:
        number = self.number_of(key)
        if number is None:
            return PeriodOfTime(key, None, None)
        return PeriodOfTime(key, self._start_of(number), self._start_of(number + 1))

    def number_of(self, key: str) -> int | None:
        """None for a key that no period of this clock has."""
        try:
            number = self._number_near(date.fromisoformat(key.removeprefix(self._prefix)))
            return number if self._key_of(number) == key else None
        except (ValueError, OverflowError):
            return None

    def never_was(self, number: int) -> bool:
        """Whether the period has no moment: its day was skipped."""
        return self._start_of(number) == self._start_of(number + 1)

    def _key_of(self, number: int) -> str:
        return f"{self._prefix}{self._date_of(number).isoformat()}"

    def _start_of(self, number: int) -> datetime | None:
        """None past the last day there is, 31 December 9999."""
        try:
            return moment_of(self.zone, datetime.combine(self._date_of(number), self._resets))
        except (OverflowError, ValueError):
            return None


def clock_of(period: Period, zone: ZoneInfo, starts_at: datetime, ends_at: datetime | None) -> Clock:
    """The clock of a task's period, in this zone. The task's window counts only where the period is the window.

    Raises ValueError for what is no period: such a clock would fail later, for every user.
    """
    if period.kind == "once":
        return WholeLife()
    if period.kind == "window":
        return Window(starts_at, ends_at)
    resets = time.fromisoformat(period.resets_at)
    numbers_fit = 1 <= period.every_days <= MAX_EVERY_DAYS and 1 <= period.month_day <= 31 and 1 <= period.week_starts_on <= 7
    if resets.tzinfo is not None or not numbers_fit:
        raise ValueError(f"no period repeats like this: {period}")
    if period.kind == "daily":
        return Repeating("", zone, resets, date.fromordinal, date.toordinal)
    if period.kind == "weekly":
        return _every_days("week-", zone, resets, 7, date.fromordinal(period.week_starts_on))  # 1 January of year 1 was a Monday
    if period.kind == "every_days":
        return _every_days("days-", zone, resets, period.every_days, period.anchor or EPOCH_DAY)
    return Repeating("month-", zone, resets, lambda number: _day_of_month(number, period.month_day), _month_begun_by(period.month_day))


def _every_days(prefix: str, zone: ZoneInfo, resets: time, days: int, anchor: date) -> Repeating:
    first = anchor.toordinal()
    return Repeating(
        prefix, zone, resets, lambda number: date.fromordinal(first + number * days), lambda day: (day.toordinal() - first) // days
    )


def _day_of_month(number: int, wanted: int) -> date:
    """The day `wanted` of a month (number: months since year 0), or the month's last day where it is shorter."""
    year, month = divmod(number, 12)
    following = date(year + 1, 1, 1) if month == 11 else date(year, month + 2, 1)
    return date(year, month + 1, min(wanted, (following - timedelta(days=1)).day))


def _month_begun_by(wanted: int) -> Callable[[date], int]:
    def number(day: date) -> int:
        this = day.year * 12 + day.month - 1
        return this if _day_of_month(this, wanted) <= day else this - 1

    return number


@lru_cache(maxsize=8192)
def moment_of(zone: ZoneInfo, local: datetime) -> datetime:
    """The first moment at which the clocks of the zone show the local time `local` or a later one."""
    moment = local.replace(tzinfo=zone, fold=0).astimezone(UTC)
    if moment.astimezone(zone).replace(tzinfo=None) == local:
        return moment
    return _moment_of_the_jump(local, zone)


def _moment_of_the_jump(skipped: datetime, zone: ZoneInfo) -> datetime:
    """When the clocks jumped over the local time `skipped`.

    With fold=1 a skipped time is read with the offset after the jump, with fold=0 with the one before it: as moments, the first lies
    before the jump or at it, the second after it or at it. Between them we halve until one second is left.
    """
    before = int(skipped.replace(tzinfo=zone, fold=1).timestamp()) - 1
    after = int(skipped.replace(tzinfo=zone, fold=0).timestamp())
    offset_after = datetime.fromtimestamp(after, zone).utcoffset()
    while after - before > 1:
        middle = (before + after) // 2
        if datetime.fromtimestamp(middle, zone).utcoffset() == offset_after:
            after = middle
        else:
            before = middle
    return datetime.fromtimestamp(after, UTC)


def compact(moment: datetime) -> str:
    """A moment as period keys hold it, to the minute: 20261130T1600Z."""
    return moment.astimezone(UTC).strftime("%Y%m%dT%H%MZ")
