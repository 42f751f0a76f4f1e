"""What changed is told piece by piece, in sentences, with the old and the new value."""

from __future__ import annotations

import time
from datetime import date, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given

from apps.tasks.config.change_words import NOTHING, Sides, all_sides, say_difference, say_differences, sides
from apps.tasks.config.differences import Difference, contents_of, differences, differences_of
from apps.tasks.config.documents import (
    TASK,
    Attribute,
    Caps,
    Claim,
    EventType,
    Feed,
    Period,
    Prerequisite,
    Release,
    Streak,
    Task,
    Text,
    Tier,
    UserList,
    encode,
)
from tests.unit.config_strategies import FEW, configurations, tasks
from tests.unit.task_documents import BETA, END, LEVEL, MATCH, START, a_configuration, a_task, only_if
from tests.unit.wording import has_unfilled_place

SHANGHAI = ZoneInfo("Asia/Shanghai")
TEXTS = {"en": Text(name="Log in today"), "zh-hans": Text(name="今日登录")}


def said(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    return [say_difference(change, SHANGHAI) for change in differences_of(TASK, a_task(**old), a_task(**new))]


LEVEL_30 = only_if("level", ">=", 30)
VIP = only_if("vip", "=", True)
CN = only_if("region", "in", ["CN", "US"])


@pytest.mark.parametrize(
    ("old", "new", "sentences"),
    [
        ({"points": 10}, {"points": 20}, ["points 10 → 20"]),
        ({"points": 1000}, {"points": 2_000_000}, ["points 1,000 → 2,000,000"]),
        ({}, {"starts_at": START + timedelta(hours=16)}, ["starts 2 Dec 2026 00:00 Shanghai instead of 1 Dec 2026 08:00 Shanghai"]),
        ({}, {"ends_at": END}, ["ends 1 Jan 2027 08:00 Shanghai"]),
        ({"ends_at": END}, {}, ["has no end any more (was 1 Jan 2027 08:00 Shanghai)"]),
        (
            {"ends_at": END},
            {"ends_at": END + timedelta(seconds=1)},
            ["ends 1 Jan 2027 08:00:01 Shanghai instead of 1 Jan 2027 08:00 Shanghai"],
        ),
        ({}, {"switched_off": True}, ["switched off"]),
        ({"switched_off": True}, {}, ["switched on again"]),
        ({}, {"archived": True}, ["archived"]),
        ({"archived": True}, {}, ["no longer archived"]),
        ({}, {"texts": TEXTS | {"en": Text(name="Come by")}}, ["name in English “Log in today” → “Come by”"]),
        (
            {},
            {"texts": TEXTS | {"fr": Text(name="Viens", button="Aller")}},
            ["name in French “Viens” added", "button in French “Aller” added"],
        ),
        ({}, {"texts": {"en": TEXTS["en"]}}, ["name in Chinese “今日登录” removed"]),
        ({}, {"kind": "counter", "target": 5}, ["kind: one step → count to a target", "target 1 → 5"]),
        (
            {},
            {"period": Period(kind="daily", zone="user")},
            ["every day instead of once", "time zone of the period: UTC → the user's own"],
        ),
        ({}, {"period": Period(kind="weekly", week_starts_on=7)}, ["every week instead of once", "the week begins on: Monday → Sunday"]),
        ({}, {"period": Period(anchor=date(2026, 12, 1))}, ["counted from: 1 Dec 2026"]),
        ({}, {"late_window_s": 5_400}, ["late events count for: 1 day → 90 minutes"]),
        ({}, {"conditions": ((LEVEL_30,),)}, ["only for users with level ≥ 30"]),
        ({"conditions": ((LEVEL_30,),)}, {}, ["for everybody, no longer only for users with level ≥ 30"]),
        ({"conditions": ((LEVEL_30,),)}, {"conditions": ((LEVEL_30, CN),)}, ["condition region is CN or US added"]),
        (
            {"conditions": ((LEVEL_30, CN),)},
            {"conditions": ((only_if("level", ">=", 40), CN),)},
            ["condition level ≥ 30 removed", "condition level ≥ 40 added"],
        ),
        (
            {"conditions": ((LEVEL_30,),)},
            {"conditions": ((LEVEL_30,), (VIP, CN))},
            ["also for users with vip = yes and region is CN or US"],
        ),
        ({"conditions": ((LEVEL_30,), (VIP,))}, {"conditions": ((LEVEL_30,),)}, ["no longer for users with vip = yes"]),
        ({"conditions": ((LEVEL_30,), (VIP,))}, {"conditions": ((VIP,), (LEVEL_30,))}, ["conditions in another order"]),
        (
            {},
            {"feeds": (Feed(event="match_finished", where=(only_if("mode", "=", "ranked"),)),)},
            ["counts `match_finished` with mode = ranked"],
        ),
        ({}, {"prerequisites": (Prerequisite(task="intro", state="claimed"),)}, ["needs `intro` claimed first"]),
        (
            {"tiers": (Tier(target=3, points=1),)},
            {"tiers": (Tier(target=3, points=2),)},
            ["tier removed: 1 point at 3", "new tier: 2 points at 3"],
        ),
        ({}, {"streak": Streak(length=7, grace=1)}, ["streak: 7 in a row, up to 1 missed between two"]),
        (
            {},
            {"claim": Claim(mode="by_claim", grace_s=172_800)},
            ["the reward comes when the user claims it, up to 2 days after the period's end (before: by itself)"],
        ),
        ({}, {"caps": Caps(total=100, points_budget=5_000)}, ["at most 100 times in all", "at most 5,000 points in all"]),
        ({"caps": Caps(total=100)}, {"caps": Caps(total=200)}, ["completions by all users, ever 100 → 200"]),
        ({"caps": Caps(total=100)}, {}, ["completions by all users, ever removed (was 100)"]),
        (
            {},
            {"release": Release(percentage_bp=2_505, deny=("beta",))},
            ["for 25.05 % of users instead of 100 %", "never for users on `beta`"],
        ),
        ({"tags": ("a", "b")}, {"tags": ("b", "c")}, ["tag “a” removed", "tag “c” added"]),
        ({"tags": ("a", "b")}, {"tags": ("b", "a")}, ["tags in another order"]),
        ({"exclusive_group": "g"}, {"exclusive_group": "h"}, ["exclusive group: g → h"]),
        ({}, {}, []),
    ],
)
def test_a_change_is_a_sentence(old: dict[str, Any], new: dict[str, Any], sentences: list[str]) -> None:
    assert said(old, new) == sentences


def test_the_changes_of_a_document_are_one_line() -> None:
    live = a_configuration(a_task(points=10))
    draft = live.changed({(TASK, "daily-login"): a_task(points=20, starts_at=START - timedelta(hours=8))})

    assert say_differences(differences(live, draft), SHANGHAI) == [
        "`daily-login`: starts 1 Dec 2026 00:00 Shanghai instead of 1 Dec 2026 08:00 Shanghai; points 10 → 20"
    ]


def test_documents_that_come_and_go_are_told_by_what_they_are() -> None:
    old, new = a_configuration(), a_configuration(a_task(conditions=((LEVEL_30,),)), Attribute(name="clan", type="text"))

    assert say_differences(differences(old, new), SHANGHAI) == [
        "`daily-login`: new task “Log in today”: Once: do this, and the user gets 5 points. Only users with level ≥ 30. "
        "Runs from 1 Dec 2026 08:00 Shanghai on.",
        "`clan`: new attribute of type text",
    ]
    assert say_differences(differences(new, old), SHANGHAI) == [
        "`daily-login`: task “Log in today” goes away",
        "`clan`: attribute goes away",
    ]


@pytest.mark.parametrize(
    ("kind", "old", "new", "sentences"),
    [
        ("attribute", LEVEL, Attribute(name="level", type="text", default="x"), ["type: number → text", "value when it is missing: x"]),
        ("attribute", LEVEL, Attribute(name="level", type="number", ttl_s=60), ["how long a value is kept: 5 minutes → 1 minute"]),
        (
            "event",
            MATCH,
            EventType(name="match_finished", attributes={"mode": "text", "score": "text", "team": "boolean"}),
            ["attribute `rival` removed (was text)", "attribute `score`: number → text", "attribute `team`: yes or no"],
        ),
        ("list", BETA, UserList(name="beta", sha256="f" * 64, count=4), ["other users on the list", "number of users 3 → 4"]),
        ("list", None, BETA, ["new list of 3 users"]),
        ("event", MATCH, None, ["event type goes away"]),
    ],
)
def test_changes_of_other_documents_are_sentences_as_well(kind: str, old: Any, new: Any, sentences: list[str]) -> None:
    assert [say_difference(change) for change in differences_of(kind, old, new)] == sentences


def test_old_and_new_stand_side_by_side() -> None:
    (change,) = differences_of(TASK, a_task(conditions=((LEVEL_30,),)), a_task(conditions=((LEVEL_30, VIP),)))
    assert sides(change) == Sides("condition group 1", NOTHING, "vip = yes")

    (change,) = differences_of(TASK, a_task(), a_task(release=Release(percentage_bp=1)))
    assert sides(change) == Sides("share of users", "100 %", "0.01 %")


def test_of_a_new_document_every_field_that_says_something_stands_in_the_table() -> None:
    task = a_task(period=Period(kind="daily"), conditions=((LEVEL_30,),), caps=Caps(total=3))
    (new,) = differences_of(TASK, None, task)
    (gone,) = differences_of(TASK, task, None)

    rows = all_sides(new, SHANGHAI)

    assert rows == [
        Sides("name in English", NOTHING, "Log in today"),
        Sides("name in Chinese", NOTHING, "今日登录"),
        Sides("start", NOTHING, "1 Dec 2026 08:00 Shanghai"),
        Sides("how often", NOTHING, "every day"),
        Sides("points", NOTHING, "5"),
        Sides("conditions", NOTHING, "level ≥ 30"),
        Sides("completions by all users, ever", NOTHING, "3"),
    ]
    assert all_sides(gone, SHANGHAI) == [Sides(row.field, row.new, NOTHING) for row in rows]


def test_true_is_another_value_than_1() -> None:
    changes = differences_of(TASK, a_task(conditions=((only_if("x", "=", 1),),)), a_task(conditions=((only_if("x", "=", True),),)))

    assert [change.what for change in changes] == ["row_removed", "row_added"]


@FEW
@given(tasks(), tasks())
def test_there_is_a_difference_exactly_when_the_documents_differ_and_all_can_be_said(old: Task, new: Task) -> None:
    changes = differences_of(TASK, old, new)

    assert bool(changes) == (encode(old) != encode(new))
    for change in changes:
        assert not has_unfilled_place(say_difference(change), change)
        assert all(isinstance(text, str) for text in sides(change))


@FEW
@given(configurations(), configurations())
def test_what_comes_in_one_direction_goes_in_the_other(one: Any, other: Any) -> None:
    there, back = differences(one, other), differences(other, one)

    assert [(change.kind, change.key) for change in there if not change.path] == [
        (change.kind, change.key) for change in back if not change.path
    ]
    assert all(say_differences(there))
    assert all(say_differences(back))


@FEW
@given(tasks())
def test_the_contents_of_any_document_can_be_said(task: Task) -> None:
    for piece in contents_of(TASK, task):
        assert isinstance(piece, Difference)
        assert all(isinstance(text, str) for text in sides(piece))


def test_two_configurations_of_ten_thousand_tasks_are_compared_within_a_second() -> None:
    live = a_configuration(*(a_task(f"t{i}", conditions=((LEVEL_30, CN),), ends_at=END) for i in range(10_000)))
    # As when the two come from storage: equal, and none the same object.
    draft = type(live)(
        tasks={code: a_task(code, conditions=((LEVEL_30, CN),), ends_at=END, points=5 + (code == "t7")) for code in live.tasks}
    )

    began = time.process_time()
    found = [change for change in differences(live, draft) if change.kind == TASK]
    took_s = time.process_time() - began

    assert [(change.key, change.old, change.new) for change in found] == [("t7", 5, 6)]
    assert took_s < 1
