"""A bundle, loaded: everything looked up, compiled and shared once, so that a user is evaluated in well under a millisecond.

Pure. A bundle that is no bundle raises BadBundle, and the caller keeps the one he has. A task that this host cannot use (its time zone data
is older than the publisher's) is left out alone, and `left_out` says why: one bad task never takes the others away.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Any, TypeAlias

import msgspec

from apps.tasks.config.bundle_document import SCHEMA, BundleDocument, PublishedTask, Rules, decode_bundle, rules_of
from apps.tasks.config.documents import USER_ZONE, WHOLE, Period
from apps.tasks.config.limits import LAST_YEAR, MAX_CLAIM_GRACE_S
from apps.tasks.evaluation.attributes import NotOfType, Registry
from apps.tasks.evaluation.conditions import Groups, Table, compile_groups
from apps.tasks.evaluation.feeds import compile_feeds, registries_of
from apps.tasks.evaluation.periods import Clock, PeriodOfTime, Window, clock_of, zone_named
from apps.tasks.evaluation.release import Members, Share
from apps.tasks.evaluation.user_periods import period_from_key
from workers.protocol import TaskRecord


class BadTask(ValueError):
    """The task makes no sense."""


class BadBundle(ValueError):
    """These bytes are no bundle that this version understands. Keep the last good one."""


@dataclass(frozen=True, slots=True)
class RulesInUse:
    """What a task asks and gives, with the clock of its periods. `before`: they hold for records begun in an earlier revision (0: any).

    `slot`: the place of the clock among those that tasks of this bundle share; `clock` is None where the zone is the user's.
    """

    rules: Rules
    target: int
    points: int
    by_claim: bool
    accept_first: bool
    is_streak: bool
    slot: int
    clock: Clock | None
    before: int = 0

    def period_named(self, key: str) -> PeriodOfTime:
        """The period of these rules that has this key; one without bounds when none has it."""
        if self.clock is None:
            return period_from_key(key) or PeriodOfTime(key, None, None)
        return self.clock.period_named(key)


@dataclass(frozen=True, slots=True, eq=False)
class LiveTask:
    """A task as the evaluator takes it. `starts_at` is also not before `counts_from`."""

    number: int
    code: str
    document: PublishedTask
    starts_at: datetime
    ends_at: datetime | None
    switched_off: bool
    in_use: RulesInUse
    kept: tuple[RulesInUse, ...]
    groups: Groups
    bits: int
    """Those of its groups in the bundle's table of conditions; 0 where it has no groups."""
    feeds: Mapping[str, Groups]
    """By event type: the filters over the event's attributes, of which one must hold."""
    share: Share | None
    """None: everybody."""
    has_relations: bool
    """Whether it depends on other tasks of the user."""
    has_caps: bool
    is_same_for_all: bool
    """Whether nothing but the moment, his attributes and his records of this very task decides what a user may do."""
    needs_records: bool
    """Whether what the user has done decides how a change of it is made: his zone's period, kept rules, a streak, acceptance."""
    may_be_claimed_later: bool
    """Whether a reward of an earlier period may still be claimed."""
    looks_back: bool
    """Whether records of other periods than the present one have a say in a decision."""
    words: dict[str | tuple[str, str, str, bool], tuple[bytes, ...]] = field(default_factory=dict)
    """What the API has encoded of it and is the same for many users. The evaluator does not look at it."""


Alike: TypeAlias = TaskRecord | tuple[int, str, str, int, int]
"""What many users have in common: a record, or of a completed one all but its revision and its moments."""


