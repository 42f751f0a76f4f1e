"""One user, one task, one moment: the decision.

Pure. What is shown and what is accepted both come from here; `eligibility` says what stands against a task.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import msgspec

from apps.tasks.evaluation import reasons as why
from apps.tasks.evaluation.bundle import LiveTask, RulesInUse
from apps.tasks.evaluation.eligibility import CapsLeft, caps_left, reasons_against
from apps.tasks.evaluation.periods import PeriodOfTime
from apps.tasks.evaluation.reasons import Reason
from apps.tasks.evaluation.standing import DONE, User
from apps.tasks.evaluation.streaks import StreakStanding, run_before, run_before_in_users_zone, streak_standing
from workers.protocol import CLAIMED, COMPLETED, TaskRecord


class StillClaimable(msgspec.Struct, frozen=True, gc=False):
    """An earlier period that is completed (or has a tier reached), not claimed, and within its grace. `until` None: for ever."""

    period: PeriodOfTime
    until: datetime | None
    points: int


class Decision(msgspec.Struct, frozen=True, gc=False):
    """One user, one task, one moment.

    `reasons`: what stands against progress now, whatever is done already; the status is `unavailable` when there are some and it is not
    completed. Caps are not among them when nobody said what is used. `rules`: those that hold for this user. `revision`: what a change is
    to carry.
    """

    task: LiveTask
    status: str
    reasons: tuple[Reason, ...]
    period: PeriodOfTime
    rules: RulesInUse
    revision: int
    progress: int
    completed_at: int | None
    """Milliseconds since 1970 (UTC)."""
    claimed_at: int | None
    is_accepted: bool
    """False only of a task that must be accepted first, and is not."""
    claim_until: datetime | None
    """Of a claimable one: when it is too late; None: never."""
    still_claimable: tuple[StillClaimable, ...]
    streak: StreakStanding | None
    caps_left: CapsLeft | None
    answers: dict[str, tuple[bytes, ...]] | None = None
    """Of a decision that many users share: what the API has encoded of it, by language. The evaluator does not look at it."""

    @property
    def is_shown(self) -> bool:
        """To who asks for no states: he can do something about it, or has. A reward of an earlier period waits as well."""
        return self.status != why.UNAVAILABLE or bool(self.still_claimable)

    @property
    def target(self) -> int:
        return self.rules.target

    @property
    def points(self) -> int:
        """What completing it in this period gives: all tiers together; of a streak only when it becomes full."""
        return self.rules.points if self.streak is None or self.streak.fills else 0

    @property
    def tiers_reached(self) -> int:
        """By the progress alone."""
        return tiers_reached(self.rules, self.progress)


def decide(task: LiveTask, user: User) -> Decision:
    rules, period, record = user.standing(task)
    return decide_by(task, user, rules, period, record, reasons_against(task, user, rules, period, record))


def decide_unhindered(task: LiveTask, user: User) -> Decision:
    """The same, where it is known that nothing stands against the task."""
    return decide_by(task, user, *user.standing(task), ())


def decide_by(
    task: LiveTask, user: User, rules: RulesInUse, period: PeriodOfTime, record: TaskRecord | None, against: tuple[Reason, ...]
) -> Decision:
    """By the rules, the period and the record that count, and by what stands against the task."""
    status, claim_until = why.AVAILABLE, None
    if record is not None and record.state in DONE:
        status = why.COMPLETED
        if record.state == CLAIMED:
            status = why.CLAIMED
        elif rules.by_claim:
            claim_until = claim_ends_at(task, rules, period)
            if is_in_time(user, claim_until):
                status = why.CLAIMABLE
            else:
                against = (*against, Reason(why.CLAIM_OVER, "", "before", claim_until, user.now))
    elif (
        rules.by_claim and record is not None and has_tier_to_claim(rules, record) and is_in_time(user, claim_ends_at(task, rules, period))
    ):
        status, claim_until = why.CLAIMABLE, claim_ends_at(task, rules, period)
    elif against:
        status = why.UNAVAILABLE
    elif record is not None and record.progress > 0:
        status = why.IN_PROGRESS
    return Decision(
        task,
        status,
        against,
        period,
        rules,
        record.revision if record is not None and rules.before else user.bundle.revision,
        0 if record is None else record.progress,
        None if record is None else record.completed_at,
        None if record is None else record.claimed_at,
        record is not None or not rules.accept_first,
        claim_until,
        _still_claimable(task, user, period) if task.may_be_claimed_later else (),
        _streak(task, user, rules, period, record) if rules.is_streak else None,
        caps_left(task, user, rules, period, record) if task.has_caps else None,
    )


def tiers_reached(rules: RulesInUse, progress: int) -> int:
    return sum(1 for tier in rules.rules.tiers if tier.target <= progress)


def has_tier_to_claim(rules: RulesInUse, record: TaskRecord) -> bool:
    """Whether a tier that was reached has not been claimed yet."""
    return record.granted < tiers_reached(rules, record.progress)


def points_to_claim(task: LiveTask, user: User, rules: RulesInUse, period: PeriodOfTime, record: TaskRecord) -> int:
    """What claiming the record gives: the tiers that were reached and not claimed; of a streak nothing, unless it became full."""
    if rules.rules.kind == "tiers":
        return sum(tier.points for tier in rules.rules.tiers[record.granted : tiers_reached(rules, record.progress)])
    return rules.points if not rules.is_streak or _streak(task, user, rules, period, record).fills else 0


def is_in_time(user: User, until: datetime | None) -> bool:
    return until is None or user.now < until


def claim_ends_at(task: LiveTask, rules: RulesInUse, period: PeriodOfTime) -> datetime | None:
    """When the reward of a period can be claimed no more: some grace after the period, or the task, has ended. None: never."""
    ends = [moment for moment in (period.resets_at, task.ends_at) if moment is not None]
    try:
        return min(ends) + timedelta(seconds=rules.rules.claim.grace_s) if ends else None
    except OverflowError:  # later than dates can say
        return None


def _still_claimable(task: LiveTask, user: User, present: PeriodOfTime) -> tuple[StillClaimable, ...]:
    found = []
    for record in user.records_of(task.number):
        if record.state == CLAIMED or record.period == present.key:
            continue
        under = user.rules_of_record(task, record)
        if under is None or not under[0].by_claim:
            continue
        rules, period = under
        until = claim_ends_at(task, rules, period)
        if is_in_time(user, until) and (record.state == COMPLETED or has_tier_to_claim(rules, record)):
            found.append(StillClaimable(period, until, points_to_claim(task, user, rules, period, record)))
    return tuple(found)


def _streak(task: LiveTask, user: User, rules: RulesInUse, period: PeriodOfTime, record: TaskRecord | None) -> StreakStanding:
    streak = rules.rules.streak
    assert streak is not None
    keys = [each.period for each in user.records_of(task.number) if each.state in DONE]
    count = run_before if rules.clock is not None else run_before_in_users_zone
    return streak_standing(streak, count(user.clock(rules.slot), period, keys, streak.grace), record is not None and record.state in DONE)
