"""A step of a user in one task, as the write carries it: the change, with the rules that decide travelling along.

Pure. Whether the user may take the step is said beside it, in reasons; the change is made all the same, since a repeated event is owed the
answer of its first time whatever stands against it now. The write decides what only the single writer can know: the present progress,
caps, what was granted.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from apps.tasks.evaluation import reasons as why
from apps.tasks.evaluation.bundle import LiveTask, RulesInUse
from apps.tasks.evaluation.decisions import Decision, claim_ends_at, decide, has_tier_to_claim, is_in_time, points_to_claim
from apps.tasks.evaluation.periods import PeriodOfTime
from apps.tasks.evaluation.reasons import Reason
from apps.tasks.evaluation.standing import POINTS, TOTAL, User
from workers.protocol import CLAIMED, COMPLETED, MAX_EXCLUDES, MAX_MEMBER, Change, TaskRecord

AHEAD = timedelta(days=1)
"""More than an event may come before the moment at which it says that it happened."""


@dataclass(frozen=True, slots=True)
class Step:
    """What is asked of one task: the change, the rules and the period that it was made under, and what stands against it."""

    task: LiveTask
    rules: RulesInUse
    period: PeriodOfTime
    change: Change
    reasons: tuple[Reason, ...]


def complete(task: LiveTask, user: User) -> Step:
    decision = decide(task, user)
    return _of_decision(decision, user, reasons_against_progress(decision), op="complete")


def accept(task: LiveTask, user: User) -> Step:
    decision = decide(task, user)
    against = _against(decision) if decision.rules.accept_first else (Reason(why.NO_ACCEPT),)
    return _of_decision(decision, user, against, op="accept", needs_record=False)


def claim(task: LiveTask, user: User, key: str | None = None) -> Step:
    """Of the present period, or of the one with this key. What was completed may be claimed, whatever has become of the task since."""
    rules, period, record = _standing_in(task, user, key)
    points = 0 if record is None else points_to_claim(task, user, rules, period, record)
    until = claim_ends_at(task, rules, period)
    against: tuple[Reason, ...] = ()
    if not rules.by_claim:
        against = (Reason(why.NO_CLAIM),)
    elif record is not None and record.state == CLAIMED:
        against = (Reason(why.ALREADY_CLAIMED),)
    elif record is None or not (record.state == COMPLETED or has_tier_to_claim(rules, record)):
        against = (Reason(why.NOT_COMPLETED),)
    elif not is_in_time(user, until):
        against = (Reason(why.CLAIM_OVER, "", "before", until, user.now),)
    change = change_of(task, user, rules, period, record, op="claim", points=points)
    return Step(task, rules, period, change, against)


def revert(
    task: LiveTask,
    user: User,
    key: str | None = None,
    value: int = 1,
    member: object = None,
    grants_kept_since: datetime | None = None,
) -> Step:
    """Takes progress back, in the present period or the one with this key, whether or not the task still runs.

    Grants that were made before `grants_kept_since` may be gone (None: none is). Points are taken back only where all of the record's are
    surely there: what is not found would not be taken, and would be earned once more. Else the completion stands, as without taking back.
    """
    rules, period, record = _standing_in(task, user, key)
    mode, text = rules.rules.mode, member_of(member)
    against: tuple[Reason, ...] = ()
    if record is None:
        against = (Reason(why.NOT_BEGUN),)
    elif mode == "distinct" and not text:
        against = (Reason(why.MEMBER_MISSING, rules.rules.distinct_by),)
    step = {"member": text} if mode == "distinct" else {"value": value}
    points = 0 if record is None else points_to_claim(task, user, rules, period, record)
    takes_back = task.document.revert_takes_back and not _may_be_gone(rules, period, record, grants_kept_since)
    change = change_of(task, user, rules, period, record, op="revert", mode=mode, points=points, takes_back=takes_back, **step)
    return Step(task, rules, period, change, against)


def _may_be_gone(rules: RulesInUse, period: PeriodOfTime, record: TaskRecord | None, kept_since: datetime | None) -> bool:
    """Whether some of what the record has given was made before that moment, as far as the record and its period tell."""
    if kept_since is None or record is None or not record.granted:
        return False
    if rules.rules.kind != "tiers" and record.completed_at is not None:
        return record.completed_at < kept_since.timestamp() * 1000  # given then, or at the claim that followed
    return period.starts_at is None or period.starts_at - AHEAD < kept_since


def progress(decision: Decision, user: User, value: int, member: str) -> Change:
    """What an event does to a task that it feeds; `member` is that of mode distinct."""
    mode = decision.rules.rules.mode
    step = {"member": member} if mode == "distinct" else {"value": value}
    return _of_decision(decision, user, (), op=mode, **step).change


def reasons_against_progress(decision: Decision) -> tuple[Reason, ...]:
    against = _against(decision)
    return against if decision.is_accepted else (*against, Reason(why.NOT_ACCEPTED))


def member_of(value: object) -> str:
    """As it is counted by mode distinct; empty for what cannot be counted. 5 and 5.0 are one. A text that is long, or cannot be printed,
    goes by its digest."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    text = str(value) if isinstance(value, str | int | float) else ""
    if len(text) <= MAX_MEMBER and text.isprintable():
        return text
    return "sha256:" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def change_of(
    task: LiveTask, user: User, rules: RulesInUse, period: PeriodOfTime, record: TaskRecord | None, *, points: int, **step: Any
) -> Change:
    """`points`: what completing the record gives, or claiming it; of tiers each says its own."""
    is_tiers = rules.rules.kind == "tiers"
    return Change(
        task=task.number,
        period=period.key,
        target=rules.target,
        points=0 if is_tiers else points,
        revision=record.revision if record is not None and rules.before else user.bundle.revision,
        tiers=tuple((tier.target, tier.points) for tier in rules.rules.tiers) if is_tiers else (),
        by_claim=rules.by_claim,
        caps=caps_of(task, user, rules, period) if task.has_caps else {},
        **step,
    )