@dataclass(frozen=True, slots=True, eq=False)
class Bundle:
    """One revision, ready to be evaluated. Tasks are in the order of their codes."""

    revision: int
    published_at: datetime
    tasks: tuple[LiveTask, ...]
    by_code: Mapping[str, LiveTask]
    by_number: Mapping[int, LiveTask]
    places: Mapping[int, int]
    """In `tasks`, by number."""
    by_weight: tuple[int, ...]
    """Places in `tasks`: what weighs most first, else by code."""
    ranks: tuple[int, ...]
    """By place in `tasks`: the place in `by_weight`."""
    registry: Registry
    lists: Mapping[str, Members]
    groups: Mapping[str, tuple[LiveTask, ...]]
    """The tasks of each exclusive group."""
    sequences: Mapping[str, tuple[LiveTask, ...]]
    """The tasks of each sequence, by position."""
    listeners: Mapping[str, tuple[LiveTask, ...]]
    """By event type: the tasks that it may feed, what weighs most first."""
    events: Mapping[str, Registry]
    """By event type: how its attributes are read."""
    clocks: tuple[Clock | None, ...]
    """By slot; None where the zone is the user's."""
    periods: tuple[Period, ...]
    """By slot."""
    left_out: Mapping[str, str]
    """Code and sentence of each task that cannot be used here."""
    document: BundleDocument
    conditions: Table
    """Those of all tasks."""
    has_users_zones: bool
    """Whether a task has, or had, its periods in each user's own zone."""
    in_users_zones: int
    """How many tasks have them there now."""
    stretches: dict[str, Any] = field(default_factory=dict)
    """What `stretches` keeps: by the user's zone, what is decided for everybody until the next moment at which something changes."""
    alike: dict[Alike, Any] = field(default_factory=dict)
    """And the decisions on records that many users have."""


def load_bundle(data: bytes) -> Bundle:
    """Raises BadBundle."""
    try:
        document = decode_bundle(data)
        asked = (row.attribute for task in document.tasks for group in task.conditions for row in group)
        registry = Registry(document.attributes, asked)
        events = registries_of(document.events, document.tasks)
    except (msgspec.MsgspecError, UnicodeDecodeError, NotOfType, RecursionError) as error:
        raise BadBundle(f"the bundle cannot be read: {error}") from error
    if document.schema != SCHEMA:
        raise BadBundle(f"the bundle has schema {document.schema}; this version reads {SCHEMA}")
    try:
        members = {name: Members(each.uids) for name, each in document.lists.items()}
    except OverflowError as error:
        raise BadBundle("a list holds what is no uid") from error
    slots, table = _Slots(), Table(registry)
    tasks: list[LiveTask] = []
    left_out: dict[str, str] = {}
    for each in document.tasks:
        try:
            tasks.append(_compile(each, registry, events, document.lists, slots, table))
        except ValueError as error:  # UnknownZone, BadCondition, BadTask among them
            left_out[each.code] = str(error)
    by_weight = tuple(sorted(range(len(tasks)), key=lambda place: -tasks[place].document.weight))
    return Bundle(
        revision=document.revision,
        published_at=document.published_at,
        tasks=tuple(tasks),
        by_code={task.code: task for task in tasks},
        by_number={task.number: task for task in tasks if task.number},
        places={task.number: place for place, task in enumerate(tasks) if task.number},
        by_weight=by_weight,
        ranks=tuple(sorted(range(len(tasks)), key=by_weight.__getitem__)),
        registry=registry,
        lists=members,
        groups=_grouped(tasks, lambda task: task.document.exclusive_group),
        sequences=_grouped(sorted(tasks, key=lambda task: task.document.position), lambda task: task.document.sequence),
        listeners=_listeners(tasks),
        events=events,
        clocks=tuple(slots.clocks),
        periods=tuple(slots.periods),
        left_out=left_out,
        document=document,
        conditions=table,
        has_users_zones=None in slots.clocks,
        in_users_zones=sum(1 for task in tasks if task.in_use.clock is None),
    )


class _Slots:
    """Tasks whose periods are alike share one clock, and in an evaluation one period."""

    def __init__(self) -> None:
        self.clocks: list[Clock | None] = []
        self.periods: list[Period] = []
        self._places: dict[tuple[Period, datetime | None, datetime | None], int] = {}

    def place_of(self, period: Period, starts_at: datetime, ends_at: datetime | None) -> int:
        is_window = period.kind == "window"
        if period.kind in ("once", "window"):
            period = msgspec.structs.replace(period, zone="UTC")  # no zone has a say in these
        key = (period, starts_at if is_window else None, ends_at if is_window else None)
        place = self._places.get(key)
        if place is None:
            clock: Clock | None
            if is_window:
                clock = Window(starts_at, ends_at)
            elif period.zone == USER_ZONE:
                clock = None
                clock_in(period, period.fallback_zone)  # it must exist here
            else:
                clock = clock_in(period, period.zone)
            place = self._places[key] = len(self.clocks)
            self.clocks.append(clock)
            self.periods.append(period)
        return place


