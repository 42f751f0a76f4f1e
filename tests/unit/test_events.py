"""What an event does: which tasks it feeds, with which change, and why others that listen are not fed."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from apps.tasks.config.documents import Caps, Claim, Condition, Feed, Period, Prerequisite, Streak, Task, Tier
from apps.tasks.evaluation.attributes import Profile
from apps.tasks.evaluation.bundle import Bundle, load_bundle
from apps.tasks.evaluation.changes import member_of
from apps.tasks.evaluation.events import Event, Feeding, feed, is_registered
from apps.tasks.evaluation.standing import User
from tests.unit.evaluating import DAY, NOW, bundle, bundle_bytes, done, record, snapshot, task, utc, where
from workers.protocol import Change, TaskRecord, encode, parse_changes

DAILY = Period(kind="daily", zone="Asia/Shanghai")


def fed(*where: Condition, **fields: Any) -> Task:
    """A task that counts matches."""
    return task(**{"kind": "counter", "target": 3, "feeds": (Feed(event="match", where=where),), **fields})


def told(live: Bundle, *records: TaskRecord, type: str = "match", value: int = 1, late: timedelta = timedelta(0), **more: Any) -> Feeding:
    """`at` is the event's time; what is left of `more` are its attributes."""
    at, profile = more.pop("at", NOW), more.pop("profile", {})
    user = User(live, Profile(42, profile), snapshot(*records), at, None)
    found = feed(Event(type, value, more), user, at + late)
    if found.changes:
        parse_changes(encode(found.changes))  # the DBSvr takes them
    return found


def change(of: Task, *records: TaskRecord, **more: Any) -> Change:
    (only,) = told(bundle(of), *records, **more).changes
    return only


def reasons(of: Task, *records: TaskRecord, **more: Any) -> list[str]:
    found = told(bundle(of), *records, **more)
    assert not found.fed
    return [reason.code for each in found.not_fed for reason in each.reasons]


def test_an_event_counts_for_every_task_that_listens_in_one_write() -> None:
    live = bundle(fed(code="a"), fed(code="b"), task("c"), task("d", feeds=(Feed(event="paid"),)))

    assert [(each.task, each.op, each.value) for each in told(live).changes] == [(1, "add", 1), (2, "add", 1)]


def test_an_event_that_nobody_listens_to_feeds_nothing() -> None:
    found = told(bundle(fed()), type="paid")

    assert (found.fed, found.not_fed) == ((), ())


def test_event_types_are_those_that_are_registered() -> None:
    live = bundle(fed())

    assert is_registered(live, "match")
    assert not is_registered(live, "martch")
    nothing = b'{"schema":1,"revision":1,"published_at":"2026-11-30T12:00:00Z","tasks":[],"attributes":{},"events":{},"lists":{}}'
    assert is_registered(load_bundle(nothing), "anything")


@pytest.mark.parametrize(
    ("attributes", "counts"),
    [
        ({"mode": "ranked", "score": 10}, True),
        ({"mode": "ranked", "score": 9}, False),
        ({"mode": "casual", "score": 10}, False),
        ({"mode": "ranked"}, False),
        ({"mode": "ranked", "score": "10"}, False),
        ({"mode": "ranked", "score": None}, False),
        ({"mode": "ranked", "score": True}, False),
    ],
)
def test_every_row_of_a_filter_must_hold_and_what_is_of_another_type_never_does(attributes: dict[str, Any], counts: bool) -> None:
    live = bundle(fed(where("mode", "=", "ranked"), where("score", ">=", 10)))

    found = told(live, **attributes)

    assert bool(found.fed) == counts
    assert not found.not_fed, "of a task that does not listen nothing is said"


def test_one_filter_of_several_must_hold_and_the_event_counts_once() -> None:
    feeds = (*(Feed(event="match", where=(where("mode", "=", mode),)) for mode in ("ranked", "cup")), Feed(event="match"))
    of = task(kind="counter", target=3, feeds=feeds)

    assert change(of, mode="cup").value == 1


@pytest.mark.parametrize("mode", ["add", "max", "set"])
def test_the_mode_says_what_is_done_with_the_value(mode: str) -> None:
    found = change(fed(mode=mode), value=7)

    assert (found.op, found.value, found.member, found.target, found.points, found.period) == (mode, 7, "", 3, 10, "once")


def test_mode_distinct_counts_the_values_of_an_attribute() -> None:
    of = fed(mode="distinct", distinct_by="rival")

    assert (change(of, rival="anna").op, change(of, rival="anna").member, change(of, rival="anna").value) == ("distinct", "anna", 0)
    assert reasons(of) == ["member_missing"]
    assert reasons(of, rival=5) == ["member_missing"], "it is a text"
    assert reasons(of, rival="") == ["member_missing"]
    assert change(fed(mode="distinct", distinct_by="score"), score=5.0).member == "5"


def test_members_are_short_printable_and_one_for_one_value() -> None:
    assert [member_of(value) for value in (5, 5.0, 5.5, True, "x", None, [1], "")] == ["5", "5", "5.5", "true", "x", "", "", ""]
    long, line = member_of("x" * 200), member_of("a\nb")
    assert long.startswith("sha256:")
    assert long != member_of("x" * 201)
    assert line.startswith("sha256:")


