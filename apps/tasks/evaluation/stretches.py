"""What is decided for everybody, from one moment at which something changes to the next.

A task whose window is open, that has no release, no relations and no caps, and whose conditions a user meets, is his unless he has records
of it: the decision is the same one for all such users, in one time zone. So it is made once for a stretch of time. A stretch ends where a
period or a window of any task begins or ends: within it, no decision of a user without records changes.

Pure. The bundle holds what was found, at most MOST_KEPT decisions in all (or one stretch, however many tasks there are).
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple, TypeAlias

import msgspec

from apps.tasks.evaluation.bundle import LiveTask
from apps.tasks.evaluation.decisions import Decision, decide
from apps.tasks.evaluation.periods import is_zone
from apps.tasks.evaluation.reasons import AVAILABLE
from apps.tasks.evaluation.standing import User

MOST_KEPT = 20_000
"""A day has one stretch after another, and every time zone its own."""

Planned: TypeAlias = tuple[LiveTask, int, int, Decision | None]
"""A task, its number and bits; the decision for who meets its conditions and has no record of it; None: ask for each user."""


class Stretch(NamedTuple):
    """It holds from `since` on and before `until`; None: without end."""

    since: datetime | None
    until: datetime | None
    plan: tuple[Planned, ...]

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
        if zone not in kept and (len(kept) + 1) * len(user.bundle.tasks) > MOST_KEPT:
            kept.clear()
        stretch = kept[zone] = _find(user)
    return stretch


def _find(like: User) -> Stretch:
    """`like`: any user with this moment and zone."""
    nobody = like.without_records()
    changes = sorted(_changes(nobody))
    return Stretch(
        max((at for at in changes if at <= like.now), default=None),
        min((at for at in changes if at > like.now), default=None),
        tuple((task, task.number, task.bits, _shared(task, nobody)) for task in like.bundle.tasks),
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
