"""Sound documents of every shape, for properties that must hold for all of them."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone
from typing import Any

import msgspec
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from apps.tasks.config.documents import (
    OPERATORS,
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
from apps.tasks.config.values import sort_key

# Drawing a document takes milliseconds, on a busy machine many: that is no fault of the test.
FEW = settings(max_examples=settings().max_examples // 4, deadline=None, suppress_health_check=[HealthCheck.too_slow])
MANY = settings(FEW, max_examples=settings().max_examples)

CODES = [f"task-{letter}" for letter in "abcdef"]
codes = st.sampled_from(CODES)
amounts = st.integers(1, 2**53 - 1)
prerequisites = st.builds(Prerequisite, task=codes, state=st.sampled_from(["completed", "claimed"]))
optional_amount = st.none() | amounts
caps = st.builds(Caps, per_user=optional_amount, total=optional_amount, per_period=optional_amount, points_budget=optional_amount)
claims = st.builds(Claim, mode=st.sampled_from(["automatic", "by_claim", "accept_first"]), grace_s=st.integers(0, 9_000))
# What spreadsheets, quotes, lines and other scripts make of a text.
words = st.text(st.sampled_from("aZ9 ,;\"'=+-@|\t\n\r#{}[]é汉😀"), max_size=12)
names = words.map(lambda text: "n" + text)
moments = st.integers(0, 10**9).map(lambda seconds: datetime(2020, 1, 1, tzinfo=timezone.utc) + timedelta(seconds=seconds))

_VALUES: dict[str, st.SearchStrategy[Any]] = {
    "number": st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(-1e9, 1e9),
    "text": names,
    "boolean": st.booleans(),
    "date": st.sampled_from(["2026-12-01", "2026-12-01T08:00:00Z", "1999-01-31"]),
    "version": st.sampled_from(["1", "1.9", "1.10.0"]),
}


@st.composite
def conditions(draw: st.DrawFn, types: dict[str, str] | None = None) -> Condition:
    attribute, type_ = draw(st.sampled_from(sorted((types or {kind: kind for kind in _VALUES}).items())))
    operator = draw(st.sampled_from(OPERATORS[type_]))  # type: ignore[index]
    value = _VALUES[type_]
    if operator == "exists":
        return Condition(attribute=attribute, operator=operator)
    if operator in ("in", "not_in"):
        return Condition(attribute=attribute, operator=operator, value=draw(st.lists(value, min_size=1, max_size=3)))
    if operator == "between":
        return Condition(attribute=attribute, operator=operator, value=draw(st.lists(value, min_size=2, max_size=2)))
    return Condition(attribute=attribute, operator=operator, value=draw(value))


def rows(most: int) -> st.SearchStrategy[tuple[Condition, ...]]:
    return st.lists(conditions(), min_size=1, max_size=most).map(tuple)


texts = st.builds(
    Text, name=names, description=words, button=words, link=st.sampled_from(["", "https://example.com/a?b=1", "mygame://shop"])
)
feeds = st.builds(Feed, event=st.sampled_from(["match_finished", "logged_in"]), where=st.just(()) | rows(2))
periods = st.builds(
    Period,
    kind=st.sampled_from(["once", "daily", "weekly", "monthly", "every_days"]),
    zone=st.sampled_from(["UTC", "Asia/Shanghai", "user"]),
    fallback_zone=st.sampled_from(["UTC", "America/New_York"]),
    resets_at=st.sampled_from(["00:00", "04:30"]),
    week_starts_on=st.integers(1, 7),
    month_day=st.integers(1, 31),
    every_days=st.integers(1, 366),
    anchor=st.none() | st.dates(date(1970, 1, 1), date(2999, 12, 31)),
)


@st.composite
def tasks(draw: st.DrawFn, code: str = "task-a") -> Task:
    """Values are sound one by one; whether they make sense together is not looked at."""
    starts_at = draw(moments)
    return Task(
        code=code,
        kind=draw(st.sampled_from(["single", "counter", "tiers", "streak"])),
        texts=draw(st.dictionaries(st.sampled_from(["en", "zh-hans", "pt-br"]), texts, min_size=1)),
        category=draw(words),
        icon=draw(words),
        weight=draw(st.integers(-100, 100)),
        tags=draw(st.lists(names, max_size=3).map(tuple)),
        starts_at=starts_at,
        ends_at=draw(st.none() | st.just(starts_at + timedelta(days=3))),
        period=draw(periods),
        mode=draw(st.sampled_from(["add", "max", "set", "distinct"])),
        distinct_by=draw(st.sampled_from(["", "friend"])),
        feeds=draw(st.lists(feeds, max_size=2).map(tuple)),
        late_window_s=draw(st.sampled_from([0, 86_400, 5_400])),
        revert_takes_back=draw(st.booleans()),
        target=draw(amounts),
        points=draw(amounts),
        tiers=draw(st.lists(st.builds(Tier, target=amounts, points=amounts), max_size=3).map(tuple)),
        streak=draw(st.none() | st.builds(Streak, length=st.integers(2, 9), grace=st.integers(0, 2))),
        conditions=draw(st.lists(rows(3), max_size=2).map(tuple)),
        prerequisites=draw(st.lists(prerequisites, max_size=2).map(tuple)),
        exclusive_group=draw(words),
        sequence=draw(words),
        position=draw(st.integers(-5, 5)),
        claim=draw(claims),
        caps=draw(caps),
        release=draw(
            st.builds(
                Release,
                percentage_bp=st.integers(0, 10_000),
                salt=words,
                allow=st.lists(names, max_size=2).map(tuple),
                deny=st.lists(names, max_size=2).map(tuple),
            )
        ),
        switched_off=draw(st.booleans()),
        archived=draw(st.booleans()),
    )


value_types = st.sampled_from(["number", "text", "boolean", "date", "version"])
attributes = st.builds(
    Attribute,
    name=st.just("x"),
    type=value_types,
    source=st.sampled_from(["profile", "request"]),
    description=words,
    default=st.none() | st.booleans() | words | st.integers(-9, 9),
    ttl_s=st.integers(1, 9_999),
)
events = st.builds(EventType, name=st.just("x"), description=words, attributes=st.dictionaries(st.sampled_from("abc"), value_types))
lists = st.builds(UserList, name=st.just("x"), description=words, sha256=st.sampled_from(["0" * 64, "f" * 64]), count=st.integers(0, 9))


@st.composite
def configurations(draw: st.DrawFn) -> Configuration:
    return Configuration(
        tasks={code: draw(tasks(code)) for code in draw(st.sets(codes, max_size=3))},
        attributes={"x": draw(attributes)} if draw(st.booleans()) else {},
        events={"x": draw(events)} if draw(st.booleans()) else {},
        lists={"x": draw(lists)} if draw(st.booleans()) else {},
    )


TYPES_AS_NAMES = ("number", "text", "boolean", "date", "version")
"""`conditions` asks for attributes that are called like their types."""


@st.composite
def sound_tasks(draw: st.DrawFn, code: str) -> Task:
    """One that `validate` lets pass, beside the others that `sound_configurations` makes."""
    task = draw(tasks(code))
    fields: dict[str, Any] = {
        "texts": {language: text for language, text in task.texts.items() if text.name.strip()} | {"en": Text(name="x")},
        "tags": tuple(dict.fromkeys(tag for tag in task.tags if tag.strip())),
        "conditions": tuple(
            tuple(row for row in group if is_sound(row)) or (Condition(attribute="text", operator="exists"),) for group in task.conditions
        ),
        "feeds": tuple(Feed(event=feed.event, where=tuple(row for row in feed.where if is_sound(row))) for feed in task.feeds),
        "prerequisites": tuple({each.task: each for each in task.prerequisites if each.task < code}.values()),
        "sequence": "",
        "distinct_by": "text" if task.mode == "distinct" else "",
        "caps": Caps(),
        "release": Release(percentage_bp=task.release.percentage_bp, salt=task.release.salt, allow=("beta",)),
        "target": 1 if task.kind not in ("counter", "streak") else min(task.target, 1_000) if task.mode == "distinct" else task.target,
        "points": task.points,
        "streak": Streak(length=3, grace=1) if task.kind == "streak" else None,
        "tiers": tuple(Tier(target=place + 1, points=min(tier.points, 2**40)) for place, tier in enumerate(task.tiers))
        if task.kind == "tiers"
        else (),
    }
    if task.mode == "distinct" and not task.feeds:
        fields["feeds"] = (Feed(event="match_finished"),)
    if task.kind == "tiers" and not task.tiers:
        fields["tiers"] = (Tier(target=1, points=1),)
    if task.kind == "streak" and task.period.kind == "once":
        fields["period"] = Period(kind="daily", zone="user", resets_at=draw(st.sampled_from(["00:00", "23:59"])))
    return msgspec.structs.replace(task, **fields)


def is_sound(row: Condition) -> bool:
    if row.operator in ("in", "not_in"):
        return len(set(row.value)) == len(row.value)
    if row.operator == "between":
        low, high = (sort_key(value, row.attribute) for value in row.value)  # type: ignore[arg-type]
        return bool(low < high)
    return True


@st.composite
def sound_configurations(draw: st.DrawFn) -> Configuration:
    types: dict[str, Any] = {name: name for name in TYPES_AS_NAMES}
    made = Configuration(
        tasks={code: draw(sound_tasks(code)) for code in draw(st.sets(codes, min_size=1, max_size=3))},
        attributes={name: Attribute(name=name, type=types[name]) for name in TYPES_AS_NAMES},
        events={name: EventType(name=name, attributes=types) for name in ("match_finished", "logged_in")},
        lists={"beta": UserList(name="beta", sha256="0" * 64, count=2)},
    )
    # What is needed must be there; what an archived task needs may be gone.
    kept = {
        code: msgspec.structs.replace(
            task,
            prerequisites=tuple(each for each in task.prerequisites if each.task in made.tasks and not made.tasks[each.task].archived),
        )
        for code, task in made.tasks.items()
    }
    return msgspec.structs.replace(made, tasks=kept)
