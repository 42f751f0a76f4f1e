"""What a task means is said in a few plain sentences."""

from __future__ import annotations

from datetime import date
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.tasks.config.documents import Caps, Claim, Feed, Period, Prerequisite, Release, Streak, Task, Tier
from apps.tasks.config.meaning import say_task
from tests.unit.config_strategies import FEW, tasks
from tests.unit.task_documents import END, a_configuration, a_task, only_if

SHANGHAI = ZoneInfo("Asia/Shanghai")
DAILY = Period(kind="daily", zone="Asia/Shanghai")
PLAY = (Feed(event="match_finished"),)
TIERS: dict[str, Any] = {"kind": "tiers", "points": 0, "tiers": (Tier(target=3, points=10), Tier(target=7, points=30))}


def deed(**changes: Any) -> str:
    return say_task(a_task(**changes), a_configuration(), SHANGHAI)[0]


def who(**changes: Any) -> str:
    sentences = say_task(a_task(**changes), a_configuration(a_task("first", sequence="story")), SHANGHAI)
    return sentences[1] if len(sentences) > 2 else ""


def limits(**changes: Any) -> str:
    return say_task(a_task(**changes), a_configuration(), SHANGHAI)[-1]


def test_a_daily_task_with_a_condition_is_said_as_an_operator_would() -> None:
    task = a_task(kind="counter", target=5, points=15, period=DAILY, feeds=PLAY, conditions=((only_if("level", ">=", 30),),), ends_at=END)

    assert say_task(task, a_configuration(task), SHANGHAI) == [
        "Every day (Asia/Shanghai, from 00:00): reach 5 in all with `match_finished`, and the user gets 15 points.",
        "Only users with level ≥ 30.",
        "Runs from 1 Dec 2026 08:00 Shanghai to 1 Jan 2027 08:00 Shanghai.",
    ]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({}, "Once: do this, and the user gets 5 points."),
        ({"points": 0}, "Once: do this, and the user gets no points."),
        ({"points": 1, "feeds": PLAY}, "Once: one event `match_finished` is enough, and the user gets 1 point."),
        ({"period": Period(kind="window")}, "Once between start and end: do this, and the user gets 5 points."),
        (
            {"period": Period(kind="weekly", zone="user", resets_at="04:00", week_starts_on=7)},
            "Every week (each user's own zone, from Sunday 04:00): do this, and the user gets 5 points.",
        ),
        ({"period": Period(kind="monthly", month_day=5)}, "Every month (UTC, from day 5, 00:00): do this, and the user gets 5 points."),
        (
            {"period": Period(kind="monthly", month_day=31)},
            "Every month (UTC, from day 31 or the month's last, 00:00): do this, and the user gets 5 points.",
        ),
        (
            {"period": Period(kind="every_days", every_days=3, anchor=date(2026, 12, 1))},
            "Every 3 days (UTC, from 00:00, counted from 1 Dec 2026): do this, and the user gets 5 points.",
        ),
        ({"period": Period(kind="every_days")}, "Every day (UTC, from 00:00): do this, and the user gets 5 points."),
        ({"kind": "counter", "target": 100}, "Once: reach 100, and the user gets 5 points."),
        ({"kind": "counter", "mode": "max", "target": 100}, "Once: reach 100 at one time, and the user gets 5 points."),
        (
            {"kind": "counter", "mode": "set", "target": 100, "feeds": PLAY},
            "Once: reach 100 with `match_finished` (the latest value counts), and the user gets 5 points.",
        ),
        (
            {"kind": "counter", "mode": "distinct", "distinct_by": "rival", "target": 3, "feeds": PLAY},
            "Once: reach 3 different `rival` with `match_finished`, and the user gets 5 points.",
        ),
        (
            {"feeds": (Feed(event="match_finished", where=(only_if("mode", "=", "ranked"),)), Feed(event="raid"))},
            "Once: one event `match_finished` with mode = ranked or `raid` is enough, and the user gets 5 points.",
        ),
        ({"claim": Claim(mode="by_claim")}, "Once: do this, and the user can claim 5 points."),
        ({"claim": Claim(mode="accept_first")}, "Once: accept the task, then do this, and the user gets 5 points."),
        (
            TIERS | {"feeds": PLAY},
            "Once: the user gets 10 points at 3 and 30 points at 7; the values of `match_finished` are added up.",
        ),
        (
            TIERS | {"claim": Claim(mode="by_claim"), "mode": "max"},
            "Once: the user can claim 10 points at 3 and 30 points at 7; a logic server reports the progress, of which the highest counts.",
        ),
        (
            {"kind": "streak", "streak": Streak(length=7), "period": DAILY},
            "Every day (Asia/Shanghai, from 00:00): do this; for 7 days in a row the user gets 5 points.",
        ),
        (
            {"kind": "streak", "streak": Streak(length=4, grace=1), "period": Period(kind="weekly")},
            "Every week (UTC, from Monday 00:00): do this; for 4 weeks in a row (up to 1 missed between two) the user gets 5 points.",
        ),
    ],
)
def test_what_is_to_be_done_and_what_it_gives(changes: dict[str, Any], sentence: str) -> None:
    assert deed(**changes) == sentence


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({}, ""),
        (
            {"conditions": ((only_if("level", ">=", 30), only_if("region", "not_in", ["CN", "US"])), (only_if("vip", "=", True),))},
            "Only users with (level ≥ 30 and region is not CN or US) or (vip = yes).",
        ),
        (
            {"conditions": ((only_if("level", "between", [10, 20]), only_if("registered_on", "before", "2026-12-01")),)},
            "Only users with level from 10 to 20 and registered_on before 2026-12-01.",
        ),
        (
            {"conditions": ((only_if("region", "in", [f"r{i}" for i in range(50)]),),)},
            "Only users with region is r0, r1, r2, r3, r4, r5, r6, r7, r8, r9 or 40 others.",
        ),
        (
            {"prerequisites": (Prerequisite(task="intro"), Prerequisite(task="gift", state="claimed"))},
            "Only users for whom this holds: `intro` completed and `gift` claimed.",
        ),
        (
            {"sequence": "story", "position": 1, "exclusive_group": "g"},
            "Only users for whom this holds: the tasks before it in “story” completed; no other task of “g” begun in the period.",
        ),
        ({"sequence": "other", "position": 1}, ""),
        ({"release": Release(percentage_bp=1_250)}, "Only users for whom this holds: in the 12.5 % of the gray release."),
        (
            {"release": Release(percentage_bp=50, allow=("beta", "staff"), deny=("bots",))},
            "Only users for whom this holds: in the 0.5 % of the gray release, or on the list `beta` or `staff`; not on the list `bots`.",
        ),
        ({"release": Release(percentage_bp=0, allow=("beta",))}, "Only users for whom this holds: on the list `beta`."),
        (
            {"conditions": ((only_if("vip", "exists"),),), "prerequisites": (Prerequisite(task="intro"),)},
            "Only users with vip is known, for whom this holds as well: `intro` completed.",
        ),
    ],
)
def test_who_has_the_task(changes: dict[str, Any], sentence: str) -> None:
    assert who(**changes) == sentence


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({}, "Runs from 1 Dec 2026 08:00 Shanghai on."),
        (
            {"caps": Caps(per_user=2, per_period=50, total=1_000, points_budget=5_000)},
            "Runs from 1 Dec 2026 08:00 Shanghai; at most 2 times per user and period; at most 50 times per period for all users together; "
            "at most 1,000 times in all; at most 5,000 points in all.",
        ),
        (
            {"ends_at": END, "claim": Claim(mode="by_claim", grace_s=172_800)},
            "Runs from 1 Dec 2026 08:00 Shanghai to 1 Jan 2027 08:00 Shanghai; claims are taken until 2 days after the period's end.",
        ),
    ],
)
def test_from_when_and_how_often_in_all(changes: dict[str, Any], sentence: str) -> None:
    assert limits(**changes) == sentence


def test_a_task_that_nobody_can_do_says_so_first() -> None:
    assert deed(switched_off=True) == "Switched off: nobody can do it for now."
    assert deed(switched_off=True, archived=True) == "Archived: nobody can do it any more."


@FEW
@given(tasks(), st.booleans())
def test_any_task_can_be_said_also_one_that_makes_no_sense(task: Task, has_others: bool) -> None:
    sentences = say_task(task, a_configuration(task) if has_others else None)

    assert 2 <= len(sentences) <= 4
    for sentence in sentences:
        assert sentence[0].isupper()
        assert sentence.endswith(".")
