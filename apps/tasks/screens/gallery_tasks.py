"""Tasks to begin with: one of each sort that operators ask for again and again. Whoever takes one changes what is to be different.

Pure. None refers to an event type, an attribute or a list, so each is valid in every configuration as soon as it has a code.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import NamedTuple

import msgspec
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from apps.tasks.config.documents import Claim, Period, Release, Streak, Task, Text, Tier

A_DAY_S = 86_400


class Template(NamedTuple):
    """`title` is for operators; what users read stands in the task, in both languages. `fill` makes the task from a new one."""

    title: str | Promise
    fill: Callable[[Task], Task]


def _texts(english: str, chinese: str, **more: tuple[str, str]) -> dict[str, Text]:
    texts = {"en": {"name": english}, "zh-hans": {"name": chinese}}
    for field, both in more.items():
        texts["en"][field], texts["zh-hans"][field] = both
    return {language: Text(**fields) for language, fields in texts.items()}


def _period(task: Task, kind: str) -> Period:
    return msgspec.structs.replace(task.period, kind=kind)


def _daily(task: Task) -> Task:
    texts = _texts("Log in today", "今日登录", description=("Open the app once a day.", "每天打开一次应用。"))
    return msgspec.structs.replace(task, texts=texts, category="daily", period=_period(task, "daily"), points=5)


def _weekly(task: Task) -> Task:
    texts = _texts("Play 20 matches this week", "本周完成 20 局", description=("Any mode counts.", "任意模式均可。"))
    return msgspec.structs.replace(
        task, texts=texts, category="weekly", kind="counter", target=20, points=100, period=_period(task, "weekly")
    )


def _streak(task: Task) -> Task:
    texts = _texts("Seven days in a row", "连续七天", description=("One missed day is forgiven.", "可以漏一天。"))
    streak = Streak(length=7, grace=1)
    return msgspec.structs.replace(
        task, texts=texts, category="daily", kind="streak", streak=streak, points=70, period=_period(task, "daily")
    )


def _tiers(task: Task) -> Task:
    texts = _texts("Collect shards", "收集碎片", description=("The more, the better.", "越多越好。"))
    tiers = (Tier(target=10, points=10), Tier(target=50, points=40), Tier(target=100, points=100))
    return msgspec.structs.replace(task, texts=texts, kind="tiers", tiers=tiers)


def _festival(task: Task) -> Task:
    texts = _texts(
        "Festival", "节日活动", description=("Take your reward before it is over.", "请在结束前领取奖励。"), button=("Join in", "参加")
    )
    return msgspec.structs.replace(
        task,
        texts=texts,
        category="festival",
        ends_at=task.starts_at + timedelta(days=14),
        period=_period(task, "window"),
        points=50,
        claim=Claim(mode="by_claim", grace_s=3 * A_DAY_S),
    )


def _trial(task: Task) -> Task:
    texts = _texts("Something new", "新任务", description=("Be among the first.", "抢先体验。"))
    return msgspec.structs.replace(task, texts=texts, points=20, release=Release(percentage_bp=1_000))


TEMPLATES: dict[str, Template] = {
    "daily": Template(_("Something to do once a day"), _daily),
    "weekly": Template(_("A number to reach every week"), _weekly),
    "streak": Template(_("Days in a row"), _streak),
    "tiers": Template(_("Several targets, each with its reward"), _tiers),
    "festival": Template(_("A festival of two weeks, its reward to be claimed"), _festival),
    "trial": Template(_("A trial with a tenth of the users"), _trial),
}
