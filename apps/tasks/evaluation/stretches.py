"""What is decided for everybody, from one moment at which something changes to the next.

A task whose window is open, that has no release, no relations and no caps, and whose conditions a user meets, is his unless he has records
of it: the decision is the same one for all such users, in one time zone. So it is made once for a stretch of time. A stretch ends where a
period or a window of any task begins or ends: within it, no decision of a user without records changes.

So is the decision on a task of which he has one record, in the present period, when it says no more than a small progress: "2 of 3" is the
same for many. Such a decision hangs on the record alone, and holds as long as the revision does: nothing is too late to be claimed in the
period in which it was completed. "Completed" is the same for many too, but for its moments.

Pure. The bundle holds what was found: one decision for each task, MOST_KEPT for tasks whose periods are in users' zones (or one zone's,
however many those are), and MOST_ALIKE on records.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple, TypeAlias

import msgspec

from apps.tasks.evaluation.bundle import Alike, Bundle, LiveTask
from apps.tasks.evaluation.decisions import Decision, decide, decide_by, decide_unhindered
from apps.tasks.evaluation.periods import is_zone
from apps.tasks.evaluation.reasons import AVAILABLE
from apps.tasks.evaluation.standing import User
from workers.protocol import TaskRecord

MOST_KEPT = 20_000
MOST_ALIKE = 4_096
SMALL_PROGRESS = 100
"""Above it hardly two users have the same."""

Done: TypeAlias = tuple[Decision, TaskRecord]
"""A decision that is shared but for its moments, and the record that has them."""


class Stretch(NamedTuple):
    """It holds from `since` on and before `until`; None: without end."""

    since: datetime | None
    until: datetime | None
    shared: tuple[Decision | None, ...]
    """Of each task the decision for who meets its conditions and has no record of it; None: it is another for each user."""
    asked: tuple[int, ...]
    """The places of those."""
    present: dict[int, tuple[int, str]]
    """By number, of all the others: their place, and the key of their present period."""
    answers: dict[str, list[bytes]]
    """What the API has encoded of the shared decisions, by language. The evaluator does not look at it."""

    def holds(self, at: datetime) -> bool:
        return (self.since is None or self.since <= at) and (self.until is None or at < self.until)


def stretch_of(user: User) -> Stretch:
    """The one that holds at the user's moment, in his zone."""
    kept = user.bundle.stretches
    zone = user.zone if user.bundle.has_users_zones else ""
    stretch = kept.get(zone)
    if stretch is None and not is_zone(zone):
        zone = ""  # each period has a zone for who has none
        stretch = kept.get(zone)
    if stretch is None or not stretch.holds(user.now):
        if zone not in kept and len(kept) * user.bundle.in_users_zones >= MOST_KEPT:
            kept.clear()
        stretch = kept[zone] = _find(user, next((each for each in list(kept.values()) if each.holds(user.now)), None))
    return stretch


def decide_begun(user: User, stretch: Stretch, own: dict[int, Decision]) -> tuple[dict[int, Decision], dict[int, Done]]:
    """Adds the decisions on all tasks that he has records of to his `own`, which outweigh them; those on completed ones are apart.

    A record of another period than the present one says nothing, unless the task looks back.
    """
    begun: dict[int, Decision] = {}
    done: dict[int, Done] = {}
    tasks, alike, present = user.bundle.tasks, user.bundle.alike, stretch.present
    for record in user.snapshot.tasks:
        known = present.get(record.task)
        if known is None:  # it is in `own`, or not published any more
            continue
        place, key = known
        if record.period != key:
            if tasks[place].looks_back and place not in own:
                own[place] = decide_unhindered(tasks[place], user)
        elif record.completed_at is None:
            begun[place] = alike.get(record) or _decide_by_one(tasks[place], user, _shared_at(stretch, place), record)
        else:
            beside_moments = (record.task, key, record.state, record.progress, record.granted)
            decision = alike.get(beside_moments)
            if decision is None:
                task = tasks[place]
                decision = _decide_by_one(task, user, _shared_at(stretch, place), record)
                if task.kept or not _is_only(task, user):  # which rules hold hangs on when it was begun, or on more than this record
                    begun[place] = decision
                    continue
                decision = msgspec.structs.replace(decision, completed_at=None, claimed_at=None, answers={})
                _keep(user.bundle, beside_moments, decision)
            done[place] = (decision, record)
    for place, decision in own.items():
        begun[place] = decision
        done.pop(place, None)
    return begun, done


def _shared_at(stretch: Stretch, place: int) -> Decision:
    shared = stretch.shared[place]
    assert shared is not None  # else the user's decision is in his own
    return shared


def _is_only(task: LiveTask, user: User) -> bool:
    """Whether the record of the present period is the only one that has a say."""
    return not task.looks_back or user.only_records[task.number] is not None


def _decide_by_one(task: LiveTask, user: User, shared: Decision, record: TaskRecord) -> Decision:
    """By a record of the present period: kept for all who have the same and nothing else to say, where it says little."""
    is_only = _is_only(task, user)
    if task.kept or not is_only:
        decision = decide_unhindered(task, user)
    else:
        decision = decide_by(task, user, task.in_use, shared.period, record, ())
    if is_only and record.progress < SMALL_PROGRESS and record.completed_at is None and record.claimed_at is None:
        decision = msgspec.structs.replace(decision, answers={})
        _keep(user.bundle, record, decision)
    return decision


def _keep(bundle: Bundle, what: Alike, decision: Decision) -> None:
    if len(bundle.alike) >= MOST_ALIKE:
        bundle.alike.clear()
    bundle.alike[what] = decision


def _find(like: User, other: Stretch | None) -> Stretch:
    """`like`: any user with this moment and zone. `other`: another zone's that holds too; what is in no user's zone is the same there."""
    nobody = like.without_records()
    changes = sorted(_changes(nobody))
    shared = tuple(
        _shared(task, nobody) if other is None or task.in_use.clock is None else other.shared[place]
        for place, task in enumerate(like.bundle.tasks)
    )
    return Stretch(
        max((at for at in changes if at <= like.now), default=None),
        min((at for at in changes if at > like.now), default=None),
        shared,
        tuple(place for place, decision in enumerate(shared) if decision is None),
        {it.task.number: (place, it.period.key) for place, it in enumerate(shared) if it is not None},
        {},
    )


def _changes(nobody: User) -> Iterator[datetime]:
    """Moments at which a decision may change; of the periods only the present ones count, since they end with the stretch."""
    bundle = nobody.bundle
    for slot in range(len(bundle.clocks)):
        period = nobody.period(0, slot)
        yield from (at for at in (period.starts_at, period.resets_at) if at is not None)
    for task in bundle.tasks:
        yield task.starts_at
        if task.ends_at is not None:
            yield task.ends_at


def _shared(task: LiveTask, nobody: User) -> Decision | None:
    if not task.is_same_for_all:
        return None
    decision = decide(task, nobody)
    return msgspec.structs.replace(decision, answers={}) if decision.status == AVAILABLE else None
