"""What a user may do: one decision per task, with the reasons against it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.tasks.config.documents import Caps, Claim, Period, Prerequisite, Streak, Tier
from apps.tasks.evaluation.evaluator import Profile, evaluate, evaluate_task
from apps.tasks.evaluation.reasons import Reason
from tests.unit.evaluating import (
    DAY,
    NOW,
    bundle,
    bundle_bytes,
    codes,
    configuration,
    decision,
    decisions,
    done,
    record,
    snapshot,
    task,
    utc,
    where,
)
from workers.protocol import PERIOD_KEY

INSTANT = timedelta(microseconds=1)
DAILY = Period(kind="daily", zone="Asia/Shanghai")
BY_CLAIM = Claim(mode="by_claim", grace_s=3600)


def test_a_task_within_its_window_is_available_to_who_has_done_nothing() -> None:
    found = decision(task(target=3))

    assert (found.status, found.reasons, found.progress, found.target, found.points) == ("available", (), 0, 3, 10)


def test_progress_makes_it_in_progress() -> None:
    found = decision(task(target=3), record(progress=2))

    assert (found.status, found.progress) == ("in_progress", 2)
    assert decision(task(target=3), record(progress=0)).status == "available"


def test_completed_says_when() -> None:
    found = decision(task(), done(completed_at=1_700_000_000_000))

    assert (found.status, found.completed_at) == ("completed", 1_700_000_000_000)


def test_the_window_holds_its_start_and_not_its_end() -> None:
    of = task(starts_at=NOW, ends_at=NOW + DAY)

    assert codes(decision(of, now=NOW - INSTANT)) == ["not_started"]
    assert decision(of, now=NOW).status == "available"
    assert decision(of, now=NOW + DAY - INSTANT).status == "available"
    assert codes(decision(of, now=NOW + DAY)) == ["ended"]


def test_a_new_task_whose_history_does_not_count_begins_at_its_publication() -> None:
    live = bundle(task(), history_counts=False)

    assert codes(decisions(live, now=NOW - INSTANT)["invite"]) == ["not_started"]
    assert decisions(live, now=NOW)["invite"].status == "available"


def test_every_reason_is_said_and_what_is_completed_stays_so() -> None:
    of = task(ends_at=NOW, switched_off=True, conditions=((where("level", ">=", 30),),))

    assert codes(decision(of, level=28)) == ["inactive", "ended", "condition_unmet"]
    assert decision(of, level=28).status == "unavailable"
    assert decision(of, record(progress=1), level=28).status == "unavailable"
    assert decision(of, done(), level=28).status == "completed"
    assert codes(decision(of, done(), level=28)) == ["inactive", "ended", "condition_unmet"]


def test_a_daily_task_counts_only_the_record_of_its_own_day() -> None:
    yesterday, today = done(period="2026-11-29"), record(period="2026-11-30")

    assert decision(task(period=DAILY), yesterday).status == "available"
    assert decision(task(period=DAILY), yesterday, today).status == "in_progress"
    assert decision(task(period=DAILY), yesterday).period.resets_at == utc(2026, 11, 30, 16)


def test_records_of_other_tasks_change_nothing() -> None:
    assert decision(task(), done(number=2)).status == "available"
    assert evaluate(bundle(task("b"), task("a")), Profile(1), snapshot(done(1)), NOW)[0].status == "available"


def test_decisions_come_in_the_order_of_the_codes() -> None:
    assert list(decisions(bundle(task("b"), task("a"), task("c")))) == ["a", "b", "c"]


def test_a_task_that_is_not_published_yet_takes_no_record() -> None:
    from apps.tasks.config.compile import compile_bundle
    from apps.tasks.evaluation.bundle import load_bundle

    live = load_bundle(compile_bundle(configuration(task()), {}, {}, 0, NOW, history_counts=True))

    assert decisions(live)["invite"].status == "available"


def test_conditions_say_what_was_wanted_and_what_is() -> None:
    of = task(conditions=((where("level", ">=", 30), where("region", "!=", "cn")),))

    assert decision(of, level=30, region="sg").status == "available"
    assert decision(of, level=28).reasons == (
        Reason("condition_unmet", "level", ">=", 30, 28),
        Reason("attribute_unknown", "region", "!=", "cn", None),
    )


def test_one_group_of_several_is_enough_and_else_the_nearest_gives_the_reasons() -> None:
    of = task(conditions=((where("level", ">=", 30), where("vip", "=", True)), (where("level", ">=", 50),)))

    assert decision(of, level=30, vip=True).status == "available"
    assert decision(of, level=50).status == "available"
    assert [reason.wanted for reason in decision(of, level=28, vip=False).reasons] == [50]
    assert [reason.about for reason in decision(of, level=30, vip=False).reasons] == ["vip"]


class TestPrerequisites:
    def test_what_is_needed_must_be_done_in_its_own_present_period(self) -> None:
        live = bundle(task("first", period=DAILY), task("then", prerequisites=(Prerequisite(task="first"),)))

        assert decisions(live)["then"].reasons == (Reason("prerequisite", "first", "", "completed", None),)
        assert decisions(live, record(1, "2026-11-30"))["then"].reasons[0].actual == "in_progress"
        assert codes(decisions(live, done(1, "2026-11-29"))["then"]) == ["prerequisite"]
        assert decisions(live, done(1, "2026-11-30"))["then"].status == "available"

    def test_claimed_wants_a_claim_where_the_reward_does_not_come_by_itself(self) -> None:
        needs = (Prerequisite(task="first", state="claimed"),)
        by_itself = bundle(task("first"), task("then", prerequisites=needs))
        by_claim = bundle(task("first", claim=BY_CLAIM), task("then", prerequisites=needs))

        assert decisions(by_itself, done(1))["then"].status == "available"
        assert codes(decisions(by_claim, done(1))["then"]) == ["prerequisite"]
        assert decisions(by_claim, record(1, state="claimed"))["then"].status == "available"

    def test_one_that_is_not_published_is_done_by_nobody(self) -> None:
        assert codes(decision(task(prerequisites=(Prerequisite(task="gone"),)))) == ["prerequisite"]


def test_in_a_sequence_the_earlier_ones_come_first() -> None:
    live = bundle(task("c", sequence="tour", position=3), task("a", sequence="tour", position=1), task("b", sequence="tour", position=2))

    assert [codes(each) for each in decisions(live).values()] == [[], ["sequence"], ["sequence", "sequence"]]
    assert [codes(each) for each in decisions(live, done(2)).values()] == [[], [], ["sequence"]]
    assert [reason.about for reason in decisions(live)["c"].reasons] == ["a", "b"]


def test_of_an_exclusive_group_the_first_with_progress_is_the_one() -> None:
    live = bundle(task("a", exclusive_group="side"), task("b", exclusive_group="side", period=DAILY), task("c"))

    assert all(each.status == "available" for each in decisions(live).values())
    begun = decisions(live, record(1))
    assert (begun["a"].status, begun["b"].reasons) == ("in_progress", (Reason("exclusive_group", "side", "", None, "a"),))
    assert decisions(live, done(2, "2026-11-29"))["a"].status == "available"  # that was yesterday's choice
    both = decisions(live, record(1), record(2, "2026-11-30"))
    assert (both["a"].status, both["b"].status) == ("in_progress", "in_progress")


class TestCaps:
    OF = task(points=10, caps=Caps(per_user=1, total=100, per_period=5, points_budget=1000), period=DAILY)

    def left(self, quotas: Any, *records: Any) -> Any:
        return decisions(bundle(self.OF), *records, quotas=quotas)["invite"].caps_left

    def test_without_quotas_nothing_is_said_of_shared_caps(self) -> None:
        found = decision(self.OF)

        assert found.status == "available"
        assert found.caps_left is not None
        assert (found.caps_left.per_user, found.caps_left.total, found.caps_left.per_period) == (1, None, None)
        assert decision(task()).caps_left is None

    def test_what_is_left_counts_down_and_never_below_nothing(self) -> None:
        left = self.left({(1, "total"): 40, (1, "2026-11-30"): 7, (1, "2026-11-29"): 1, (1, "points"): 400}, done(1, "2026-11-30"))

        assert (left.per_user, left.total, left.per_period, left.points_budget) == (0, 60, 0, 600)

    @pytest.mark.parametrize(
        ("quotas", "about"),
        [({(1, "total"): 100}, "total"), ({(1, "2026-11-30"): 5}, "per_period"), ({(1, "points"): 991}, "points_budget")],
    )
    def test_a_cap_that_is_reached_is_a_reason(self, quotas: Any, about: str) -> None:
        found = decisions(bundle(self.OF), quotas=quotas)["invite"]

        assert [(reason.code, reason.about) for reason in found.reasons] == [("cap_reached", about)]

    def test_in_users_zones_all_count_together_by_the_fallback_zone(self) -> None:
        of = task(caps=Caps(per_period=5), period=Period(kind="daily", zone="user"))

        assert codes(decisions(bundle(of), quotas={(1, "2026-11-30"): 5}, zone="Asia/Shanghai")["invite"]) == ["cap_reached"]


def test_tiers_end_at_the_last_one_and_give_all_points_together() -> None:
    of = task(kind="tiers", points=0, tiers=(Tier(target=1, points=5), Tier(target=3, points=10), Tier(target=10, points=50)))

    found = decision(of, record(progress=4))

    assert (found.target, found.points, found.tiers_reached) == (10, 65, 2)


class TestClaims:
    def test_what_is_completed_is_claimable_and_then_claimed(self) -> None:
        of = task(claim=BY_CLAIM, period=DAILY)

        assert decision(of, done(period="2026-11-30")).status == "claimable"
        assert decision(of, done(period="2026-11-30")).claim_until == utc(2026, 11, 30, 17)
        assert decision(of, record(period="2026-11-30", state="claimed", claimed_at=5)).status == "claimed"

    def test_the_grace_after_the_end_is_the_last_chance(self) -> None:
        of = task(claim=BY_CLAIM, ends_at=NOW)

        assert decision(of, done(), now=NOW + timedelta(seconds=3599)).status == "claimable"
        over = decision(of, done(), now=NOW + timedelta(hours=1))
        assert (over.status, codes(over)) == ("completed", ["ended", "claim_over"])

    def test_an_earlier_period_may_still_be_claimed(self) -> None:
        of = task(claim=BY_CLAIM, period=DAILY)
        yesterday = (done(period="2026-11-29"), done(period="2026-11-28"), record(period="2026-11-27", state="claimed"))

        (still,) = decision(of, *yesterday, now=utc(2026, 11, 29, 16, 30)).still_claimable

        assert (still.period.key, still.until, still.points) == ("2026-11-29", utc(2026, 11, 29, 17), 10)
        assert decision(of, *yesterday, now=utc(2026, 11, 29, 17)).still_claimable == ()

    def test_accept_first_waits_for_acceptance(self) -> None:
        of = task(claim=Claim(mode="accept_first"))

        assert (decision(of).status, decision(of).is_accepted) == ("available", False)
        assert decision(of, record(progress=0)).is_accepted
        assert decision(task()).is_accepted


class TestStreaks:
    OF = task(kind="streak", points=100, streak=Streak(length=3, grace=0), period=DAILY)

    def found(self, *days: int, now: Any = NOW, grace: int = 0) -> Any:
        of = task(kind="streak", points=100, streak=Streak(length=3, grace=grace), period=DAILY)
        return decision(of, *(done(period=f"2026-11-{day}") for day in days), now=now)

    @pytest.mark.parametrize(
        ("days", "grace", "run", "in_row", "points"),
        [
            ((), 0, 0, 0, 0),
            ((30,), 0, 1, 1, 0),
            ((29,), 0, 1, 1, 0),
            ((28, 29), 0, 2, 2, 100),
            ((28, 29, 30), 0, 3, 3, 100),
            ((27, 28, 29), 0, 3, 0, 0),
            ((26, 27, 28, 29), 0, 4, 1, 0),
            ((27, 28), 0, 0, 0, 0),
            ((27, 28), 1, 2, 2, 100),
            ((25, 27, 29), 1, 3, 0, 0),
            ((24, 27, 29), 1, 2, 2, 100),
        ],
    )
    def test_days_in_a_row_with_the_misses_that_are_forgiven(
        self, days: tuple[int, ...], grace: int, run: int, in_row: int, points: int
    ) -> None:
        found = self.found(*days, grace=grace)

        assert (found.streak.run, found.streak.in_row, found.points) == (run, in_row, points)

    def test_a_day_that_never_was_is_not_missed(self) -> None:
        of = task(kind="streak", streak=Streak(length=3), period=Period(kind="daily", zone="Pacific/Apia"), starts_at=utc(2011, 1, 1))

        found = decision(of, done(period="2011-12-28"), done(period="2011-12-29"), now=utc(2011, 12, 30, 12))

        assert found.period.key == "2011-12-31"
        assert found.streak is not None
        assert found.streak.run == 2

    def test_records_after_the_moment_asked_for_do_not_count(self) -> None:
        assert self.found(28, 29, 30, now=NOW - DAY).streak.run == 2


class TestUsersInFlight:
    def live(self, before: dict[str, Any], after: dict[str, Any], **more: Any) -> Any:
        from apps.tasks.evaluation.bundle import load_bundle

        first = bundle_bytes(task(**before), revision=4)
        return load_bundle(bundle_bytes(task(**after), revision=5, previous=first, **more))

    def test_who_began_under_the_old_rules_keeps_them_until_the_period_ends(self) -> None:
        live = self.live({"target": 3, "period": DAILY}, {"target": 5, "points": 1, "period": DAILY})

        begun = decisions(live, record(period="2026-11-30", progress=2, revision=4))["invite"]
        assert (begun.target, begun.points, begun.revision) == (3, 10, 4)
        fresh = decisions(live)["invite"]
        assert (fresh.target, fresh.points, fresh.revision) == (5, 1, 5)
        later = decisions(live, record(period="2026-11-30", progress=2, revision=5))["invite"]
        assert (later.target, later.revision) == (5, 5)
        tomorrow = decisions(live, record(period="2026-11-30", progress=2, revision=4), now=NOW + DAY)["invite"]
        assert (tomorrow.target, tomorrow.progress) == (5, 0)

    def test_applied_now_the_new_rules_hold_and_what_is_completed_stays_so(self) -> None:
        live = self.live({"target": 3}, {"target": 5}, in_flight="apply")

        assert decisions(live, record(progress=2, revision=4))["invite"].target == 5
        assert decisions(live, done(revision=4))["invite"].status == "completed"

    def test_another_period_begins_when_the_one_that_runs_is_over(self) -> None:
        weekly = Period(kind="weekly")
        live = self.live({"period": weekly}, {"period": Period(kind="daily")})
        this_week = done(period="week-2026-11-30", revision=4)

        assert decisions(live, this_week)["invite"].status == "completed"
        assert decisions(live, this_week, now=utc(2026, 12, 6, 23))["invite"].status == "completed"
        assert decisions(live, this_week, now=utc(2026, 12, 7))["invite"].period.key == "2026-12-07"
        assert decisions(live)["invite"].period.key == "2026-11-30"

    def test_a_claim_of_an_earlier_period_has_its_own_points(self) -> None:
        claim = Claim(mode="by_claim", grace_s=86_400)
        live = self.live({"claim": claim, "period": DAILY, "points": 7}, {"claim": claim, "period": DAILY, "points": 9})

        (still,) = decisions(live, done(period="2026-11-30", revision=4), now=NOW + timedelta(hours=5))["invite"].still_claimable

        assert still.points == 7


def test_one_task_alone_is_decided_as_among_all() -> None:
    live = bundle(task("a"), task("b", prerequisites=(Prerequisite(task="a"),)))

    assert evaluate_task(live, live.by_code["b"], Profile(42), snapshot(), NOW) == decisions(live)["b"]


@settings(max_examples=300, deadline=None)
@given(
    key=st.one_of(
        st.from_regex(PERIOD_KEY),
        st.builds(
            "{}{:04}-{:02}-{:02}".format,
            st.sampled_from(["", "week-", "month-", "days-"]),
            st.sampled_from([0, 1, 1970, 2026, 9999]),
            st.integers(0, 13),
            st.integers(0, 32),
        ),
        st.builds("{:04}0101T0000Z-{:04}1231T2359Z".format, st.sampled_from([0, 1, 2026, 9999]), st.sampled_from([1, 2027, 9999])),
    ),
    kind=st.sampled_from(["once", "window", "daily", "weekly", "monthly", "every_days"]),
    zone=st.sampled_from(["UTC", "user", "Pacific/Apia"]),
)
def test_no_period_key_in_a_users_records_can_break_his_evaluation(key: str, kind: Any, zone: str) -> None:
    """Whoever writes records may write any key."""
    of = task(kind="streak", streak=Streak(length=2, grace=1), claim=BY_CLAIM, period=Period(kind=kind, zone=zone))

    found = decision(of, done(period=key), record(period=key[:30] + "x"), zone="Asia/Tokyo")

    assert found.status in ("available", "claimable")
