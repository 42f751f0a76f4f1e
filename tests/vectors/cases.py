"""What the published vectors ask. The answers are computed; that they are right is the other tests' matter.

Every case is drawn or listed here once, so that a second run writes the same files.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import date, datetime, timedelta, timezone
from typing import Any

from apps.tasks.config.documents import (
    OPERATORS,
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
    Tier,
    UserList,
)

UTC = timezone.utc
NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
DAY = timedelta(days=1)

ZONES = ("UTC", "America/New_York", "Australia/Lord_Howe", "America/Santiago", "Asia/Beirut", "Pacific/Apia", "Asia/Shanghai")

CHANGES_OF_CLOCKS = {
    "UTC": (datetime(2026, 12, 1, tzinfo=UTC),),
    "America/New_York": (datetime(2026, 3, 8, 7, tzinfo=UTC), datetime(2026, 11, 1, 6, tzinfo=UTC)),
    "Australia/Lord_Howe": (datetime(2026, 4, 4, 15, tzinfo=UTC), datetime(2026, 10, 3, 15, 30, tzinfo=UTC)),
    "America/Santiago": (datetime(2026, 4, 5, 3, tzinfo=UTC), datetime(2026, 9, 6, 4, tzinfo=UTC)),
    "Asia/Beirut": (datetime(2026, 3, 28, 22, tzinfo=UTC), datetime(2026, 10, 24, 21, tzinfo=UTC)),
    "Pacific/Apia": (datetime(2011, 12, 30, 10, tzinfo=UTC),),
    "Asia/Shanghai": (datetime(2026, 11, 30, 16, tzinfo=UTC),),
}
PERIODS = (
    Period(kind="daily"),
    Period(kind="daily", resets_at="02:30"),
    Period(kind="daily", resets_at="23:59"),
    Period(kind="weekly"),
    Period(kind="weekly", week_starts_on=6, resets_at="05:00"),
    Period(kind="monthly", month_day=31),
    Period(kind="every_days", every_days=3, anchor=date(2011, 12, 30)),
)


def periods() -> Iterator[tuple[Period, str, datetime]]:
    """Around every change of clocks: an hour before, just before, at it, an hour and a day after."""
    for period in PERIODS:
        for zone, changes in CHANGES_OF_CLOCKS.items():
            for change in changes:
                for after in (-timedelta(hours=1), -timedelta(seconds=1), timedelta(0), timedelta(hours=1), DAY):
                    yield period, zone, change + after
    for day in (datetime(2027, 2, 28, tzinfo=UTC), datetime(2028, 2, 28, 23, tzinfo=UTC), datetime(2028, 2, 29, tzinfo=UTC)):
        yield Period(kind="monthly", month_day=31), "UTC", day


def user_periods() -> Iterator[tuple[Period, str, datetime, list[str]]]:
    """Period, the zone that the user has now, the moment, and the keys of his records."""
    shanghai, daily = "20261129T1600Z-20261130T1600Z", Period(kind="daily", zone="user")
    yield daily, "Asia/Shanghai", NOW, []
    yield daily, "America/New_York", NOW, [shanghai]
    yield daily, "America/New_York", datetime(2026, 11, 30, 16, tzinfo=UTC), [shanghai]
    yield daily, "America/New_York", datetime(2026, 12, 1, 5, tzinfo=UTC), [shanghai]
    yield daily, "Asia/Kolkata", datetime(2026, 11, 30, 16, tzinfo=UTC), [shanghai]
    yield daily, "Asia/Bangkok", datetime(2026, 11, 30, 16, tzinfo=UTC), [shanghai]
    yield daily, "Asia/Bangkok", datetime(2026, 12, 1, 20, tzinfo=UTC), [shanghai]
    yield daily, "Asia/Shanghai", datetime(2026, 11, 29, 20, tzinfo=UTC), ["20261130T0500Z-20261201T0500Z"]
    yield daily, "Asia/Shanghai", NOW, ["once", "2026-11-30", "nonsense"]
    yield Period(kind="weekly", zone="user"), "America/New_York", NOW + 7 * DAY, ["20261129T1600Z-20261206T1600Z"]


GIVEN: dict[str, list[Any]] = {
    "number": [None, 30, 28, 30.0, 29.5, -1, "30", True, [30]],
    "text": [None, "cn", "CN", "cn-east", "", 30, False],
    "boolean": [None, True, False, 1, "true"],
    "date": [None, "2026-11-30", "2026-11-29T23:59:59Z", "2026-11-30T07:59:59+08:00", "2026-11-30T00:00:00", "30.11.2026", 20261130],
    "version": [None, "1.9", "1.10", "1.10.0", "1.10.1", "2", "v2", "1.10-beta", 1.1],
}
WANTED: dict[str, Any] = {"number": 30, "text": "cn", "boolean": True, "date": "2026-11-30", "version": "1.10"}
OTHERS: dict[str, Any] = {"number": 40, "text": "sg", "boolean": False, "date": "2026-12-01", "version": "2"}


def conditions() -> Iterator[tuple[str, Condition, Any]]:
    """Type, row, and the value given; None: nothing was given."""
    for kind, operators in OPERATORS.items():
        pair = [WANTED[kind], OTHERS[kind]]
        for operator in operators:
            value = None if operator == "exists" else pair if operator in ("in", "not_in", "between") else WANTED[kind]
            for given in GIVEN[kind]:
                yield kind, Condition(attribute="it", operator=operator, value=value), given


def releases() -> Iterator[tuple[str, int]]:
    drawn = random.Random(1)
    for salt in ("", "daily-login", "2026 春节", "a:b"):
        for uid in (1, 42, 2**31, 2**32 + 1, 2**53, 2**63 - 1, *(drawn.randrange(1, 2**63) for _ in range(6))):
            yield salt, uid


def configuration() -> Configuration:
    """One task of each kind that decides in its own way."""
    from tests.unit.evaluating import ATTRIBUTES

    daily = Period(kind="daily", zone="Asia/Shanghai")
    common: dict[str, Any] = {"starts_at": NOW - 30 * DAY, "points": 10}
    tasks = [
        Task(code="daily-login", period=daily, **common),
        Task(code="invite", kind="counter", target=3, **common),
        Task(code="ladder", kind="tiers", tiers=(Tier(target=1, points=5), Tier(target=5, points=20)), starts_at=NOW - 30 * DAY),
        Task(code="seven-days", kind="streak", streak=Streak(length=3, grace=1), period=daily, **common),
        Task(code="claim-me", claim=Claim(mode="by_claim", grace_s=7200), period=daily, **common),
        Task(code="accept-me", claim=Claim(mode="accept_first"), **common),
        Task(code="grown-up", conditions=((_row("level", ">=", 30), _row("region", "!=", "cn")), (_row("vip", "=", True),)), **common),
        Task(code="after-invite", prerequisites=(Prerequisite(task="invite"),), **common),
        Task(code="tour-1", sequence="tour", position=1, **common),
        Task(code="tour-2", sequence="tour", position=2, **common),
        Task(code="side-a", exclusive_group="side", **common),
        Task(code="side-b", exclusive_group="side", **common),
        Task(code="half", release=Release(percentage_bp=5_000, allow=("staff",), deny=("cheats",)), **common),
        Task(code="scarce", caps=Caps(total=100, per_period=10, points_budget=500), period=daily, **common),
        Task(code="over", ends_at=NOW - DAY, **{**common}),
        Task(code="soon", **{**common, "starts_at": NOW + DAY}),
        Task(code="off", switched_off=True, **common),
        Task(code="my-day", period=Period(kind="daily", zone="user", fallback_zone="Europe/Berlin"), **common),
    ]
    lists = {name: UserList(name=name, sha256=name, count=len(uids)) for name, uids in UIDS.items()}
    return Configuration(tasks={task.code: task for task in tasks}, attributes=ATTRIBUTES, lists=lists)


UIDS = {"staff": [7, 8], "cheats": [8, 9]}


def _row(attribute: str, operator: str, value: object) -> Condition:
    return Condition(attribute=attribute, operator=operator, value=value)  # type: ignore[arg-type]


def users() -> Iterator[dict[str, Any]]:
    """uid, attributes, records by code (period, progress, state), moment, quotas by code and key."""
    nobody: dict[str, Any] = {"uid": 42, "attributes": {}, "records": [], "now": NOW, "quotas": None}
    yield nobody
    yield {**nobody, "attributes": {"level": 30, "region": "sg", "zone": "Asia/Tokyo"}}
    yield {**nobody, "attributes": {"level": 28, "region": "cn", "vip": "yes", "zone": "Mars/Olympus"}}
    yield {**nobody, "attributes": {"level": 28, "region": "sg", "vip": False}}
    yield {**nobody, "uid": 7}
    yield {**nobody, "uid": 8}
    yield {
        **nobody,
        "records": [
            ("daily-login", "2026-11-30", 1, "completed"),
            ("invite", "once", 3, "completed"),
            ("ladder", "once", 2, "in_progress"),
            ("claim-me", "2026-11-30", 1, "completed"),
            ("accept-me", "once", 0, "in_progress"),
            ("tour-1", "once", 1, "completed"),
            ("side-a", "once", 1, "completed"),
            ("over", "once", 1, "completed"),
            ("my-day", "20261129T1600Z-20261130T1600Z", 1, "completed"),
            *(("seven-days", day, 1, "completed") for day in ("2026-11-25", "2026-11-27", "2026-11-29")),
        ],
        "quotas": {("scarce", "total"): 99, ("scarce", "2026-11-30"): 10, ("scarce", "points"): 100},
    }
    yield {
        **nobody,
        "now": datetime(2026, 11, 30, 16, 30, tzinfo=UTC),
        "records": [("claim-me", "2026-11-30", 1, "completed"), ("daily-login", "2026-11-30", 1, "completed")],
        "quotas": {},
    }


def event_configuration() -> Configuration:
    """One task of each way in which an event counts."""
    daily = Period(kind="daily", zone="Asia/Shanghai")
    match = Feed(event="match")
    ranked = Feed(event="match", where=(_row("mode", "=", "ranked"), _row("score", ">=", 10)))
    common: dict[str, Any] = {"starts_at": NOW - 30 * DAY, "points": 10, "kind": "counter", "target": 3, "feeds": (match,)}
    tasks = [
        Task(code="count", **common),
        Task(code="best", mode="max", **common),
        Task(code="level", mode="set", **common),
        Task(code="rivals", mode="distinct", distinct_by="rival", **common),
        Task(code="ranked", **{**common, "feeds": (ranked, Feed(event="match", where=(_row("mode", "=", "cup"),)))}),
        Task(code="daily", period=daily, caps=Caps(total=100, per_period=10, points_budget=500), **common),
        Task(
            code="ladder",
            **{**common, "kind": "tiers", "target": 1, "points": 0},
            tiers=(Tier(target=1, points=5), Tier(target=5, points=20)),
        ),
        Task(code="streak", **{**common, "kind": "streak", "target": 1}, streak=Streak(length=3), period=daily),
        Task(code="claim-me", claim=Claim(mode="by_claim"), **common),
        Task(code="accept-me", claim=Claim(mode="accept_first"), **common),
        Task(code="side-a", exclusive_group="side", **common),
        Task(code="side-b", exclusive_group="side", weight=5, **common),
        Task(code="quick", late_window_s=60, **common),
        Task(code="over", ends_at=NOW - DAY, **common),
        Task(code="after", prerequisites=(Prerequisite(task="count"),), **common),
        Task(code="deaf", **{**common, "feeds": ()}),
    ]
    types: dict[str, Any] = {"mode": "text", "score": "number", "rival": "text"}
    return Configuration(tasks={task.code: task for task in tasks}, events={"match": EventType(name="match", attributes=types)})


def events() -> Iterator[dict[str, Any]]:
    """The event, when it happened and when it was told, and the user's records: code, period, progress, state, granted."""
    plain: dict[str, Any] = {"value": 1, "attributes": {}, "records": [], "at": NOW, "received_at": NOW}
    yield plain
    yield {**plain, "value": 7, "attributes": {"mode": "ranked", "score": 10, "rival": "anna"}}
    yield {**plain, "attributes": {"mode": "cup", "score": "10", "rival": 5}}
    yield {**plain, "received_at": NOW + timedelta(seconds=61)}
    yield {**plain, "at": NOW - DAY - timedelta(seconds=1), "received_at": NOW - DAY}
    yield {
        **plain,
        "records": [
            ("count", "once", 3, "completed", 1),
            ("accept-me", "once", 0, "in_progress", 0),
            ("side-a", "once", 1, "in_progress", 0),
            ("claim-me", "once", 3, "completed", 0),
            *(("streak", day, 1, "completed", 1) for day in ("2026-11-28", "2026-11-29")),
        ],
    }
