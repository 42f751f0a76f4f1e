"""One step of a user in one task: complete, accept, claim, take back; and erasing him. Each once for each event id."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone
from django.utils.translation import gettext as _

from apps.cachesync.task_interface import task_interface
from apps.tasks.evaluation import changes
from apps.tasks.evaluation.bundle import Bundle, LiveTask
from apps.tasks.evaluation.changes import Step
from apps.tasks.evaluation.periods import PeriodOfTime
from apps.tasks.evaluation.standing import Quotas, User
from apps.tasks.live_bundle import live
from apps.tasks.profiles import forget_profile, profile_of, user_with_profile
from apps.tasks.quotas import quotas
from apps.tasks.selectors import event_is_known, grants_kept_since
from apps.tasks.services.errors import EventUsedOtherwise, NotEligible
from apps.tasks.services.outcomes import reasons_of, rules_of
from apps.tasks.services.reading import task_named
from apps.tasks.services.writing import deadline, decide_by_newest, left_ms, refuse_bad_moment
from workers.protocol import ChangeResult, Snapshot, WriteAnswer


@dataclass(frozen=True, slots=True)
class Taken:
    """What became of one step: the task, the period that it was taken in, what the change did, the user after it.

    For a repeated event, period and result are those of its first time.
    """

    task: LiveTask
    target: int
    period: PeriodOfTime
    result: ChangeResult
    answer: WriteAnswer


def complete_task(uid: int, code: str, event_id: str, at: datetime | None, attributes: Mapping[str, object]) -> Taken:
    """Complete the task at once. Raises UnknownTask, NotEligible, BadMoment, and the errors of workers.protocol, as all of these."""
    return _take(uid, code, event_id, at, attributes, changes.complete, needs_user=False, used=quotas())


def accept_task(uid: int, code: str, event_id: str, at: datetime | None, attributes: Mapping[str, object]) -> Taken:
    return _take(uid, code, event_id, at, attributes, changes.accept, used=quotas())


def claim_reward(
    uid: int, code: str, event_id: str, at: datetime | None, attributes: Mapping[str, object], period: str | None = None
) -> Taken:
    """The reward of the present period, or of the one with this key."""
    taken = _take(uid, code, event_id, at, attributes, lambda task, user: changes.claim(task, user, period))
    if not (taken.result.claimed_now or taken.result.granted):
        raise _used_otherwise(code)
    return taken


def revert_progress(
    uid: int,
    code: str,
    event_id: str,
    at: datetime | None,
    attributes: Mapping[str, object],
    value: int = 1,
    member: object = None,
    period: str | None = None,
) -> Taken:
    """Take progress back, in the period of `at` or the one with this key; what was granted only if the task says so, and it is kept."""

    def make(task: LiveTask, user: User) -> Step:
        kept_since = grants_kept_since(task.number) if task.document.revert_takes_back else None
        return changes.revert(task, user, period, value, member, kept_since)

    return _take(uid, code, event_id, at, attributes, make)


def forget_user(uid: int, event_id: str) -> WriteAnswer:
    """Erase the user's tasks, points and profile. Event ids stay, so that an old event cannot bring them back."""
    answer = task_interface().clear(uid, event_id)
    forget_profile(answer)
    return answer


def _take(
    uid: int,
    code: str,
    event_id: str,
    at: datetime | None,
    attributes: Mapping[str, object],
    make: Callable[[LiveTask, User], Step],
    needs_user: bool = True,
    used: Quotas | None = None,
) -> Taken:
    until = deadline()
    task_named(live().bundle, code)
    now = timezone.now()
    moment = at or now
    refuse_bad_moment(moment, now)

    def write(bundle: Bundle) -> Taken:
        task = task_named(bundle, code)
        if needs_user or task.needs_records:
            snapshot, profile = user_with_profile(uid, attributes, bundle, [task])
        else:
            snapshot, profile = Snapshot(uid, 0, 0, 0, []), profile_of(uid, attributes, bundle, [task])
        step = make(task, User(bundle, profile, snapshot, moment, used))
        # A repeat may come after the window has closed; it is owed the answer of its first time.
        if step.reasons and not event_is_known(uid, event_id):
            raise NotEligible(step.reasons)
        return _taken(bundle, step, task_interface().finish(uid, event_id, [step.change], deadline_ms=left_ms(until)))

    return decide_by_newest(write, until)


def _taken(bundle: Bundle, step: Step, answer: WriteAnswer) -> Taken:
    """A repeat answers what its event did the first time, whatever is asked now."""
    task = step.task
    result = next((each for each in answer.results if each.task == task.number), None)
    if result is None:
        raise _used_otherwise(task.code)
    if result.refused and not (result.completed_now or result.claimed_now or result.granted):
        raise NotEligible(reasons_of(bundle, task, result))
    if result.period == step.period.key:
        return Taken(task, step.rules.target, step.period, result, answer)
    rules = rules_of(task, result.period)
    return Taken(task, rules.target, rules.period_named(result.period), result, answer)


def _used_otherwise(code: str) -> EventUsedOtherwise:
    return EventUsedOtherwise(_("This event_id was used before, for something else than the task “%(code)s”.") % {"code": code})
