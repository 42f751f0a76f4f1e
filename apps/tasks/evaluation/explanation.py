"""Why a user may do a task or not, at length: every check in a fixed order, each met, unmet or unknown, with what was wanted and what is.

Pure, and of one mind with the decision: the checks that `decide` against the task are its reasons, one for one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import msgspec

from apps.tasks.evaluation import reasons as why
from apps.tasks.evaluation.attributes import Profile
from apps.tasks.evaluation.bundle import LiveTask, RulesInUse
from apps.tasks.evaluation.conditions import lacking, outcome_of
from apps.tasks.evaluation.decisions import Decision, decide
from apps.tasks.evaluation.eligibility import against_group, caps_left, least_points, state_of
from apps.tasks.evaluation.periods import PeriodOfTime
from apps.tasks.evaluation.standing import User
from workers.protocol import COMPLETED, TaskRecord

MET, UNMET, UNKNOWN = "met", "unmet", "unknown"

CHECKS = (
    "switched_on",
    "started",
    "not_ended",
    "deny_list",
    "allow_list",
    "share",
    "condition",
    "prerequisite",
    "sequence",
    "exclusive_group",
    "cap",
    "accepted",
)
"""In the order in which they are made."""


class Check(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One check. `decides`: it is this that stands against the task (of groups of conditions only what the nearest one lacks decides; being
    on no allow list decides nothing).

    `about`: the attribute, list, task, group of tasks, or cap. `group`: of a condition, counted from 1. `note`: of an unknown value, why it
    is (missing, wrong_type, not_registered); of a known one, where it comes from (profile, profile_outdated, caller,
    default).
    """

    check: str
    outcome: Literal["met", "unmet", "unknown"]
    reason: str = ""
    """The code that a decision gives when this decides."""
    decides: bool = False
    about: str = ""
    operator: str = ""
    wanted: Any = None
    actual: Any = None
    group: int = 0
    note: str = ""


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """`is_shown`: whether the user sees the task at all. `bucket`: his, for this task's gray release."""

    decision: Decision
    checks: tuple[Check, ...]
    is_shown: bool
    bucket: int
    zone: str
    """In which zone the present period was found; empty where the task has none (once, window)."""

    @property
    def failing(self) -> tuple[Check, ...]:
        return tuple(check for check in self.checks if check.decides)


def explain_task(task: LiveTask, user: User) -> Explanation:
    decision = decide(task, user)
    rules, period, record = user.standing(task)
    return Explanation(
        decision=decision,
        checks=tuple(_checks(task, user, decision, rules, period, record)),
        is_shown=decision.status != why.UNAVAILABLE,
        bucket=user.bucket(task.document.release.salt or task.code),
        zone="" if rules.rules.period.kind in ("once", "window") else _zone(user, rules),
    )


def _checks(
    task: LiveTask, user: User, decision: Decision, rules: RulesInUse, period: PeriodOfTime, record: TaskRecord | None
) -> Iterator[Check]:
    yield _check("switched_on", not task.switched_off, why.INACTIVE)
    yield _check("started", user.now >= task.starts_at, why.NOT_STARTED, operator="after", wanted=task.starts_at, actual=user.now)
    if task.ends_at is not None:
        yield _check("not_ended", user.now < task.ends_at, why.ENDED, operator="before", wanted=task.ends_at, actual=user.now)
    yield from _of_release(task, user)
    yield from _of_conditions(task, user)
    yield from _of_relations(task, user)
    if task.has_caps:
        yield from _of_caps(task, user, rules, period, record)
    if rules.accept_first:
        yield msgspec.structs.replace(_check("accepted", decision.is_accepted, why.NOT_ACCEPTED), decides=False)


def _check(check: str, met: bool | None, reason: str, **values: Any) -> Check:
    outcome: Literal["met", "unmet", "unknown"] = "unknown" if met is None else "met" if met else "unmet"
    return Check(check=check, outcome=outcome, reason=reason, decides=not met, **values)


