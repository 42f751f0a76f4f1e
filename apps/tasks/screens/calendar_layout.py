"""Where each task stands in the calendar: bars over days, packed into lanes so that none covers another.

Pure: knows spans, a zone and the days that are shown; draws nothing and asks no clock. A lane is handed out as the cells of a table's
row, so that the page needs no coordinates. Widths are counted in days; a name that does not fit its bar gets days beside it.
"""

from __future__ import annotations

import itertools
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta, tzinfo
from typing import Literal

WIDTH_PX = 950
"""How wide the days are drawn together, at least: narrower screens scroll."""
NARROW_PX, WIDE_PX, ROUND_PX = 7, 13, 14
"""A Latin character, a Chinese one, a bar's padding."""
LONGEST_LABEL_PX = 190
ONE_MOMENT = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Span:
    """One task's window. `change`: what the draft that is looked at does to it. `state_word` and `address` are carried for the page."""

    code: str
    name: str
    category: str
    zone: str
    starts_at: datetime
    ends_at: datetime | None
    state: str
    exclusive_group: str = ""
    change: Literal["", "new", "changed"] = ""
    state_word: str = ""
    address: str = ""


@dataclass(frozen=True, slots=True)
class Days:
    """The days that are shown, in the operator's zone."""

    first: date
    count: int
    zone: tzinfo

    @property
    def last(self) -> date:
        return self.first + timedelta(days=self.count - 1)

    def __iter__(self) -> Iterator[date]:
        return (self.first + timedelta(days=number) for number in range(self.count))

    def column_of(self, moment: datetime) -> int:
        """0 for the first day; below or beyond for days that are not shown."""
        return (moment.astimezone(self.zone).date() - self.first).days

    def columns_of(self, span: Span) -> tuple[int, int]:
        """The first and the last day on which it runs. A window ends before its end: at midnight, on the day before."""
        last = self.count if span.ends_at is None else self.column_of(max(span.ends_at - ONE_MOMENT, span.starts_at))
        return self.column_of(span.starts_at), last


@dataclass(frozen=True, slots=True)
class Bar:
    span: Span
    first: int
    last: int
    begins_before: bool
    goes_on: bool
    label_before: int = 0
    """Days beside the bar that its name takes; without any, the name stands inside."""
    label_after: int = 0

    @property
    def length(self) -> int:
        return self.last - self.first + 1

    @property
    def from_column(self) -> int:
        return self.first - self.label_before

    @property
    def to_column(self) -> int:
        return self.last + self.label_after


@dataclass(frozen=True, slots=True)
class Cell:
    """Some days of a lane: those of a bar, of its name, or empty ones."""

    kind: Literal["gap", "bar", "label"]
    days: int
    bar: Bar | None = None
    is_today: bool = False
    begins_week: bool = False


@dataclass(frozen=True, slots=True)
class Group:
    """The tasks of one category."""

    category: str
    lanes: list[list[Cell]]
    through: list[Span] = field(default_factory=list)
    """Those that run on all days shown: a bar of them would say nothing."""


def lay_out(spans: Iterable[Span], days: Days, today: date) -> list[Group]:
    """The groups by category, the tasks without one at the end."""
    by_category: dict[str, list[Span]] = {}
    for span in spans:
        first, last = days.columns_of(span)
        if last >= 0 and first < days.count:
            by_category.setdefault(span.category, []).append(span)
    groups = []
    for category in sorted(by_category, key=lambda name: (not name, name.casefold())):
        bars, through = [], []
        for span in by_category[category]:
            first, last = days.columns_of(span)
            if first <= 0 and last >= days.count - 1:
                through.append(span)
            else:
                bars.append(_bar(span, first, last, days))
        lanes = [list(_cells(lane, days, (today - days.first).days)) for lane in pack(bars)]
        groups.append(Group(category, lanes, sorted(through, key=lambda span: span.code)))
    return groups


