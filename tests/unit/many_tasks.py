"""A bundle with a task of each kind that deciding asks about, and users of all kinds, as hypothesis draws them."""

from __future__ import annotations

from datetime import timedelta

import msgspec
from hypothesis import strategies as st

from apps.tasks.config.documents import Caps, Claim, Period, Prerequisite, Release, Streak, Task, Tier
from apps.tasks.evaluation.bundle import Bundle, load_bundle
from apps.tasks.evaluation.decisions import Decision
from tests.unit.evaluating import NOW, bundle_bytes, record, task, where
from workers.protocol import TaskRecord

HOUR = timedelta(hours=1)
ZONES = ("", "UTC", "Asia/Shanghai", "America/New_York", "Asia/Kathmandu", "no such zone")
IN_USERS_ZONE = Period(kind="daily", zone="user", fallback_zone="Europe/Berlin")


def tasks() -> list[Task]:
    """One of each kind that the way of deciding asks about."""
    daily, weekly = Period(kind="daily"), Period(kind="weekly", zone="Asia/Shanghai")
    return [
        task("once"),
        task("daily", period=daily, target=3),
        task("in-users-zone", period=IN_USERS_ZONE, target=2),
        task("monthly-in-users-zone", period=Period(kind="monthly", zone="user"), claim=Claim(mode="by_claim", grace_s=7200)),
        task("window", period=Period(kind="window"), starts_at=NOW - HOUR, ends_at=NOW + 30 * HOUR),
        task("opens-later", starts_at=NOW + 7 * HOUR),
        task("ends-soon", ends_at=NOW + 5 * HOUR),
        task("switched-off", switched_off=True),
        task("level", conditions=((where("level", ">=", 30), where("region", "=", "eu")),)),
        task("either", conditions=((where("level", "<", 20),), (where("vip", "=", True), where("client", ">=", "1.10")))),
        task("default", conditions=((where("tries", "between", [0, 3]),), (where("registered", "exists"),))),
        task("not-in", conditions=((where("region", "not_in", ["eu", "us"]),),), period=daily),
        task("released", release=Release(percentage_bp=5_000), period=daily),
        task("listed", release=Release(percentage_bp=0, allow=("testers",))),
        task("streak", kind="streak", streak=Streak(length=3, grace=1), period=daily),
        task(
            "tiers", kind="tiers", tiers=(Tier(target=1, points=1), Tier(target=5, points=2)), claim=Claim(mode="by_claim", grace_s=90_000)
        ),
        task("claimed", claim=Claim(mode="by_claim", grace_s=36_000), period=daily),
        task("accepted-first", claim=Claim(mode="accept_first"), period=weekly),
        task("capped", caps=Caps(per_period=5, per_user=1), period=daily),
        task("after-once", prerequisites=(Prerequisite(task="once"),)),
        task("one-of-two", exclusive_group="pair"),
        task("other-of-two", exclusive_group="pair"),
        task("rules-kept", period=daily, target=2),
    ]


def rich_bundle() -> Bundle:
    before = bundle_bytes(*tasks(), lists={"testers": [42]})
    after = [msgspec.structs.replace(each, target=9) if each.code == "rules-kept" else each for each in tasks()]
    return load_bundle(bundle_bytes(*after, lists={"testers": [42]}, revision=2, previous=before))


BUNDLE = rich_bundle()


@st.composite
def attributes(draw: st.DrawFn) -> dict[str, object]:
    values = {
        "level": st.one_of(st.integers(15, 35), st.floats(15, 35), st.booleans(), st.just("30")),
        "region": st.sampled_from(["eu", "us", "cn", 7]),
        "vip": st.one_of(st.booleans(), st.integers(0, 1)),
        "client": st.sampled_from(["1.9", "1.10", "1.10.0", "2", "x"]),
        "registered": st.sampled_from(["2026-01-01", "2026-11-30T00:00:00Z", "never"]),
        "tries": st.one_of(st.integers(-1, 5), st.none()),
        "zone": st.sampled_from(ZONES),
    }
    return draw(st.fixed_dictionaries({}, optional=values))


@st.composite
def records(draw: st.DrawFn, begun: list[Decision]) -> list[TaskRecord]:
    """Of some tasks, in the periods that other moments have found."""
    chosen = draw(st.lists(st.sampled_from(begun), max_size=12, unique_by=lambda it: (it.task.number, it.period.key)))
    states = st.sampled_from(["in_progress", "completed", "claimed"])
    return [
        record(
            it.task.number,
            it.period.key,
            draw(st.integers(0, 5)),
            draw(states),
            revision=draw(st.integers(1, 2)),
            completed_at=draw(st.sampled_from([None, None, 1])),
        )
        for it in chosen
    ]


MOMENTS = st.builds(
    lambda hours, apart: NOW + timedelta(hours=hours) + timedelta(microseconds=apart), st.integers(-40, 60), st.integers(-1, 1)
)
