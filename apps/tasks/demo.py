"""The demo's configuration: tasks of each kind that operators meet, and what they refer to. Moments are relative to the day it is loaded.

Pure. Some are for everybody and can be done at once (the first ones); others show conditions, tiers, a streak, a gray release, a
prerequisite, caps, and what users read in two languages.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from apps.tasks.config.documents import (
    Attribute,
    Caps,
    Claim,
    Condition,
    Configuration,
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
)

TESTERS: tuple[int, ...] = (42, *range(1_000_000_000_000, 1_000_000_000_050))
"""The uids of the demo's list."""
BEGAN_DAYS_AGO = 30

_LOGIN = (Feed(event="login"),)
_MATCH = (Feed(event="match-finished"),)
_DAILY = Period(kind="daily")


def demo_configuration(midnight: datetime) -> Configuration:
    """Everything, as if loaded on the day that begins at `midnight`."""
    tasks = _tasks(midnight)
    return Configuration(
        tasks={task.code: task for task in tasks},
        attributes={attribute.name: attribute for attribute in _ATTRIBUTES},
        events={event.name: event for event in _EVENTS},
        lists={"beta-testers": _list("beta-testers", "Who tries new things first.", TESTERS)},
    )


_ATTRIBUTES = (
    Attribute(name="level", type="number", description="The user's level in the game, from 1.", default=1),
    Attribute(name="vip", type="boolean", description="Whether he pays every month.", default=False),
    Attribute(name="region", type="text", description="Where he plays: cn, eu, na, sea."),
    Attribute(name="registered_on", type="date", description="The day on which he registered.", ttl_s=86_400),
    Attribute(name="client_version", type="version", source="request", description="The version of his app; the caller passes it."),
    Attribute(name="zone", type="text", description="His own time zone, as an IANA name."),
)

_EVENTS = (
    EventType(name="login", description="He opened the app."),
    EventType(name="match-finished", description="A match is over.", attributes={"mode": "text", "won": "boolean"}),
    EventType(name="friend-invited", description="A friend opened the app for the first time.", attributes={"friend": "number"}),
    EventType(name="purchase", description="He bought something.", attributes={"amount": "number", "currency": "text"}),
    EventType(name="shard-found", description="He found shards.", attributes={"dungeon": "text"}),
)