@lru_cache(maxsize=4096)
def clock_in(period: Period, zone: str) -> Clock:
    """The clock of a period that is no window. Raises UnknownZone."""
    return clock_of(period, zone_named(zone), _NEVER, None)


_NEVER = datetime.min


def _compile(
    task: PublishedTask, registry: Registry, events: Mapping[str, Registry], lists: Mapping[str, object], slots: _Slots, table: Table
) -> LiveTask:
    release = task.release
    unknown = [name for name in (*release.allow, *release.deny) if name not in lists]
    if unknown:
        raise BadTask(f"there is no list {', '.join(unknown)}")
    if task.starts_at.tzinfo is None or (task.ends_at is not None and task.ends_at.tzinfo is None):
        raise BadTask("a moment has no offset")
    if task.ends_at is not None and task.ends_at.year > LAST_YEAR:
        raise BadTask("it ends later than calendars go")
    is_open = release.percentage_bp >= WHOLE and not release.deny
    share = None if is_open else Share(release.percentage_bp, release.salt or task.code, release.allow, release.deny)
    caps = task.caps
    in_use = _in_use(rules_of(task), task, slots)
    kept = tuple(_in_use(rules, task, slots, rules.before) for rules in task.kept)
    has_caps = any(cap is not None for cap in (caps.per_user, caps.total, caps.per_period, caps.points_budget))
    has_relations = bool(task.prerequisites or task.exclusive_group or task.sequence)
    groups = compile_groups(task.conditions, registry)
    may_be_claimed_later = any(rules.by_claim and rules.rules.claim.grace_s for rules in (in_use, *kept))
    return LiveTask(
        number=task.number,
        code=task.code,
        document=task,
        starts_at=max(task.starts_at, task.counts_from) if task.counts_from else task.starts_at,
        ends_at=task.ends_at,
        switched_off=task.switched_off,
        in_use=in_use,
        kept=kept,
        groups=groups,
        feeds=compile_feeds(task, events),
        bits=table.add(groups),
        share=share,
        has_relations=has_relations,
        needs_records=has_relations or bool(kept) or in_use.is_streak or in_use.accept_first or in_use.clock is None,
        has_caps=has_caps,
        is_same_for_all=share is None and not has_relations and not has_caps,
        may_be_claimed_later=may_be_claimed_later,
        looks_back=bool(kept) or may_be_claimed_later or in_use.is_streak or in_use.clock is None,
    )


def _in_use(rules: Rules, task: PublishedTask, slots: _Slots, before: int = 0) -> RulesInUse:
    if rules.streak is not None and rules.streak.length < 1:
        raise BadTask("a streak has no length")
    if not 0 <= rules.claim.grace_s <= MAX_CLAIM_GRACE_S:
        raise BadTask("a reward cannot be claimed for so long")
    slot = slots.place_of(rules.period, rules.window_starts_at or task.starts_at, task.ends_at)
    return RulesInUse(
        rules=rules,
        target=rules.tiers[-1].target if rules.kind == "tiers" and rules.tiers else rules.target,
        points=sum(tier.points for tier in rules.tiers) if rules.kind == "tiers" else rules.points,
        by_claim=rules.claim.mode == "by_claim",
        accept_first=rules.claim.mode == "accept_first",
        is_streak=rules.kind == "streak" and rules.streak is not None,
        slot=slot,
        clock=slots.clocks[slot],
        before=before,
    )


def _listeners(tasks: Iterable[LiveTask]) -> dict[str, tuple[LiveTask, ...]]:
    listening: dict[str, list[LiveTask]] = {}
    for task in sorted(tasks, key=lambda task: -task.document.weight):
        for event in task.feeds:
            listening.setdefault(event, []).append(task)
    return {event: tuple(each) for event, each in listening.items()}


def _grouped(tasks: Iterable[LiveTask], name_of: Callable[[LiveTask], str]) -> dict[str, tuple[LiveTask, ...]]:
    grouped: dict[str, list[LiveTask]] = {}
    for task in tasks:
        if name := name_of(task):
            grouped.setdefault(name, []).append(task)
    return {name: tuple(each) for name, each in grouped.items()}
