"""The bundle as JSON holds it: what `compile` writes and what logic nodes and other systems read.

One object for everything that decides what a user may do. Archived tasks are not in it; what it says needs nothing else to be understood.
"""

from __future__ import annotations

from datetime import datetime
from typing import Literal

import msgspec

from apps.tasks.config.documents import Attribute, Claim, EventType, Period, Streak, Task, Tier

SCHEMA = 1


class Rules(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """What a task asks and gives: what an operator may keep for users in flight when he changes it."""

    kind: Literal["single", "counter", "tiers", "streak"] = "single"
    mode: Literal["add", "max", "set", "distinct"] = "add"
    distinct_by: str = ""
    target: int = 1
    points: int = 0
    tiers: tuple[Tier, ...] = ()
    streak: Streak | None = None
    claim: Claim = Claim()
    period: Period = Period()
    window_starts_at: datetime | None = None
    """Only of a task whose period is its window: the window's start, which is part of the period key."""


class KeptRules(Rules, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """Rules that still hold for records that were begun in a revision before `before`. By `until` every such period is over (None: it never
    is), and the next bundle leaves them out."""

    before: int
    until: datetime | None = None


class PublishedTask(Task, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """A task with its number (0: not published yet). `kept` is ascending by `before`: the first that matches a record holds for it.

    `since`: the revision that brought its present rules for users who begin. `counts_from`: what happened earlier does not count.
    """

    number: int
    since: int = 0
    kept: tuple[KeptRules, ...] = ()
    counts_from: datetime | None = None


class PublishedList(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """A list with its uids, ascending."""

    name: str
    description: str = ""
    sha256: str
    count: int
    uids: list[int] = []


class BundleDocument(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Tasks are in the order of their codes."""

    schema: int
    revision: int
    published_at: datetime
    tasks: tuple[PublishedTask, ...]
    attributes: dict[str, Attribute]
    events: dict[str, EventType]
    lists: dict[str, PublishedList]


decode_bundle = msgspec.json.Decoder(BundleDocument).decode
encode_bundle = msgspec.json.Encoder(order="deterministic").encode


def rules_of(task: Task) -> Rules:
    return Rules(
        kind=task.kind,
        mode=task.mode,
        distinct_by=task.distinct_by,
        target=task.target,
        points=task.points,
        tiers=task.tiers,
        streak=task.streak,
        claim=task.claim,
        period=task.period,
        window_starts_at=task.starts_at if task.period.kind == "window" else None,
    )