def pack(bars: Iterable[Bar]) -> list[list[Bar]]:
    """Each bar into the first lane with room for it, those that begin earlier first and of these the longer ones."""
    lanes: list[list[Bar]] = []
    for bar in sorted(bars, key=lambda bar: (bar.from_column, -bar.length, bar.span.code)):
        for lane in lanes:
            if lane[-1].to_column < bar.from_column:
                lane.append(bar)
                break
        else:
            lanes.append([bar])
    return lanes


def running(spans: Iterable[Span], days: Days) -> list[int]:
    """How many of them run on each day."""
    steps = [0] * (days.count + 1)
    for span in spans:
        first, last = days.columns_of(span)
        if last >= 0 and first < days.count:
            steps[max(first, 0)] += 1
            steps[min(last, days.count - 1) + 1] -= 1
    return list(itertools.accumulate(steps))[:-1]


def monday_of(day: date) -> date:
    return day - timedelta(days=day.weekday())


def weeks_of(days: Days) -> list[tuple[date, int]]:
    """Each week's first day and how many of its days are shown."""
    return [(first, len(list(each))) for first, each in itertools.groupby(days, key=monday_of)]


def months_of(days: Days) -> list[tuple[date, int]]:
    return [(first, len(list(each))) for first, each in itertools.groupby(days, key=lambda day: day.replace(day=1))]


@dataclass(frozen=True, slots=True)
class Clash:
    """Two tasks of one exclusive group that run at the same time: of these a user may do only one."""

    group: str
    one: Span
    other: Span
    starts_at: datetime
    ends_at: datetime | None


def clashes_of(spans: Sequence[Span]) -> list[Clash]:
    found = []
    by_group: dict[str, list[Span]] = {}
    for span in spans:
        if span.exclusive_group:
            by_group.setdefault(span.exclusive_group, []).append(span)
    for group, members in sorted(by_group.items()):
        for one, other in itertools.combinations(sorted(members, key=lambda span: (span.starts_at, span.code)), 2):
            if one.ends_at is None or one.ends_at > other.starts_at:
                ends = [moment for moment in (one.ends_at, other.ends_at) if moment is not None]
                found.append(Clash(group, one, other, other.starts_at, min(ends, default=None)))
    return found


def _bar(span: Span, first: int, last: int, days: Days) -> Bar:
    shown_first, shown_last = max(first, 0), min(last, days.count - 1)
    day_px = WIDTH_PX / days.count
    inside = (shown_last - shown_first + 1) * day_px
    before = after = 0
    wanted_px = (
        min(sum(WIDE_PX if unicodedata.east_asian_width(each) in "WF" else NARROW_PX for each in span.name), LONGEST_LABEL_PX) + ROUND_PX
    )
    if inside < wanted_px and inside < LONGEST_LABEL_PX:
        wanted = int(wanted_px / day_px) + 1
        room_after = days.count - 1 - shown_last
        if room_after >= wanted or room_after >= shown_first:
            after = min(wanted, room_after)
        else:
            before = min(wanted, shown_first)
    return Bar(span, shown_first, shown_last, first < 0, last >= days.count, before, after)


def _cells(lane: Sequence[Bar], days: Days, today: int) -> Iterator[Cell]:
    column = 0
    for bar in lane:
        yield from _gap(column, bar.from_column, days, today)
        if bar.label_before:
            yield Cell("label", bar.label_before, bar)
        yield Cell("bar", bar.length, bar)
        if bar.label_after:
            yield Cell("label", bar.label_after, bar)
        column = bar.to_column + 1
    yield from _gap(column, days.count, days, today)


def _gap(start: int, end: int, days: Days, today: int) -> Iterator[Cell]:
    """Empty days, cut where a week begins and around today, which the page marks."""
    cuts = {start, end}
    cuts |= {column for column in range(start, end) if (days.first + timedelta(days=column)).weekday() == 0}
    cuts |= {column for column in (today, today + 1) if start < column < end}
    for first, after in itertools.pairwise(sorted(cuts)):
        begins_week = (days.first + timedelta(days=first)).weekday() == 0
        yield Cell("gap", after - first, is_today=first == today and after == today + 1, begins_week=begins_week)
