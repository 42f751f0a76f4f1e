"""What a user may do, and why: a bundle, his profile and his records in, decisions or explanations out.

Pure: it asks nobody, and reads no clock but the moment that is passed in. The API, "explain" and previews all call it.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, NamedTuple

import msgspec

from apps.tasks.evaluation.attributes import Profile
from apps.tasks.evaluation.bundle import Bundle, LiveTask
from apps.tasks.evaluation.decisions import Decision, decide
from apps.tasks.evaluation.explanation import Explanation, explain_task
from apps.tasks.evaluation.standing import Quotas, User
from apps.tasks.evaluation.stretches import Done, Stretch, decide_begun, stretch_of
from workers.protocol import Snapshot

__all__ = ["Decided", "Decision", "Explanation", "Profile", "decide_all", "evaluate", "evaluate_task", "explain"]


class Decided(NamedTuple):
    """What one user may do: what is decided for everybody, but for the tasks at the places of `own` and `done`."""

    bundle: Bundle
    stretch: Stretch
    own: dict[int, Decision]
    done: dict[int, Done]

    def by_code(self) -> list[Decision]:
        decisions: list[Any] = list(self.stretch.shared)
        for place, decision in self.own.items():
            decisions[place] = decision
        for place, (decision, record) in self.done.items():
            moments = {"completed_at": record.completed_at, "claimed_at": record.claimed_at}
            decisions[place] = msgspec.structs.replace(decision, answers=None, **moments)
        return decisions

    def by_weight(self) -> list[Decision]:
        """What weighs most first, else by code."""
        decisions = self.by_code()
        return [decisions[place] for place in self.bundle.by_weight]


def decide_all(bundle: Bundle, profile: Profile, snapshot: Snapshot, now: datetime, quotas: Quotas | None = None) -> Decided:
    """On each task. `quotas`: what all users have used of caps; without it nothing is said of them."""
    user = User(bundle, profile, snapshot, now, quotas)
    stretch = stretch_of(user)
    asked, lacking = stretch.asked, bundle.conditions.lacking(user.unmet)
    own = {place: decide(bundle.tasks[place], user) for place in ({*asked, *lacking} if lacking else asked)}
    begun, done = decide_begun(user, stretch, own)
    return Decided(bundle, stretch, begun, done)


def evaluate(bundle: Bundle, profile: Profile, snapshot: Snapshot, now: datetime, quotas: Quotas | None = None) -> list[Decision]:
    """The same as a list: one decision per task, in the order of the codes."""
    return decide_all(bundle, profile, snapshot, now, quotas).by_code()


def evaluate_task(
    bundle: Bundle, task: LiveTask, profile: Profile, snapshot: Snapshot, at: datetime, quotas: Quotas | None = None
) -> Decision:
    """The decision on one task alone, at the time of an event."""
    return decide(task, User(bundle, profile, snapshot, at, quotas))


def explain(
    bundle: Bundle,
    profile: Profile,
    snapshot: Snapshot,
    now: datetime,
    quotas: Quotas | None = None,
    tasks: Iterable[LiveTask] | None = None,
) -> list[Explanation]:
    """One explanation per task (or of those given), in the order of the codes: the decision, and every check with what it saw."""
    user = User(bundle, profile, snapshot, now, quotas)
    return [explain_task(task, user) for task in (bundle.tasks if tasks is None else tasks)]
