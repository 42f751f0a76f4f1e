"""Where one user stands at one moment: his attributes, his records, and for a task the period and the rules that count.

Pure, and made anew for each evaluation: what several tasks need (a period, a list's answer, the records by task) is computed once.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from apps.tasks.evaluation.attributes import Profile, Values
from apps.tasks.evaluation.bundle import Bundle, LiveTask, RulesInUse, clock_in
from apps.tasks.evaluation.periods import Clock, PeriodOfTime, UnknownZone
from apps.tasks.evaluation.release import bucket_of
from apps.tasks.evaluation.user_periods import user_period_at
from workers.protocol import CLAIMED, COMPLETED, Snapshot, TaskRecord

ZONE_ATTRIBUTE = "zone"
"""The attribute that holds the user's own IANA time zone."""

DONE = (COMPLETED, CLAIMED)

TOTAL, POINTS = "total", "points"
"""As quota keys, beside period keys: completions by all users ever, and points given out in all."""

Quotas = Mapping[tuple[int, str], int]
"""What is used up, by the task's number and quota key. What is missing in it has not been used."""


class User:
    """One user at one moment, as the tasks of one bundle see him."""

    __slots__ = (
        "_by_task",
        "_clocks",
        "_members",
        "_only_records",
        "_periods",
        "_periods_without_record",
        "_records",
        "_unmet",
        "_values",
        "bundle",
        "now",
        "profile",
        "quotas",
        "snapshot",
        "uid",
    )

    def __init__(self, bundle: Bundle, profile: Profile, snapshot: Snapshot, now: datetime, quotas: Quotas | None) -> None:
        self.bundle = bundle
        self.profile = profile
        self.uid = profile.uid
        self.snapshot = snapshot
        self.now = now
        self.quotas = quotas
        self._values: Values | None = None
        self._records: dict[tuple[int, str], TaskRecord] | None = None
        self._only_records: dict[int, TaskRecord | None] | None = None
        self._by_task: dict[int, list[TaskRecord]] | None = None
        self._periods: list[PeriodOfTime | None] | None = None
        self._periods_without_record: dict[int, PeriodOfTime] = {}
        self._clocks: dict[int, Clock] = {}
        self._members: dict[str, bool] = {}
        self._unmet: int | None = None

    @property
    def values(self) -> Values:
        """What is known of him, of every attribute."""
        values = self._values
        if values is None:
            values = self._values = self.bundle.registry.read(self.profile.attributes)
        return values

    def without_records(self) -> User:
        """One at the same moment and in the same zone who has done nothing, and meets every condition."""
        snapshot = Snapshot(self.uid, self.snapshot.generation, 0, 0, [])
        nobody = User(self.bundle, self.profile, snapshot, self.now, None)
        nobody._unmet = 0
        return nobody

    def standing(self, task: LiveTask) -> tuple[RulesInUse, PeriodOfTime, TaskRecord | None]:
        """The rules that hold for the user, their present period, and its record. Kept rules hold for who began under them."""
        number = task.number
        for kept in task.kept:
            period = self.period(number, kept.slot)
            record = self.records.get((number, period.key))
            if record is not None and record.revision < kept.before:
                return kept, period, record
        in_use = task.in_use
        period = self.period(number, in_use.slot)
        return in_use, period, self.records.get((number, period.key))

    def period(self, number: int, slot: int) -> PeriodOfTime:
        """The present period of task `number`, whose clock is in `slot`."""
        periods = self._periods
        if periods is None:
            periods = self._periods = [None if clock is None else clock.period_at(self.now) for clock in self.bundle.clocks]
        period = periods[slot]
        return self._period_in_users_zone(number, slot) if period is None else period

    def _period_in_users_zone(self, number: int, slot: int) -> PeriodOfTime:
        records = self.records_of(number)
        if records:
            return user_period_at(self.clock(slot), self.now, [record.period for record in records])
        period = self._periods_without_record.get(slot)
        if period is None:
            period = self._periods_without_record[slot] = user_period_at(self.clock(slot), self.now, ())
        return period

    def clock(self, slot: int) -> Clock:
        """The clock in a slot, for this user's zone where it is the user's."""
        clock = self.bundle.clocks[slot] or self._clocks.get(slot)
        if clock is None:
            period = self.bundle.periods[slot]
            try:
                clock = clock_in(period, self.zone or period.fallback_zone)
            except UnknownZone:
                clock = clock_in(period, period.fallback_zone)
            self._clocks[slot] = clock
        return clock

    @property
    def zone(self) -> str:
        """The user's own; empty when it is not known."""
        given = self.profile.attributes
        zone = self.bundle.registry.read_one(ZONE_ATTRIBUTE, given) or given.get(ZONE_ATTRIBUTE)
        return zone if isinstance(zone, str) else ""

    @property
    def records(self) -> dict[tuple[int, str], TaskRecord]:
        """By task and period."""
        records = self._records
        if records is None:
            records = self._records = {(record.task, record.period): record for record in self.snapshot.tasks}
        return records

    def records_of(self, number: int) -> list[TaskRecord]:
        only = self.only_records
        if number not in only:
            return []
        record = only[number]
        return [record] if record is not None else self._several(number)

    def _several(self, number: int) -> list[TaskRecord]:
        by_task = self._by_task
        if by_task is None:
            by_task = self._by_task = {}
            for record in self.snapshot.tasks:
                by_task.setdefault(record.task, []).append(record)
        return by_task[number]

    @property
    def only_records(self) -> dict[int, TaskRecord | None]:
        """By task, of every task that he has records of; None where he has several."""
        only = self._only_records
        if only is None:
            records = self.snapshot.tasks
            only = self._only_records = {record.task: record for record in records}
            if len(only) < len(records):
                seen: set[int] = set()
                for record in records:
                    if record.task in seen:
                        only[record.task] = None
                    seen.add(record.task)
        return only

    def is_on(self, name: str) -> bool:
        """Whether the user is on the list."""
        found = self._members.get(name)
        if found is None:
            found = self._members[name] = self.uid in self.bundle.lists[name]
        return found

    @property
    def unmet(self) -> int:
        """The bits of all groups of conditions that he does not meet."""
        unmet = self._unmet
        if unmet is None:
            unmet = self._unmet = self.bundle.conditions.unmet(self.profile.attributes)
        return unmet

    def meets_conditions(self, task: LiveTask) -> bool:
        return not task.bits or self.unmet & task.bits != task.bits

    def bucket(self, salt: str) -> int:
        return bucket_of(salt, self.uid)

    def has_done(self, task: LiveTask, state: str) -> bool:
        """Whether the task is completed, or claimed, in its present period. What comes by itself needs no claim."""
        rules, _period, record = self.standing(task)
        if record is None or record.state not in DONE:
            return False
        return state != CLAIMED or record.state == CLAIMED or not rules.by_claim

    def has_begun(self, task: LiveTask) -> bool:
        """Whether he has made progress in it, in its present period."""
        _rules, _period, record = self.standing(task)
        return record is not None and (record.progress > 0 or record.state in DONE)

    def used(self, number: int, key: str) -> int:
        assert self.quotas is not None
        return self.quotas.get((number, key), 0)

    def quota_key(self, rules: RulesInUse, period: PeriodOfTime) -> str:
        """Under which key all users of this period count together. Where the zone is each user's: the fallback zone's period that holds the
        middle of his. So it hangs on the period alone, and what is taken back goes back to where it was counted."""
        if rules.clock is not None:
            return period.key
        document = self.bundle.periods[rules.slot]
        middle = self.now if period.starts_at is None or period.resets_at is None else _middle(period.starts_at, period.resets_at)
        return clock_in(document, document.fallback_zone).period_at(middle).key

    def rules_of_record(self, task: LiveTask, record: TaskRecord) -> tuple[RulesInUse, PeriodOfTime] | None:
        """The rules and the period that a record, of whatever period, was made under; None when none of the task's fits its key."""
        for rules in (*task.kept, task.in_use):
            if rules.before and record.revision >= rules.before:
                continue
            period = rules.period_named(record.period)
            if period.starts_at is not None or rules.rules.period.kind == "once":
                return rules, period
        return None


def _middle(starts_at: datetime, resets_at: datetime) -> datetime:
    return starts_at + (resets_at - starts_at) / 2
