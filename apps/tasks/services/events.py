"""One event of a user, told to every task that listens, in one write.

An event that feeds nothing is not written. Before it is answered so, the master is asked whether the event is known: a repeat may come
when what it has completed feeds on nothing any more, and is owed the answer of its first time.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext as _

from apps.cachesync.task_interface import task_interface
from apps.dbsvr.rounds import pause
from apps.tasks.evaluation.bundle import Bundle, LiveTask
from apps.tasks.evaluation.events import Event, Feeding, NotFed, is_registered
from apps.tasks.evaluation.reasons import Reason
from apps.tasks.profiles import user_with_profile
from apps.tasks.selectors import event_is_known
from apps.tasks.services.errors import UnknownEventType
from apps.tasks.services.events_together import TravellingEvent, set_out
from apps.tasks.services.outcomes import reasons_of, rules_of
from apps.tasks.services.telling import Telling, feeding_of, told_now
from apps.tasks.services.writing import deadline, decide_by_newest, left_ms
from workers.protocol import MAX_TASK, Change, ChangeResult, DBSvrError, OldRules, Snapshot, WriteAnswer

NO_TASK = MAX_TASK
ASKING_AGAIN = Change(task=NO_TASK, period="once", op="claim")
"""For an event that is known, and feeds nothing now: it gets the results of its first time. It is of a task that nobody has."""


@dataclass(frozen=True, slots=True)
class FedTask:
    """What the event did to one task. `task` None: it is not published any more."""

    task: LiveTask | None
    target: int
    resets_at: datetime | None
    result: ChangeResult
    reasons: tuple[Reason, ...]


@dataclass(frozen=True, slots=True)
class Told:
    """What an event did. `applied` False: nothing, now; `fed` is then what it did the first time, or empty.

    `not_fed`: the tasks that listen in vain, and why; of an event that is told for the first time alone.
    """

    uid: int
    event_id: str
    applied: bool
    snapshot: Snapshot
    fed: tuple[FedTask, ...]
    not_fed: tuple[NotFed, ...]


def record_event(uid: int, event_id: str, event: Event, at: datetime | None, profile: Mapping[str, object]) -> Told:
    """Raises UnknownEventType, BadMoment, and the errors of workers.protocol."""
    until = deadline()
    telling = told_now(uid, event_id, event, at, profile)
    travelling = TravellingEvent(telling)
    end = set_out(travelling, until)
    try:
        if isinstance(travelling.answer, DBSvrError):
            return _record_again(telling, until, travelling.answer)
        if travelling.answer is None or travelling.decided is None:
            return _record(telling, until, travelling.decided)
        bundle, _snapshot, feeding = travelling.decided
        return told(bundle, telling, feeding, travelling.answer)
    finally:
        if end is not None:
            end()


def _record_again(telling: Telling, until: float, error: DBSvrError) -> Told:
    """After a try with others, which went wrong."""
    if not isinstance(error, OldRules):
        if not error.retryable or time.monotonic() >= until:
            raise error
        if error.retry_after_ms and not pause(error, 0, until):
            raise error
    try:
        return _record(telling, until)
    except DBSvrError as last:
        if error.outcome_unknown and not last.outcome_unknown:
            raise error from last  # "nothing was done" is true of the last try only
        raise


def _record(telling: Telling, until: float, decided: tuple[Bundle, Snapshot, Feeding] | None = None) -> Told:
    """By itself. `decided`: how it was decided a moment ago."""
    uid, event_id, passed = telling.uid, telling.event_id, telling.passed

    def write(bundle: Bundle) -> Told:
        if decided is not None and decided[0] is bundle:
            _bundle, snapshot, feeding = decided
        else:
            snapshot, known = user_with_profile(uid, passed, bundle, bundle.listeners.get(telling.event.type, ()))
            feeding = feeding_of(bundle, telling, snapshot, known)
        if not feeding.fed and not event_is_known(uid, event_id):
            return told_in_vain(bundle, telling, snapshot, feeding)
        answer = task_interface().finish(uid, event_id, feeding.changes or [ASKING_AGAIN], deadline_ms=left_ms(until))
        return told(bundle, telling, feeding, answer)

    return decide_by_newest(write, until)


def told_in_vain(bundle: Bundle, telling: Telling, snapshot: Snapshot, feeding: Feeding) -> Told:
    """Raises UnknownEventType."""
    if not is_registered(bundle, telling.event.type):
        raise UnknownEventType(_("There is no event type “%(type)s”.") % {"type": telling.event.type[:80]})
    return Told(telling.uid, telling.event_id, False, snapshot, (), feeding.not_fed)


def told(bundle: Bundle, telling: Telling, feeding: Feeding, answer: WriteAnswer) -> Told:
    fed = tuple(_fed(bundle, feeding, result) for result in answer.results if result.task != NO_TASK)
    not_fed = feeding.not_fed if answer.applied else ()
    return Told(telling.uid, telling.event_id, answer.applied, answer.snapshot, fed, not_fed)


def _fed(bundle: Bundle, feeding: Feeding, result: ChangeResult) -> FedTask:
    for each in feeding.fed:
        if (each.change.task, each.change.period) == (result.task, result.period):
            task, rules, resets_at = each.decision.task, each.decision.rules, each.decision.period.resets_at
            return FedTask(task, rules.target, resets_at, result, reasons_of(bundle, task, result))
    gone = bundle.by_number.get(result.task)
    if gone is None:
        return FedTask(None, 0, None, result, reasons_of(bundle, None, result))
    rules = rules_of(gone, result.period)
    return FedTask(gone, rules.target, rules.period_named(result.period).resets_at, result, reasons_of(bundle, gone, result))
