"""Complete, accept, claim, revert: the change of each, and what stands against it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from apps.tasks.config.documents import Claim, Period, Streak, Task, Tier
from apps.tasks.evaluation import changes
from apps.tasks.evaluation.attributes import Profile
from apps.tasks.evaluation.changes import Step
from apps.tasks.evaluation.prompts import choose_prompts
from apps.tasks.evaluation.standing import User
from tests.unit.evaluating import DAY, NOW, bundle, decision, decisions, done, record, snapshot, task, where
from workers.protocol import TaskRecord, encode, parse_changes

BY_CLAIM = Claim(mode="by_claim", grace_s=7200)
ACCEPT = Claim(mode="accept_first")
DAILY = Period(kind="daily")
TIERS = (Tier(target=1, points=5), Tier(target=5, points=20))


def take(step: Any, of: Task, *records: TaskRecord, now: Any = NOW, **more: Any) -> Step:
    live = bundle(of)
    found: Step = step(live.by_code[of.code], User(live, Profile(42), snapshot(*records), now, None), **more)
    parse_changes(encode([found.change]))
    return found


def codes(step: Step) -> list[str]:
    return [reason.code for reason in step.reasons]


def test_completing_carries_the_rules() -> None:
    found = take(changes.complete, task(target=3))

    assert (found.reasons, found.change.op, found.change.target, found.change.points, found.change.revision) == ((), "complete", 3, 10, 1)


def test_accepting_begins_a_record_where_one_is_needed() -> None:
    found = take(changes.accept, task(claim=ACCEPT))

    assert (found.reasons, found.change.op, found.change.needs_record) == ((), "accept", False)
    assert codes(take(changes.accept, task())) == ["no_accept"]
    assert codes(take(changes.accept, task(claim=ACCEPT, conditions=((where("level", ">", 1),),)))) == ["attribute_unknown"]
    assert codes(take(changes.complete, task(claim=ACCEPT))) == ["not_accepted"]
    assert take(changes.complete, task(claim=ACCEPT), record(progress=0)).change.needs_record


@pytest.mark.parametrize(
    ("records", "reasons"),
    [
        ([], ["not_completed"]),
        ([record(period="2026-11-30")], ["not_completed"]),
        ([done(period="2026-11-30")], []),
        ([record(period="2026-11-30", state="claimed")], ["already_claimed"]),
    ],
)
def test_what_is_completed_can_be_claimed_once(records: list[TaskRecord], reasons: list[str]) -> None:
    found = take(changes.claim, task(claim=BY_CLAIM, period=DAILY), *records)

    assert codes(found) == reasons
    assert (found.change.op, found.change.period, found.change.by_claim) == ("claim", "2026-11-30", True)
    assert found.change.points == (10 if records else 0)


def test_what_comes_by_itself_is_not_claimed() -> None:
    assert codes(take(changes.claim, task(), done())) == ["no_claim"]


def test_an_earlier_period_can_be_claimed_within_its_grace() -> None:
    of, midnight = task(claim=BY_CLAIM, period=DAILY), NOW.replace(hour=0)
    yesterday = done(period="2026-11-29")

    found = take(changes.claim, of, yesterday, now=midnight + timedelta(hours=2) - timedelta(microseconds=1), key="2026-11-29")

    assert (found.reasons, found.change.period) == ((), "2026-11-29")
    assert codes(take(changes.claim, of, yesterday, now=midnight + timedelta(hours=2), key="2026-11-29")) == ["claim_over"]
    assert codes(take(changes.claim, of, yesterday)) == ["not_completed"], "without a key it is the present one"
    assert codes(take(changes.claim, of, yesterday, key="2026-11-28")) == ["not_completed"]


def test_a_record_of_a_period_that_the_task_has_no_more_cannot_be_claimed_for_ever() -> None:
    of = task(claim=BY_CLAIM, period=Period(kind="weekly"))

    assert codes(take(changes.claim, of, done(period="2026-11-29"), key="2026-11-29")) == ["not_completed"]


def test_a_task_that_is_over_or_off_can_still_be_claimed() -> None:
    assert not take(changes.claim, task(claim=BY_CLAIM, ends_at=NOW, switched_off=True), done()).reasons


def test_a_tier_that_is_reached_can_be_claimed_before_the_last() -> None:
    of = task(kind="tiers", points=0, tiers=TIERS, claim=BY_CLAIM)

    assert not take(changes.claim, of, record(progress=2)).reasons
    assert codes(take(changes.claim, of, record(progress=2, granted=1))) == ["not_completed"]
    assert decision(of, record(progress=2)).status == "claimable"
    assert decision(of, record(progress=2, granted=1)).status == "in_progress"


def test_tiers_of_an_earlier_period_are_still_claimable() -> None:
    of = task(kind="tiers", points=0, tiers=TIERS, claim=BY_CLAIM, period=DAILY)
    early = NOW.replace(hour=1)

    (found,) = decision(of, record(period="2026-11-29", progress=4), now=early).still_claimable

    assert (found.period.key, found.points) == ("2026-11-29", 5)
    assert decision(of, record(period="2026-11-29", progress=4, granted=1), now=early).still_claimable == ()


def test_claiming_a_period_of_a_streak_gives_points_only_where_it_became_full() -> None:
    of = task(kind="streak", streak=Streak(length=2), claim=BY_CLAIM, period=DAILY)

    assert take(changes.claim, of, done(period="2026-11-30")).change.points == 0
    assert take(changes.claim, of, done(period="2026-11-29"), done(period="2026-11-30")).change.points == 10


def test_taking_back_says_the_mode_and_what_was_given() -> None:
    of = task(target=3, revert_takes_back=True, ends_at=NOW - DAY)

    found = take(changes.revert, of, done(progress=3), value=2).change

    assert (found.op, found.mode, found.value, found.target, found.points, found.takes_back) == ("revert", "add", 2, 3, 10, True)
    assert codes(take(changes.revert, of)) == ["not_begun"]


@pytest.mark.parametrize(
    ("fields", "has", "takes"),
    [
        ({}, {"completed_at": NOW - 2 * DAY}, True),
        ({}, {"completed_at": NOW - 4 * DAY}, False),
        ({"claim": BY_CLAIM}, {"completed_at": NOW - 4 * DAY, "granted": 0}, True),
        ({"period": DAILY}, {"completed_at": NOW, "period": "2026-11-30"}, True),
        ({"kind": "tiers", "points": 0, "tiers": TIERS}, {"completed_at": NOW}, False),
        ({"kind": "tiers", "points": 0, "tiers": TIERS, "period": DAILY}, {"completed_at": NOW, "period": "2026-11-30"}, True),
        ({"kind": "tiers", "points": 0, "tiers": TIERS, "period": DAILY}, {"completed_at": NOW, "period": "2026-11-27"}, False),
    ],
)
def test_points_are_taken_back_only_where_every_grant_of_the_record_is_surely_there(
    fields: dict[str, Any], has: dict[str, Any], takes: bool
) -> None:
    """What is not found would not be taken, and be earned once more. Grants from before three days ago may be gone."""
    of = task(revert_takes_back=True, **fields)
    completed_at = round(has["completed_at"].timestamp() * 1000)
    given = done(**{"granted": 1, **has, "completed_at": completed_at})

    def found(**more: Any) -> Any:
        return take(changes.revert, of, given, key=given.period, **more).change.takes_back

    assert found(grants_kept_since=NOW - 3 * DAY) is takes
    assert found() is True


def test_taking_back_one_of_several_different_values_names_it() -> None:
    of = task(mode="distinct", distinct_by="rival", target=3)

    found = take(changes.revert, of, record(), member="anna").change

    assert (found.mode, found.member, found.value, found.takes_back) == ("distinct", "anna", 0, False)


def test_the_first_to_be_shown_waits_to_be_claimed_then_comes_what_is_nearly_complete() -> None:
    live = bundle(
        task("heavy", weight=90, target=5),
        task("half", weight=1, target=4),
        task("one-left", weight=2, target=2),
        task("waits", weight=0, claim=BY_CLAIM),
        task("done"),
        task("not-mine", weight=99, conditions=((where("level", ">", 1),),)),
        task("light", target=5),
    )
    found = decisions(live, record(2, progress=2), record(3, progress=1), done(4), done(5))

    assert [each.task.code for each in choose_prompts(found.values(), 10)] == ["waits", "one-left", "half", "heavy", "light"]
    assert len(choose_prompts(found.values(), 2)) == 2