def _of_release(task: LiveTask, user: User) -> Iterator[Check]:
    release = task.document.release
    denied_by = ""
    for name in release.deny:
        is_on = user.is_on(name)
        yield msgspec.structs.replace(_check("deny_list", not is_on, why.DENIED, about=name), decides=is_on and not denied_by)
        denied_by = denied_by or (name if is_on else "")
    is_allowed = False
    for name in release.allow:
        is_on = user.is_on(name)
        is_allowed = is_allowed or is_on
        yield msgspec.structs.replace(_check("allow_list", is_on, "", about=name), decides=False)
    if task.share is None:
        return
    salt = task.share.salt
    inside = user.bucket(salt) < release.percentage_bp
    share = _check("share", inside, why.NOT_RELEASED, operator="<", wanted=release.percentage_bp, actual=user.bucket(salt))
    yield msgspec.structs.replace(share, decides=not (inside or is_allowed or denied_by))


def _of_conditions(task: LiveTask, user: User) -> Iterator[Check]:
    if not task.groups:
        return
    registry, given = user.bundle.registry, user.profile.attributes
    deciding = lacking(task.groups, user.values)
    for place, group in enumerate(task.groups):
        for row in group:
            asked, met = row[2], outcome_of(row, user.values)
            note: str
            if user.values[asked.attribute] is None:
                note = registry.why_unknown(asked.attribute, given)
            elif given.get(asked.attribute) is None:
                note = "default"
            else:
                note = _who_said(asked.attribute, user.profile)
            check = _check(
                "condition",
                met,
                why.ATTRIBUTE_UNKNOWN if met is None else why.CONDITION_UNMET,
                about=asked.attribute,
                operator=asked.operator,
                wanted=asked.value,
                actual=registry.as_given(asked.attribute, given),
                group=place + 1,
                note=note,
            )
            yield msgspec.structs.replace(check, decides=any(row is each for each in deciding))


def _who_said(attribute: str, profile: Profile) -> str:
    if attribute in profile.from_caller:
        return "caller"
    return "profile_outdated" if attribute in profile.outdated else "profile"


def _of_relations(task: LiveTask, user: User) -> Iterator[Check]:
    bundle, document = user.bundle, task.document
    for needed in document.prerequisites:
        other = bundle.by_code.get(needed.task)
        yield _check(
            "prerequisite",
            other is not None and user.has_done(other, needed.state),
            why.PREREQUISITE,
            about=needed.task,
            wanted=needed.state,
            actual=None if other is None else state_of(other, user),
            note="not_published" if other is None else "",
        )
    for other in bundle.sequences.get(document.sequence, ()):
        if other.document.position < document.position:
            met = user.has_done(other, COMPLETED)
            yield _check("sequence", met, why.SEQUENCE, about=other.code, wanted=COMPLETED, actual=state_of(other, user))
    if document.exclusive_group:
        against = against_group(task, user)
        actual = against[0].actual if against else None
        yield _check("exclusive_group", not against, why.EXCLUSIVE_GROUP, about=document.exclusive_group, actual=actual)


def _of_caps(task: LiveTask, user: User, rules: RulesInUse, period: PeriodOfTime, record: TaskRecord | None) -> Iterator[Check]:
    """A cap whose use nobody told is unknown, and does not decide: the write counts exactly."""
    caps, left = task.document.caps, caps_left(task, user, rules, period, record)
    needs = {"total": 1, "per_period": 1, "points_budget": max(1, least_points(rules))}
    for name, least in needs.items():
        cap, remaining = getattr(caps, name), getattr(left, name)
        if cap is not None:
            met = None if remaining is None else remaining >= least
            check = _check("cap", met, why.CAP_REACHED, about=name, wanted=cap, actual=remaining)
            yield check if remaining is not None else msgspec.structs.replace(check, decides=False)


def _zone(user: User, rules: RulesInUse) -> str:
    zone = getattr(user.clock(rules.slot), "zone", None)
    return "" if zone is None else zone.key