def _tasks(midnight: datetime) -> list[Task]:
    def task(code: str, english: tuple[str, str], chinese: tuple[str, str], **fields: Any) -> Task:
        starts_in, ends_in = fields.pop("starts_in_days", -BEGAN_DAYS_AGO), fields.pop("ends_in_days", None)
        return Task(
            code=code,
            texts={"en": Text(name=english[0], description=english[1]), "zh-hans": Text(name=chinese[0], description=chinese[1])},
            starts_at=midnight + timedelta(days=starts_in),
            ends_at=None if ends_in is None else midnight + timedelta(days=ends_in),
            **fields,
        )

    return [
        task(
            "log-in-today",
            ("Log in today", "Open the app once a day."),
            ("今日登录", "每天打开一次应用。"),
            category="daily",
            weight=100,
            period=_DAILY,
            feeds=_LOGIN,
            points=5,
        ),
        task(
            "log-in-shanghai",
            ("Good morning, Shanghai", "Open the app once a day; the day begins at midnight in Shanghai."),
            ("早安，上海", "每天打开一次应用；一天从上海时间零点开始。"),
            category="daily",
            period=Period(kind="daily", zone="Asia/Shanghai"),
            feeds=_LOGIN,
            points=5,
        ),
        task(
            "log-in-new-york",
            ("Good morning, New York", "Open the app once a day; the day begins at midnight in New York."),
            ("早安，纽约", "每天打开一次应用；一天从纽约时间零点开始。"),
            category="daily",
            period=Period(kind="daily", zone="America/New_York"),
            feeds=_LOGIN,
            points=5,
        ),
        task(
            "complete-profile",
            ("Complete your profile", "Add a picture and your birthday."),
            ("完善个人资料", "添加头像和生日。"),
            category="first steps",
            points=20,
        ),
        task(
            "verify-email",
            ("Verify your e-mail address", "Follow the link in our message."),
            ("验证邮箱", "点击我们邮件中的链接。"),
            category="first steps",
            points=10,
        ),
        task(
            "invite-3-friends",
            ("Invite 3 friends", "They must open the app once."),
            ("邀请 3 位好友", "他们需打开一次应用。"),
            category="friends",
            kind="counter",
            feeds=(Feed(event="friend-invited"),),
            target=3,
            points=50,
        ),
        task(
            "play-5-matches",
            ("Play 5 matches", "Any mode counts."),
            ("完成 5 场对局", "任何模式都算。"),
            category="daily",
            kind="counter",
            period=_DAILY,
            feeds=_MATCH,
            target=5,
            points=15,
        ),
        task(
            "first-purchase",
            ("Buy something in the shop", "Whatever you like."),
            ("在商店购买一次", "买什么都行。"),
            category="shop",
            feeds=(Feed(event="purchase"),),
            points=100,
        ),
        task(
            "collect-100-shards",
            ("Collect 100 shards", "They lie in the dungeons."),
            ("收集 100 块碎片", "它们散落在地下城里。"),
            kind="counter",
            feeds=(Feed(event="shard-found"),),
            target=100,
            points=200,
            caps=Caps(points_budget=5_000_000),
        ),
        task(
            "winter-festival",
            ("Winter festival", "Light the lantern on the main square."),
            ("冬日庆典", "点亮中央广场的灯笼。"),
            category="season",
            weight=50,
            ends_in_days=30,
            points=30,
            release=Release(percentage_bp=5_000, allow=("beta-testers",)),
        ),
        task(
            "new-year",
            ("New year's greeting", "Send a card to a friend."),
            ("新年问候", "给好友寄一张贺卡。"),
            category="season",
            starts_in_days=21,
            ends_in_days=45,
            points=25,
            conditions=((Condition(attribute="region", operator="in", value=["eu", "na"]),),),
        ),
        task(
            "autumn-harvest",
            ("Autumn harvest", "It is over: shown so that an ended task can be seen."),
            ("秋日丰收", "已经结束：用来展示结束的任务。"),
            category="season",
            starts_in_days=-60,
            ends_in_days=-20,
            points=40,
        ),
        task(
            "beta-survey",
            ("Answer the beta survey", "Switched off: shown so that a switched-off task can be seen."),
            ("填写测试问卷", "已停用：用来展示停用的任务。"),
            switched_off=True,
            points=10,
            release=Release(percentage_bp=0, allow=("beta-testers",)),
        ),
        task(
            "veteran-match",
            ("Win a ranked match", "For level 30 and VIPs from level 10 on."),
            ("赢一场排位赛", "30 级以上，或 10 级以上的 VIP。"),
            category="daily",
            period=Period(kind="daily", zone="user", fallback_zone="Asia/Shanghai", resets_at="04:00"),
            feeds=(
                Feed(
                    event="match-finished",
                    where=(
                        Condition(attribute="mode", operator="=", value="ranked"),
                        Condition(attribute="won", operator="=", value=True),
                    ),
                ),
            ),
            points=20,
            conditions=(
                (Condition(attribute="level", operator=">=", value=30),),
                (Condition(attribute="vip", operator="=", value=True), Condition(attribute="level", operator=">=", value=10)),
            ),
        ),
        task(
            "weekly-matches",
            ("A week of matches", "Five, ten and twenty matches in a week: each step has a reward."),
            ("一周对局", "一周内完成 5、10、20 场对局，每一档都有奖励。"),
            category="weekly",
            kind="tiers",
            period=Period(kind="weekly", zone="Asia/Shanghai", resets_at="04:00"),
            feeds=_MATCH,
            tiers=(Tier(target=5, points=10), Tier(target=10, points=20), Tier(target=20, points=50)),
            claim=Claim(mode="by_claim", grace_s=86_400),
        ),
        task(
            "log-in-7-days",
            ("Seven days in a row", "Open the app on seven days in a row; one missed day is forgiven."),
            ("连续登录七天", "连续七天打开应用，可漏一天。"),
            category="daily",
            kind="streak",
            period=Period(kind="daily", zone="Asia/Shanghai"),
            feeds=_LOGIN,
            streak=Streak(length=7, grace=1),
            points=70,
        ),
        task(
            "second-purchase",
            ("Come again", "Buy something once more; with the new app."),
            ("再次光顾", "用新版应用再购买一次。"),
            category="shop",
            feeds=(Feed(event="purchase", where=(Condition(attribute="amount", operator=">=", value=10),)),),
            points=60,
            prerequisites=(Prerequisite(task="first-purchase"),),
            conditions=((Condition(attribute="client_version", operator=">=", value="2.4"),),),
            caps=Caps(total=100_000),
        ),
    ]


def _list(name: str, description: str, uids: Sequence[int]) -> UserList:
    text = "".join(f"{uid}\n" for uid in uids).encode()
    return UserList(name=name, description=description, sha256=hashlib.sha256(text).hexdigest(), count=len(uids))
