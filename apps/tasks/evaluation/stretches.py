"""What is decided for everybody, from one moment at which something changes to the next.

A task whose window is open, that has no release, no relations and no caps, and whose conditions a user meets, is his unless he has records
of it: the decision is the same one for all such users, in one time zone. So it is made once for a stretch of time. A stretch ends where a
period or a window of any task begins or ends: within it, no decision of a user without records changes.

So is the decision on a task of which he has one record, in the present period, when it says no more than a small progress: "2 of 3" is the
same for many. Such a decision hangs on the record alone, and holds as long as the revision does. "Completed" is the same for many but
for its moments, where nothing is left to be claimed and no streak counts on.

Pure. The bundle holds what was found: one decision for each task, MOST_KEPT for tasks whose periods are in users' zones (or one zone's,
however many those are), and MOST_ALIKE on records.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

import msgspec

from apps.tasks.evaluation.bundle import LiveTask
from apps.tasks.evaluation.decisions import Decision, decide, decide_by, decide_unhindered
from apps.tasks.evaluation.periods import is_zone
from apps.tasks.evaluation.reasons import AVAILABLE
from apps.tasks.evaluation.standing import User
from workers.protocol import CLAIMED, TaskRecord

MOST_KEPT = 20_000
MOST_ALIKE = 4_096
SMALL_PROGRESS = 100
"""Above it hardly two users have the same."""


class Stretch(NamedTuple):
    """It holds from `since` on and before `until`; None: without end."""

    since: datetime | None
    until: datetime | None
    shared: tuple[Decision | None, ...]
    """Of each task the decision for who meets its conditions and has no record of it; None: it is another for each user."""
    asked: tuple[int, ...]
    """The places of those."""
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


def decide_begun(task: LiveTask, user: User, shared: Decision, only: TaskRecord | None) -> Decision:
    """On a task that would be the shared decision, if he had no records of it. `only`: his one record of it; None: he has several."""
    record = only
    if record is None and not task.looks_back:
        record = user.records.get((task.number, shared.period.key))
        if record is None:
            return shared
    if record is None or record.period != shared.period.key:
        return decide_unhindered(task, user) if task.looks_back else shared
    alike = user.bundle.alike
    decision = alike.get(record)
    if decision is None:
        if task.kept:
            decision = decide_unhindered(task, user)
        else:
            decision = decide_by(task, user, task.in_use, shared.period, record, ())
        if record.progress < SMALL_PROGRESS and record.completed_at is None and record.claimed_at is None:
            if len(alike) >= MOST_ALIKE:
                alike.clear()
            decision = alike[record] = msgspec.structs.replace(decision, answers={})
    return decision


def decide_done(task: LiveTask, user: User, shared: Decision, only: TaskRecord) -> Decision | None:
    """The decision on a completed task, but for its moments. None: what is decided is the user's own in more than these."""
    if only.period != shared.period.key or (task.in_use.by_claim and only.state != CLAIMED) or task.in_use.is_streak or task.kept:
        return None
    alike = user.bundle.alike
    key = (only.task, only.period, only.state, only.progress, only.granted)
    decision: Decision | None = alike.get(key)
    if decision is None:
        decision = decide_by(task, user, task.in_use, shared.period, only, ())
        if len(alike) >= MOST_ALIKE:
            alike.clear()
        decision = alike[key] = msgspec.structs.replace(decision, completed_at=None, claimed_at=None, answers={})
    return decision


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
