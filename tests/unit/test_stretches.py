"""What is decided once for many users is what would be decided for each: against deciding every task anew, row by row."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import pairwise, product

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.tasks.evaluation import conditions, stretches
from apps.tasks.evaluation.bundle import Bundle
from apps.tasks.evaluation.conditions import lacking
from apps.tasks.evaluation.decisions import Decision, decide
from apps.tasks.evaluation.evaluator import Profile, evaluate
from apps.tasks.evaluation.standing import User
from tests.unit.evaluating import DAY, NOW, bundle, decisions, record, snapshot, task, where
from tests.unit.many_tasks import BUNDLE, HOUR, MOMENTS, attributes, records, rich_bundle
from workers.protocol import TaskRecord


def anew(bundle: Bundle, profile: Profile, of: list[TaskRecord], now: datetime) -> list[Decision]:
    return [decide(each, User(bundle, profile, snapshot(*of, uid=profile.uid), now, {})) for each in bundle.tasks]


def bare(decision: Decision) -> Decision:
    """Without what others keep with it."""
    return msgspec.structs.replace(decision, answers=None)


@settings(deadline=None)
@given(st.data())
def test_many_tasks_are_decided_as_each_would_be_alone(data: st.DataObject) -> None:
    uid, given_values = data.draw(st.integers(40, 50)), data.draw(attributes())
    profile = Profile(uid, given_values)
    begun = anew(BUNDLE, profile, [], data.draw(MOMENTS)) + anew(BUNDLE, profile, [], data.draw(MOMENTS))
    done = data.draw(records(begun))

    for now in data.draw(st.lists(MOMENTS, min_size=1, max_size=4)):  # in any order: stretches are kept from one to the next
        assert [bare(it) for it in evaluate(BUNDLE, profile, snapshot(*done, uid=uid), now, {})] == anew(BUNDLE, profile, done, now)


@settings(deadline=None)
@given(attributes())
def test_the_table_of_conditions_finds_unmet_what_lacks_a_row(values: dict[str, object]) -> None:
    user = User(BUNDLE, Profile(42, values), snapshot(), NOW, None)

    assert {it.code: user.meets_conditions(it) for it in BUNDLE.tasks} == {
        it.code: not lacking(it.groups, user.values) for it in BUNDLE.tasks
    }


def test_true_is_no_number_and_one_no_boolean_whoever_comes_first() -> None:
    rows = task("of-one", conditions=((where("level", "=", 1),),)), task("of-true", conditions=((where("vip", "=", True),),))
    for order in ([1, True], [True, 1]):
        live = bundle(*rows)
        for value in order:
            found = decisions(live, level=value, vip=value)
            assert found["of-one"].status == ("unavailable" if value is True else "available")
            assert found["of-true"].status == ("available" if value is True else "unavailable")


def test_a_list_or_an_object_meets_no_row() -> None:
    live = bundle(task("either", conditions=((where("level", "!=", 5),),)))
    for value in ([1], {"level": 7}, [1]):
        assert decisions(live, level=value)["either"].status == "unavailable"
    assert decisions(live, level=7)["either"].status == "available"


def test_values_that_do_not_repeat_do_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conditions, "MOST_VALUES", 10)
    live = rich_bundle()

    for level in range(100):
        found = decisions(live, level=level, region="eu")
        assert (found["level"].status == "available") == (level >= 30)

    assert max(len(known) for known, _checks in live.conditions._columns.values()) <= 10


def test_zones_that_nobody_knows_and_ever_new_ones_do_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    live = rich_bundle()
    for number in range(50):
        decisions(live, zone=f"Nowhere/{number}")
    assert set(live.stretches) == {""}

    monkeypatch.setattr(stretches, "MOST_KEPT", 3 * live.in_users_zones)
    for zone in ("UTC", "Asia/Shanghai", "Asia/Tokyo", "Asia/Kathmandu", "Europe/Berlin"):
        decisions(live, zone=zone)
        assert len(live.stretches) <= 3


def test_zones_share_what_is_in_no_users_zone() -> None:
    live = rich_bundle()
    here, there = (decisions(live, zone=zone) for zone in ("Asia/Tokyo", "America/New_York"))

    assert here["daily"] is there["daily"]
    assert here["in-users-zone"].period != there["in-users-zone"].period


def test_records_that_do_not_repeat_do_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stretches, "MOST_ALIKE", 10)
    live = rich_bundle()

    for progress in range(2 * stretches.SMALL_PROGRESS):
        found = decisions(live, record(1, "once", progress))
        assert found["once"].progress == progress

    assert len(live.alike) <= 10


def test_who_has_done_as_much_shares_the_decision() -> None:
    live = rich_bundle()
    first, second = (decisions(live, record(1, "once", 0), uid=uid)["once"] for uid in (1, 2))

    assert first is second
    assert decisions(live, record(1, "once", 1, state="completed", completed_at=5))["once"].completed_at == 5


def test_who_has_completed_a_task_is_decided_as_he_would_be_alone_whoever_came_before() -> None:
    live, profile = rich_bundle(), Profile(42, {"level": 30, "region": "eu", "zone": "Asia/Tokyo"})
    for begun in anew(live, profile, [], NOW):
        said = product(["in_progress", "completed", "claimed"], [1, 5, 9], [0, 1], [1, 2], [(1, None), (2, 3), (2, None)])
        for state, progress, granted, revision, (completed_at, claimed_at) in said:
            moments = {"completed_at": completed_at, "claimed_at": claimed_at}
            of = record(begun.task.number, begun.period.key, progress, state, granted=granted, revision=revision, **moments)
            place = live.places[begun.task.number]
            found = evaluate(live, profile, snapshot(of), NOW, {})[place]
            assert bare(found) == decide(begun.task, User(live, profile, snapshot(of), NOW, {}))


def test_a_stretch_ends_where_a_window_or_period_begins_or_ends() -> None:
    profile = Profile(42, {"zone": "Asia/Kathmandu"})
    ends, now = [], NOW
    while now < NOW + 2 * DAY:
        stretch = stretches.stretch_of(User(BUNDLE, profile, snapshot(), now, None))
        assert stretch.holds(now)
        assert stretch.until is not None
        ends.append(stretch.until)
        now = stretch.until

    assert {NOW + 5 * HOUR, NOW + 7 * HOUR, NOW + 12 * HOUR, NOW + 30 * HOUR} <= set(ends)
    assert NOW + timedelta(hours=6, minutes=15) in ends  # midnight in Kathmandu
    assert all(before < after for before, after in pairwise(ends))


def test_what_depends_on_more_than_the_users_attributes_is_decided_for_each() -> None:
    live = rich_bundle()
    decisions(live)
    shared = {each.task.code for each in live.stretches[""].shared if each is not None}

    assert {"once", "daily", "in-users-zone", "level", "streak", "claimed", "rules-kept"} <= shared
    assert not shared & {"released", "listed", "capped", "after-once", "one-of-two", "switched-off", "opens-later"}


def test_what_hangs_on_earlier_records_too_is_not_decided_for_who_has_none() -> None:
    profile = Profile(42, {"level": 30, "region": "eu", "zone": "Asia/Tokyo"})
    for state, completed_at in (("in_progress", None), ("completed", 2)):
        live = rich_bundle()
        earlier, present = ({it.task.number: it.period.key for it in anew(live, profile, [], at)} for at in (NOW - DAY, NOW))
        of_now = [record(number, key, 1, state, completed_at=completed_at) for number, key in present.items()]
        of_before = [record(number, key, 5, "completed", completed_at=1) for number, key in earlier.items() if key != present[number]]
        assert of_before
        for of in ([*of_now, *of_before], of_now, [*of_before, *of_now]):
            found = evaluate(live, profile, snapshot(*of, uid=42), NOW, {})
            assert [bare(it) for it in found] == anew(live, profile, of, NOW)
