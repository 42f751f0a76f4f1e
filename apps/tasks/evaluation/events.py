"""What one event does: which tasks it feeds, with the change of each, and why others that listen are not fed.

Pure. The user stands where he stands before the event, at the event's own time: what one task becomes by it does not count for another.
Of an exclusive group that has not begun, the task that weighs most is fed. A task whose filter the event does not satisfy does not listen,
and nothing is said of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from apps.tasks.evaluation import reasons as why
from apps.tasks.evaluation.attributes import Values
from apps.tasks.evaluation.bundle import Bundle, LiveTask, RulesInUse
from apps.tasks.evaluation.changes import member_of, progress, reasons_against_progress
from apps.tasks.evaluation.conditions import lacking
from apps.tasks.evaluation.decisions import Decision, decide
from apps.tasks.evaluation.reasons import Reason
from apps.tasks.evaluation.standing import DONE, User
from workers.protocol import CLAIMED, Change


@dataclass(frozen=True, slots=True)
class Event:
    """What a logic server tells of a user. `value` is what modes add, max and set take; `attributes` are the event's own."""

    type: str
    value: int = 1
    attributes: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Fed:
    decision: Decision
    change: Change


@dataclass(frozen=True, slots=True)
class NotFed:
    task: LiveTask
    reasons: tuple[Reason, ...]


@dataclass(frozen=True, slots=True)
class Feeding:
    """One event's work: the tasks that it feeds, and those that listen in vain."""

    fed: tuple[Fed, ...]
    not_fed: tuple[NotFed, ...]

    @property
    def changes(self) -> list[Change]:
        return [each.change for each in self.fed]


def is_registered(bundle: Bundle, event_type: str) -> bool:
    """A configuration that registers no event types says nothing about them."""
    return event_type in bundle.document.events or not bundle.document.events


def feed(event: Event, user: User, received_at: datetime) -> Feeding:
    """`user` is seen at the event's time; `received_at` is now."""
    fed: list[Fed] = []
    not_fed: list[NotFed] = []
    taken: dict[str, LiveTask] = {}
    listeners = user.bundle.listeners.get(event.type, ())
    values = user.bundle.events[event.type].read(event.attributes) if listeners else {}
    late_s = (received_at - user.now).total_seconds()
    for task in listeners:
        if lacking(task.feeds[event.type], values):
            continue
        decision = decide(task, user)
        member = _member(decision.rules, event, values)
        against = _against(decision, user, member, late_s) or _taken(task, user, taken)
        if against:
            not_fed.append(NotFed(task, against))
            continue
        fed.append(Fed(decision, progress(decision, user, event.value, member)))
        taken.setdefault(task.document.exclusive_group, task)
    return Feeding(tuple(fed), tuple(not_fed))


def _member(rules: RulesInUse, event: Event, values: Values) -> str:
    """The value that mode distinct counts; empty where the event does not say it, or says it as another type."""
    name = rules.rules.distinct_by
    return "" if not name or values.get(name) is None else member_of(event.attributes.get(name))


def _against(decision: Decision, user: User, member: str, late_s: float) -> tuple[Reason, ...]:
    task, rules = decision.task, decision.rules.rules
    found = reasons_against_progress(decision)
    if late_s > task.document.late_window_s:
        found += (Reason(why.TOO_LATE, "", "<=", task.document.late_window_s, int(late_s)),)
    if rules.mode == "distinct" and not member:
        found += (Reason(why.MEMBER_MISSING, rules.distinct_by),)
    if not found and _is_over(decision, user):
        found = (Reason(why.ALREADY_DONE),)
    return found


def _is_over(decision: Decision, user: User) -> bool:
    """Whether nothing that comes can change what the record says: it is done, and what it gave is never taken back.

    Else progress past the target counts: who bought four and returns one still has three.
    """
    record = user.records.get((decision.task.number, decision.period.key))
    if record is None or record.state not in DONE or decision.task.document.revert_takes_back:
        return False
    return record.state == CLAIMED or record.granted > 0


def _taken(task: LiveTask, user: User, taken: Mapping[str, LiveTask]) -> tuple[Reason, ...]:
    """Another task of its exclusive group is fed by this very event."""
    group = task.document.exclusive_group
    if not group or group not in taken or user.has_begun(task):
        return ()
    return (Reason(why.EXCLUSIVE_GROUP, group, "", None, taken[group].code),)
