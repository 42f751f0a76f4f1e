"""A task document as the flat fields and rows of a form, and back.

Pure. Names of fields are the document's own places joined by "_" (`period_zone` for period.zone), so that a fault's pointer leads
to its field. What a form does not show stays as it was: `task_with` replaces only what it is given.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import msgspec

from apps.tasks.config.documents import Caps, Claim, Condition, Feed, Period, Prerequisite, Release, Streak, Task, Text, Tier

PLAIN = (
    "kind", "category", "icon", "weight", "tags", "starts_at", "ends_at", "mode", "distinct_by", "late_window_s",
    "revert_takes_back", "target", "points", "exclusive_group", "sequence", "position", "switched_off", "archived",
)  # fmt: skip
NESTED: dict[str, type[msgspec.Struct]] = {"period": Period, "claim": Claim, "caps": Caps, "release": Release}
STREAK = ("streak_length", "streak_grace")
PERIOD_PARTS = {"weekly": ("week_starts_on",), "monthly": ("month_day",), "every_days": ("every_days", "anchor")}
"""What only one kind of period has."""


@dataclass(frozen=True)
class Row:
    """A condition and the group (or, in a feed's filter, the feed) that it belongs to."""

    group: int
    condition: Condition


@dataclass(frozen=True)
class Rows:
    """What a task has several of. None: not shown, stays as it was."""

    texts: Mapping[str, Text] | None = None
    events: tuple[str, ...] | None = None
    where: tuple[Row, ...] = field(default=())
    tiers: tuple[Tier, ...] | None = None
    conditions: tuple[Row, ...] | None = None
    prerequisites: tuple[Prerequisite, ...] | None = None


def fields_of(task: Task) -> dict[str, Any]:
    """Every single field by its name in the form."""
    fields = {name: getattr(task, name) for name in PLAIN}
    for part, struct in NESTED.items():
        inner = getattr(task, part)
        fields |= {f"{part}_{name}": getattr(inner, name) for name in struct.__struct_fields__}
    streak = task.streak or Streak(length=1)
    return fields | {"streak_length": streak.length, "streak_grace": streak.grace}


def rows_of(task: Task) -> Rows:
    return Rows(
        texts=task.texts,
        events=tuple(feed.event for feed in task.feeds),
        where=tuple(Row(number, condition) for number, feed in enumerate(task.feeds) for condition in feed.where),
        tiers=task.tiers,
        conditions=tuple(Row(number, condition) for number, group in enumerate(task.conditions) for condition in group),
        prerequisites=task.prerequisites,
    )


def task_with(task: Task, fields: Mapping[str, Any], rows: Rows) -> Task:
    """The task with these fields and rows in place of its own."""
    changed: dict[str, Any] = {name: fields[name] for name in PLAIN if name in fields}
    for part, struct in NESTED.items():
        own = {name: fields[f"{part}_{name}"] for name in struct.__struct_fields__ if f"{part}_{name}" in fields}
        changed[part] = msgspec.structs.replace(getattr(task, part), **own)
    if rows.texts is not None:
        changed["texts"] = dict(rows.texts)
    if rows.events is not None:
        changed["feeds"] = _feeds(rows.events, rows.where)
    if rows.tiers is not None:
        changed["tiers"] = rows.tiers
    if rows.conditions is not None:
        changed["conditions"] = _groups(rows.conditions)
    if rows.prerequisites is not None:
        changed["prerequisites"] = rows.prerequisites
    if "streak_length" in fields and (task.streak or changed.get("kind") == "streak"):
        changed["streak"] = Streak(length=fields["streak_length"], grace=fields.get("streak_grace", 0))
    return _fitting(task, msgspec.structs.replace(task, **changed))


def _feeds(events: Iterable[str], where: Iterable[Row]) -> tuple[Feed, ...]:
    where = tuple(where)
    return tuple(
        Feed(event=event, where=tuple(row.condition for row in where if row.group == number)) for number, event in enumerate(events)
    )


def _groups(rows: Iterable[Row]) -> tuple[tuple[Condition, ...], ...]:
    by_group = groupby(sorted(rows, key=lambda row: row.group), key=lambda row: row.group)
    return tuple(tuple(row.condition for row in group) for _number, group in by_group)


def _fitting(before: Task, task: Task) -> Task:
    """Who changes a task's kind leaves nothing of the old one behind; who does not, changes nothing here."""
    if task.kind != before.kind:
        task = msgspec.structs.replace(
            task,
            target=task.target if task.kind in ("counter", "streak") else 1,
            points=0 if task.kind == "tiers" else task.points,
            tiers=task.tiers if task.kind == "tiers" else (),
            streak=task.streak if task.kind == "streak" else None,
        )
    if task.period.kind != before.period.kind:
        foreign = [name for kind, names in PERIOD_PARTS.items() if kind != task.period.kind for name in names]
        fresh = Period()
        task = msgspec.structs.replace(
            task, period=msgspec.structs.replace(task.period, **{name: getattr(fresh, name) for name in foreign})
        )
    if task.mode != "distinct" and before.mode == "distinct":
        task = msgspec.structs.replace(task, distinct_by="")
    return task
