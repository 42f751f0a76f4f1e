"""What a logic server can have done to one user: read him, complete a task, erase him. Writes go through TaskInterface."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils import timezone
from django.utils.translation import gettext as _

from apps.cachesync.task_interface import task_interface
from apps.tasks.decisions import CompiledTask, Decision, decide, reasons_against
from apps.tasks.periods import PeriodOfTime, period_at, period_named
from apps.tasks.selectors import compiled_tasks, event_is_known
from workers.protocol import Change, ChangeResult, Snapshot, WriteAnswer

FUTURE_TOLERATED = timedelta(minutes=5)
"""Clocks of other machines are a little ahead of ours; more than this is a mistake."""


class UnknownTask(Exception):
    """There is no task with this code."""


class NotEligible(Exception):
    """The task could not be done at the event's time, for the reasons given."""

    def __init__(self, reasons: tuple[str, ...]) -> None:
        super().__init__(", ".join(reasons))
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

    task: CompiledTask
    period: PeriodOfTime
    result: ChangeResult
    answer: WriteAnswer


def decisions_of_user(uid: int) -> tuple[Snapshot, list[Decision]]:
    """The user as he is, and what he may do now."""
    tasks = compiled_tasks()
    snapshot = task_interface().get(uid)
    return snapshot, decide(tasks.values(), snapshot, timezone.now())


def complete_task(uid: int, code: str, event_id: str, at: datetime | None, retention_days: int) -> Completion:
    """Complete the task at once, once for each event id.

    Raises UnknownTask, NotEligible, BadMoment, and the errors of workers.protocol.
    """
    task = compiled_tasks().get(code)
    if task is None:
        raise UnknownTask(code)
    now = timezone.now()
    moment = at or now
    _refuse_bad_moment(moment, now, retention_days)
    reasons = reasons_against(task, moment)
    # A repeat may come after the window has closed; it is owed the answer of its first time.
    if reasons and not event_is_known(uid, event_id):
        raise NotEligible(reasons)
    period = period_at(task.period, task.zone, moment)
    change = Change(task=task.number, period=period.key, op="complete", target=task.target, points=task.points)
    answer = task_interface().finish(uid, event_id, [change])
    result = _result_of(task, answer)
    return Completion(task, period if result.period == period.key else period_named(result.period, task.zone), result, answer)


def forget_user(uid: int, event_id: str) -> WriteAnswer:
    """Erase the user's tasks and points. Event ids stay, so that an old event cannot bring them back."""
    return task_interface().clear(uid, event_id)


def new_event_id() -> str:
    return uuid.uuid4().hex


def _refuse_bad_moment(moment: datetime, now: datetime, retention_days: int) -> None:
    if moment > now + FUTURE_TOLERATED:
        raise BadMoment(
            _("The moment “at” lies more than %(minutes)d minutes in the future.") % {"minutes": FUTURE_TOLERATED.seconds // 60}
        )
    if moment < now - timedelta(days=retention_days):
        raise BadMoment(_("The moment “at” is more than %(days)d days ago; event ids are not kept longer.") % {"days": retention_days})


def _result_of(task: CompiledTask, answer: WriteAnswer) -> ChangeResult:
    """The result of our one change. A repeat answers what its event did the first time, whatever is asked now."""
    for result in answer.results:
        if result.task == task.number:
            return result
    raise EventUsedOtherwise(_("This event_id was used before, for something else than the task “%(code)s”.") % {"code": task.code})