def caps_of(task: LiveTask, user: User, rules: RulesInUse, period: PeriodOfTime) -> dict[str, int]:
    """The caps that all users share, by quota key. What one user has done shows in his record."""
    caps, limits = task.document.caps, {}
    if caps.total is not None:
        limits[TOTAL] = caps.total
    if caps.per_period is not None:
        limits[user.quota_key(rules, period)] = caps.per_period
    if caps.points_budget is not None:
        limits[POINTS] = caps.points_budget
    return limits


def others_of_group(task: LiveTask, user: User) -> tuple[tuple[int, str], ...]:
    """The records that must not have begun. None when this task has begun: who began two in a race may go on with both."""
    others = user.bundle.groups.get(task.document.exclusive_group, ())
    if len(others) < 2 or user.has_begun(task):
        return ()
    return tuple((other.number, user.standing(other)[1].key) for other in others if other is not task)[:MAX_EXCLUDES]


def _of_decision(decision: Decision, user: User, against: tuple[Reason, ...], **step: Any) -> Step:
    task, rules, period = decision.task, decision.rules, decision.period
    record = user.records.get((task.number, period.key))
    step.setdefault("needs_record", rules.accept_first)
    excludes = others_of_group(task, user) if task.document.exclusive_group else ()
    change = change_of(task, user, rules, period, record, points=decision.points, excludes=excludes, **step)
    return Step(task, rules, period, change, against)


def _against(decision: Decision) -> tuple[Reason, ...]:
    return tuple(reason for reason in decision.reasons if reason.code != why.CLAIM_OVER)


def _standing_in(task: LiveTask, user: User, key: str | None) -> tuple[RulesInUse, PeriodOfTime, TaskRecord | None]:
    """A record of whose period no rules tell any more counts as none."""
    rules, period, record = user.standing(task)
    if key is None or key == period.key:
        return rules, period, record
    record = user.records.get((task.number, key))
    under = None if record is None else user.rules_of_record(task, record)
    if under is None:
        return task.in_use, task.in_use.period_named(key), None
    return *under, record
