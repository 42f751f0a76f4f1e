"""What stands against a task for one user at one moment.

Pure. Each check answers with reasons, which name what was wanted and what is; none is the most frequent answer, and costs least.
`explanation` walks through the same checks at length, in the same order.
"""

from __future__ import annotations

import msgspec

from apps.tasks.evaluation import reasons as why
from apps.tasks.evaluation.bundle import LiveTask, RulesInUse
from apps.tasks.evaluation.conditions import lacking
from apps.tasks.evaluation.periods import PeriodOfTime
from apps.tasks.evaluation.reasons import Reason
from apps.tasks.evaluation.standing import DONE, POINTS, TOTAL, User
from workers.protocol import COMPLETED, TaskRecord


class CapsLeft(msgspec.Struct, frozen=True, gc=False):
    """What is left of each cap; None: there is no such cap, or nobody said how much is used."""

    per_user: int | None = None
    total: int | None = None
    per_period: int | None = None
    points_budget: int | None = None


def reasons_against(task: LiveTask, user: User, rules: RulesInUse, period: PeriodOfTime, record: TaskRecord | None) -> tuple[Reason, ...]:
    """In the order in which `explain` checks; the most frequent answer, nothing, costs least."""
    now = user.now
    found: tuple[Reason, ...] = ()
    if task.switched_off:
        found += (Reason(why.INACTIVE),)
    if now < task.starts_at:
        found += (Reason(why.NOT_STARTED, "", "after", task.starts_at, now),)
    if task.ends_at is not None and now >= task.ends_at:
        found += (Reason(why.ENDED, "", "before", task.ends_at, now),)
    if task.share is not None:
        found += against_release(task, user)
    if not user.meets_conditions(task):
        found += against_conditions(task, user)
    if task.has_relations:
        found += against_relations(task, user)
    if task.has_caps and user.quotas is not None:
        found += against_caps(task, user, rules, period, record)
    return found


def against_release(task: LiveTask, user: User) -> tuple[Reason, ...]:
    share = task.share
    assert share is not None
    for name in share.deny:
        if user.is_on(name):
            return (Reason(why.DENIED, name),)
    for name in share.allow:
        if user.is_on(name):
            return ()
    bucket = user.bucket(share.salt)
    return () if bucket < share.percentage_bp else (Reason(why.NOT_RELEASED, "", "<", share.percentage_bp, bucket),)


def against_conditions(task: LiveTask, user: User) -> tuple[Reason, ...]:
    """What the group that lacks least lacks, row by row; nothing when one is met."""
    values = user.values
    as_given, attributes = user.bundle.registry.as_given, user.profile.attributes
    found = []
    for name, _check, asked in lacking(task.groups, values):
        code = why.ATTRIBUTE_UNKNOWN if values[name] is None else why.CONDITION_UNMET
        found.append(Reason(code, name, asked.operator, asked.value, as_given(name, attributes)))
    return tuple(found)


def against_relations(task: LiveTask, user: User) -> tuple[Reason, ...]:
    return (*against_prerequisites(task, user), *against_sequence(task, user), *against_group(task, user))


def against_prerequisites(task: LiveTask, user: User) -> tuple[Reason, ...]:
    """A task that is not in the bundle (archived, or unusable here) is completed by nobody."""
    found = []
    for needed in task.document.prerequisites:
        other = user.bundle.by_code.get(needed.task)
        if other is None or not user.has_done(other, needed.state):
            found.append(Reason(why.PREREQUISITE, needed.task, "", needed.state, None if other is None else state_of(other, user)))
    return tuple(found)


def against_sequence(task: LiveTask, user: User) -> tuple[Reason, ...]:
    """The earlier tasks of its sequence that are not completed."""
    found = []
    for other in user.bundle.sequences.get(task.document.sequence, ()):
        if other.document.position >= task.document.position:
            break
        if not user.has_done(other, COMPLETED):
            found.append(Reason(why.SEQUENCE, other.code, "", COMPLETED, state_of(other, user)))
    return tuple(found)


def against_group(task: LiveTask, user: User) -> tuple[Reason, ...]:
    """The task of its exclusive group that the user does instead; none when he does this one."""
    others = user.bundle.groups.get(task.document.exclusive_group, ())
    if len(others) < 2 or user.has_begun(task):
        return ()
    return tuple(
        Reason(why.EXCLUSIVE_GROUP, task.document.exclusive_group, "", None, other.code)
        for other in others
        if other is not task and user.has_begun(other)
    )[:1]


def state_of(task: LiveTask, user: User) -> str | None:
    """The state of the present period's record; None when there is none."""
    record = user.standing(task)[2]
    return None if record is None else record.state


def caps_left(task: LiveTask, user: User, rules: RulesInUse, period: PeriodOfTime, record: TaskRecord | None) -> CapsLeft:
    caps = task.document.caps
    done = record is not None and record.state in DONE
    per_user = None if caps.per_user is None else max(0, caps.per_user - done)
    if user.quotas is None:
        return CapsLeft(per_user)

    def left(cap: int | None, key: str) -> int | None:
        return None if cap is None else max(0, cap - user.used(task.number, key))

    per_period = None if caps.per_period is None else left(caps.per_period, user.quota_key(rules, period))
    return CapsLeft(per_user, left(caps.total, TOTAL), per_period, left(caps.points_budget, POINTS))


def against_caps(task: LiveTask, user: User, rules: RulesInUse, period: PeriodOfTime, record: TaskRecord | None) -> tuple[Reason, ...]:
    """Only of caps that all users share: what one user has done shows in his own record. The write alone is exact: it counts under lock."""
    caps, left = task.document.caps, caps_left(task, user, rules, period, record)
    found = []
    if left.total == 0:
        found.append(Reason(why.CAP_REACHED, "total", "", caps.total, 0))
    if left.per_period == 0:
        found.append(Reason(why.CAP_REACHED, "per_period", "", caps.per_period, 0))
    if left.points_budget is not None and left.points_budget < max(1, least_points(rules)):
        found.append(Reason(why.CAP_REACHED, "points_budget", "", caps.points_budget, left.points_budget))
    return tuple(found)


def least_points(rules: RulesInUse) -> int:
    """The smallest number of points that the task gives at once."""
    if rules.rules.kind == "tiers":
        return min((tier.points for tier in rules.rules.tiers if tier.points), default=0)
    return rules.points
