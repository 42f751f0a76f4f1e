"""Explanations: every check in its order, and of one mind with the decision."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.tasks.config.documents import Caps, Claim, Condition, Period, Prerequisite, Release
from apps.tasks.evaluation.evaluator import Profile, explain
from apps.tasks.evaluation.explanation import CHECKS
from apps.tasks.evaluation.reasons import REASONS
from tests.unit.evaluating import DAY, NOW, bundle, decisions, done, explanation, record, snapshot, task, where


def test_each_condition_says_wanted_actual_and_where_the_value_comes_from() -> None:
    of = task(conditions=((where("level", ">=", 30), where("region", "=", "cn"), where("tries", "=", 0), where("vip", "=", True)),))
    profile = Profile(42, {"level": 28, "vip": "yes"}, frozenset({"level"}))

    (found,) = explain(bundle(of), profile, snapshot(), NOW)

    rows = [(check.about, check.outcome, check.wanted, check.actual, check.note) for check in found.checks if check.check == "condition"]
    assert rows == [
        ("level", "unmet", 30, 28, "caller"),
        ("region", "unknown", "cn", None, "missing"),
        ("tries", "met", 0, 0, "default"),
        ("vip", "unknown", True, "yes", "wrong_type"),
    ]
    assert not found.is_shown
    assert [check.about for check in found.failing] == ["level", "region", "vip"]


def test_of_several_groups_only_what_the_nearest_lacks_decides() -> None:
    found = explanation(task(conditions=((where("level", ">=", 30), where("level", ">=", 20)), (where("level", ">=", 50),))), level=10)

    assert [(check.group, check.decides) for check in found.checks if check.check == "condition"] == [(1, False), (1, False), (2, True)]


def test_being_on_the_allow_list_outweighs_the_share_and_the_explanation_shows_both() -> None:
    live = bundle(task(release=Release(percentage_bp=0, allow=("staff",))), lists={"staff": [42]})

    (found,) = explain(live, Profile(42), snapshot(), NOW)

    assert [(check.check, check.outcome, check.decides) for check in found.checks[2:]] == [
        ("allow_list", "met", False),
        ("share", "unmet", False),
    ]
    assert found.is_shown


def test_the_zone_and_the_bucket_are_said() -> None:
    found = explanation(task(period=Period(kind="daily", zone="user", fallback_zone="Europe/Berlin")), zone="Asia/Shanghai")

    assert (found.zone, 0 <= found.bucket < 10_000) == ("Asia/Shanghai", True)
    assert explanation(task(period=Period(kind="daily", zone="user", fallback_zone="Europe/Berlin"))).zone == "Europe/Berlin"
    assert explanation(task()).zone == ""


def test_a_cap_whose_use_nobody_told_is_unknown_and_decides_nothing() -> None:
    found = explanation(task(caps=Caps(total=5)))

    (cap,) = [check for check in found.checks if check.check == "cap"]
    assert (cap.outcome, cap.decides, cap.about) == ("unknown", False, "total")
    assert found.is_shown


OPERATORS = st.sampled_from(["=", "!=", ">=", "<"])
ROWS = st.builds(Condition, attribute=st.sampled_from(["level", "tries", "nobody-knows"]), operator=OPERATORS, value=st.integers(0, 3))


@st.composite
def tasks(draw: st.DrawFn, code: str) -> Any:
    return task(
        code,
        switched_off=draw(st.sampled_from([False, False, False, True])),
        starts_at=NOW + draw(st.sampled_from([-9, -9, 0, 1])) * DAY,
        ends_at=draw(st.sampled_from([None, None, NOW + 9 * DAY])),
        conditions=tuple(tuple(group) for group in draw(st.lists(st.lists(ROWS, min_size=1, max_size=3), max_size=3))),
        prerequisites=tuple(Prerequisite(task=each) for each in draw(st.sets(st.sampled_from(["a", "gone"]))) if each != code),
        exclusive_group=draw(st.sampled_from(["", "g"])),
        sequence=draw(st.sampled_from(["", "s"])),
        position=ord(code),
        claim=Claim(mode=draw(st.sampled_from(["automatic", "by_claim", "accept_first"]))),
        caps=Caps(total=draw(st.sampled_from([None, 3])), points_budget=draw(st.sampled_from([None, 30]))),
        release=Release(
            percentage_bp=draw(st.sampled_from([0, 5_000, 10_000])),
            allow=tuple(draw(st.sets(st.sampled_from(["odd", "few"])))),
            deny=tuple(draw(st.sets(st.sampled_from(["few", "none"])))),
        ),
        period=Period(kind=draw(st.sampled_from(["once", "daily"]))),
    )


@settings(max_examples=250, deadline=None)
@given(data=st.data())
def test_what_decides_is_what_the_decision_gives_as_reasons_one_for_one(data: st.DataObject) -> None:
    of = [data.draw(tasks(code)) for code in ("a", "b", "c")]
    uid = data.draw(st.integers(1, 9))
    live = bundle(*of, lists={"odd": [1, 3, 5, 7, 9], "few": [2, 3], "none": []})
    records = [
        record(
            number, period, progress=data.draw(st.integers(0, 1)), state=data.draw(st.sampled_from(["in_progress", "completed", "claimed"]))
        )
        for number in (1, 2, 3)
        for period in data.draw(st.sets(st.sampled_from(["once", "2026-11-30", "2026-11-29"])))
    ]
    attributes = data.draw(st.dictionaries(st.sampled_from(["level", "tries"]), st.one_of(st.integers(0, 3), st.just("x"))))
    quotas = data.draw(st.sampled_from([None, {}, {(1, "total"): 3, (2, "points"): 21}]))

    decided = decisions(live, *records, uid=uid, quotas=quotas, **attributes)
    explained = explain(live, Profile(uid, attributes), snapshot(*records, uid=uid), NOW, quotas)

    for each in explained:
        decision = decided[each.decision.task.code]
        assert each.decision == msgspec.structs.replace(decision, answers=None)
        against = [reason for reason in decision.reasons if reason.code != "claim_over"]
        assert [(check.reason, check.about, check.wanted) for check in each.failing if check.check == "condition"] == [
            (reason.code, reason.about, reason.wanted) for reason in against if reason.code in ("condition_unmet", "attribute_unknown")
        ]
        assert [check.reason for check in each.failing] == [reason.code for reason in against]
        assert all(check.outcome != "met" for check in each.failing)
        assert (each.is_shown and decision.status in ("available", "in_progress")) == (not against and not done_already(decision.status))
        assert {check.check for check in each.checks} <= set(CHECKS)
        assert [CHECKS.index(check.check) for check in each.checks] == sorted(CHECKS.index(check.check) for check in each.checks)
        assert {reason.code for reason in decision.reasons} <= set(REASONS)


def done_already(status: str) -> bool:
    return status in ("completed", "claimable", "claimed")


def test_only_the_tasks_asked_for_are_explained() -> None:
    live = bundle(task("a"), task("b"))

    (found,) = explain(live, Profile(42), snapshot(done(2)), NOW, tasks=[live.by_code["b"]])

    assert (found.decision.task.code, found.decision.status) == ("b", "completed")
