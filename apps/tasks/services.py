"""What a logic server can have done to one user: read him, explain him, complete a task, erase him. Writes go through TaskInterface."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from operator import attrgetter

from django.utils import timezone
from django.utils.translation import gettext as _

from apps.cachesync.task_interface import task_interface
from apps.tasks.evaluation.bundle import Bundle, LiveTask
from apps.tasks.evaluation.evaluator import Decision, Explanation, evaluate, evaluate_task, explain
from apps.tasks.evaluation.periods import PeriodOfTime
from apps.tasks.evaluation.reasons import CLAIM_OVER, NOT_ACCEPTED, Reason
from apps.tasks.live_bundle import live
from apps.tasks.profiles import profile_of
from apps.tasks.selectors import event_is_known
from workers.protocol import Change, ChangeResult, Snapshot, WriteAnswer

_weight = attrgetter("task.document.weight")

FUTURE_TOLERATED = timedelta(minutes=5)
"""Clocks of other machines are a little ahead of ours; more than this is a mistake."""


class UnknownTask(Exception):
    """There is no task with this code."""


class NotEligible(Exception):
    """The task could not be done at the event's time, for the reasons given."""

    def __init__(self, reasons: tuple[Reason, ...]) -> None:
        super().__init__(", ".join(reason.code for reason in reasons))
        self.reasons = reasons


class BadMoment(Exception):
    """The event's time cannot be taken: it is too far ahead, or older than the event ids that are kept."""


class EventUsedOtherwise(Exception):
    """The event id belongs to another event of this user; nothing was done."""


@dataclass(frozen=True, slots=True)
class Completion:
    """What became of one `complete`: the task, the period that was completed, what the change did, the user after it.

    For a repeated event, period and result are those of its first time.
    """

    task: LiveTask
    target: int
    period: PeriodOfTime
    result: ChangeResult
    answer: WriteAnswer


def decisions_of_user(uid: int, attributes: Mapping[str, object]) -> tuple[Snapshot, list[Decision]]:
    """The user as he is, and what he may do now: what weighs most first, else by code."""
    bundle = live().bundle
    snapshot = task_interface().get(uid)
    decisions = evaluate(bundle, profile_of(uid, attributes), snapshot, timezone.now())
    return snapshot, sorted(decisions, key=_weight, reverse=True)


def explanations_of_user(
    bundle: Bundle, uid: int, attributes: Mapping[str, object], at: datetime, codes: Iterable[str] | None
) -> tuple[Snapshot, list[Explanation]]:
    """Why he may do what he may at that moment, as his records are now. Raises UnknownTask."""
    tasks = None if codes is None else [_task(bundle, code) for code in codes]
    snapshot = task_interface().get(uid)
    return snapshot, explain(bundle, profile_of(uid, attributes), snapshot, at, tasks=tasks)


def complete_task(
    uid: int, code: str, event_id: str, at: datetime | None, attributes: Mapping[str, object], retention_days: int
) -> Completion:
    """Complete the task at once, once for each event id.

    Raises UnknownTask, NotEligible, BadMoment, and the errors of workers.protocol.
    """
    bundle = live().bundle
    task = _task(bundle, code)
    now = timezone.now()
    moment = at or now
    _refuse_bad_moment(moment, now, retention_days)
    snapshot = task_interface().get(uid) if task.needs_records else Snapshot(uid, 0, 0, 0, [])
    decision = evaluate_task(bundle, task, profile_of(uid, attributes), snapshot, moment)
    reasons = _reasons_against_progress(decision)
    # A repeat may come after the window has closed; it is owed the answer of its first time.
    if reasons and not event_is_known(uid, event_id):
        raise NotEligible(reasons)
    change = Change(
        task=task.number,
        period=decision.period.key,
        op="complete",
        target=decision.target,
        points=decision.points,
        revision=decision.revision,
    )
    answer = task_interface().finish(uid, event_id, [change])
    result = _result_of(task, answer)
    period = decision.period if result.period == decision.period.key else decision.rules.period_named(result.period)
    return Completion(task, decision.target, period, result, answer)


def forget_user(uid: int, event_id: str) -> WriteAnswer:
    """Erase the user's tasks and points. Event ids stay, so that an old event cannot bring them back."""
    return task_interface().clear(uid, event_id)


def new_event_id() -> str:
    return uuid.uuid4().hex


def _task(bundle: Bundle, code: str) -> LiveTask:
    task = bundle.by_code.get(code)
    if task is None:
        raise UnknownTask(code)
    return task


def _reasons_against_progress(decision: Decision) -> tuple[Reason, ...]:
    against = tuple(reason for reason in decision.reasons if reason.code != CLAIM_OVER)
    return against if decision.is_accepted else (*against, Reason(NOT_ACCEPTED))


def _refuse_bad_moment(moment: datetime, now: datetime, retention_days: int) -> None:
    if moment > now + FUTURE_TOLERATED:
        raise BadMoment(
            _("The moment “at” lies more than %(minutes)d minutes in the future.") % {"minutes": FUTURE_TOLERATED.seconds // 60}
        )
    if moment < now - timedelta(days=retention_days):
        raise BadMoment(_("The moment “at” is more than %(days)d days ago; event ids are not kept longer.") % {"days": retention_days})


def _result_of(task: LiveTask, answer: WriteAnswer) -> ChangeResult:
    """The result of our one change. A repeat answers what its event did the first time, whatever is asked now."""
    for result in answer.results:
        if result.task == task.number:
            return result
    raise EventUsedOtherwise(_("This event_id was used before, for something else than the task “%(code)s”.") % {"code": task.code})