def test_the_period_and_the_window_are_those_of_the_events_time() -> None:
    of = fed(period=DAILY, starts_at=NOW - DAY, ends_at=NOW)

    assert change(of, at=NOW - DAY).period == "2026-11-29"
    assert reasons(of, at=NOW - DAY - timedelta(microseconds=1)) == ["not_started"]
    assert change(of, at=NOW - timedelta(microseconds=1)).period == "2026-11-30"
    assert reasons(of, at=NOW) == ["ended"]


def test_an_event_counts_until_it_is_too_late() -> None:
    of = fed(late_window_s=60)

    assert change(of, late=timedelta(seconds=60)).op == "add"
    found = told(bundle(of), late=timedelta(seconds=61))
    assert [(reason.code, reason.wanted, reason.actual) for reason in found.not_fed[0].reasons] == [("too_late", 60, 61)]


def test_who_may_not_do_a_task_is_not_counted_for_it_and_the_reasons_are_given() -> None:
    of = fed(conditions=((where("level", ">=", 30),),), claim=Claim(mode="accept_first"))

    assert reasons(of, profile={"level": 29}) == ["condition_unmet", "not_accepted"]
    assert change(of, record(progress=0), profile={"level": 30}).needs_record


def test_the_user_stands_where_he_stands_before_the_event() -> None:
    live = bundle(fed(code="a", target=1), fed(code="b", prerequisites=(Prerequisite(task="a"),)))

    found = told(live)

    assert [each.decision.task.code for each in found.fed] == ["a"]
    assert [each.task.code for each in found.not_fed] == ["b"]


def test_of_an_exclusive_group_the_heaviest_is_fed_and_the_write_is_told_of_the_others() -> None:
    live = bundle(fed(code="a", exclusive_group="g"), fed(code="b", exclusive_group="g", weight=5, period=DAILY), fed(code="c"))

    found = told(live)

    assert [(each.change.task, each.change.excludes) for each in found.fed] == [(2, ((1, "once"),)), (3, ())]
    (left,) = found.not_fed
    assert (left.task.code, left.reasons[0].code, left.reasons[0].actual) == ("a", "exclusive_group", "b")


def test_who_has_begun_a_task_of_a_group_goes_on_with_it() -> None:
    live = bundle(fed(code="a", exclusive_group="g"), fed(code="b", exclusive_group="g", weight=5))

    found = told(live, record(1))

    assert [(each.change.task, each.change.excludes) for each in found.fed] == [(1, ())]
    assert [each.task.code for each in told(live, record(1), record(2)).not_fed] == [], "he began both in a race"


def test_tiers_travel_each_with_its_points() -> None:
    of = fed(kind="tiers", target=1, points=0, tiers=(Tier(target=1, points=5), Tier(target=10, points=20)))

    found = change(of)

    assert (found.tiers, found.target, found.points) == (((1, 5), (10, 20)), 10, 0)


def test_a_streak_gives_its_points_only_when_the_period_fills_it() -> None:
    of = fed(kind="streak", target=2, streak=Streak(length=3), period=DAILY)
    day = lambda n: done(period=f"2026-11-{n}")  # noqa: E731

    assert change(of, day(29)).points == 0
    assert change(of, day(28), day(29)).points == 10
    assert change(of, day(27), day(28), day(29)).points == 0


def test_caps_travel_by_quota_key() -> None:
    of = fed(caps=Caps(per_user=1, total=100, per_period=10, points_budget=500), period=DAILY)

    assert change(of).caps == {"total": 100, "2026-11-30": 10, "points": 500}
    assert change(fed(caps=Caps(per_user=1))).caps == {}


def test_the_quota_of_a_period_in_the_users_own_zone_hangs_on_that_period_alone() -> None:
    of = fed(caps=Caps(per_period=10), period=Period(kind="daily", zone="user", fallback_zone="UTC"))
    tokyo = {"zone": "Asia/Tokyo"}

    early, late = change(of, at=utc(2026, 11, 29, 15), profile=tokyo), change(of, at=utc(2026, 11, 30, 14, 59), profile=tokyo)

    assert early.period == late.period
    assert early.caps == late.caps == {"2026-11-30": 10}


def test_a_reward_by_claim_is_told_to_the_write() -> None:
    assert change(fed(claim=Claim(mode="by_claim"))).by_claim
    assert not change(fed()).by_claim


def test_kept_rules_and_their_revision_hold_for_who_began_under_them() -> None:
    before = bundle_bytes(fed(target=3, mode="add"))
    live = load_bundle(bundle_bytes(fed(target=5, mode="max"), revision=2, previous=before))

    (kept,), (new,) = told(live, record(revision=1)).changes, told(live).changes

    assert (kept.op, kept.target, kept.revision) == ("add", 3, 1)
    assert (new.op, new.target, new.revision) == ("max", 5, 2)


def test_what_is_done_and_given_for_good_is_fed_no_more() -> None:
    assert reasons(fed(), done(progress=3, granted=1)) == ["already_done"]
    assert reasons(fed(claim=Claim(mode="by_claim")), record(progress=3, state="claimed")) == ["already_done"]


def test_progress_past_the_target_counts_while_it_may_be_taken_back() -> None:
    assert change(fed(claim=Claim(mode="by_claim")), done(progress=3)).op == "add"
    assert change(fed(revert_takes_back=True), done(progress=3, granted=1)).op == "add"
