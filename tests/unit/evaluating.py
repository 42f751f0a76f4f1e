"""Builders for the evaluator's tests: a valid task, a bundle of tasks, a user. A test changes the one thing that it is about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any

from apps.tasks.config.compile import InFlight, compile_bundle
from apps.tasks.config.documents import Attribute, Condition, Configuration, EventType, Task, UserList
from apps.tasks.evaluation.bundle import Bundle, load_bundle
from apps.tasks.evaluation.evaluator import Decision, Explanation, Profile, evaluate, explain
from workers.protocol import Snapshot, TaskRecord

UTC = timezone.utc
NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
DAY = timedelta(days=1)

ATTRIBUTES = {
    "level": Attribute(name="level", type="number"),
    "region": Attribute(name="region", type="text"),
    "vip": Attribute(name="vip", type="boolean"),
    "registered": Attribute(name="registered", type="date"),
    "client": Attribute(name="client", type="version"),
    "zone": Attribute(name="zone", type="text"),
    "tries": Attribute(name="tries", type="number", default=0),
}

EVENTS = {
    "match": EventType(name="match", attributes={"mode": "text", "score": "number", "rival": "text", "won": "boolean"}),
    "paid": EventType(name="paid"),
}


def utc(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[arg-type,misc]


def task(code: str = "invite", **fields: Any) -> Task:
    return Task(**{"code": code, "starts_at": NOW - 30 * DAY, "points": 10, **fields})


def where(attribute: str, operator: str, value: object = None) -> Condition:
    return Condition(attribute=attribute, operator=operator, value=value)  # type: ignore[arg-type]


def configuration(*tasks: Task, lists: Mapping[str, Sequence[int]] | None = None) -> Configuration:
    documents = {name: UserList(name=name, sha256=name, count=len(uids)) for name, uids in (lists or {}).items()}
    return Configuration(tasks={each.code: each for each in tasks}, attributes=ATTRIBUTES, events=EVENTS, lists=documents)


def bundle_bytes(
    *tasks: Task,
    lists: Mapping[str, Sequence[int]] | None = None,
    revision: int = 1,
    published_at: datetime = NOW,
    previous: bytes | None = None,
    in_flight: InFlight = "keep",
    history_counts: bool = True,
) -> bytes:
    """Tasks are numbered in their order, from 1."""
    numbers = {each.code: place for place, each in enumerate(tasks, 1)}
    return compile_bundle(
        configuration(*tasks, lists=lists), numbers, lists or {}, revision, published_at, previous, in_flight, history_counts
    )


def bundle(*tasks: Task, **more: Any) -> Bundle:
    loaded = load_bundle(bundle_bytes(*tasks, **more))
    assert not loaded.left_out
    return loaded


def record(number: int = 1, period: str = "once", progress: int = 1, state: str = "in_progress", **more: Any) -> TaskRecord:
    fields = {"completed_at": None, "claimed_at": None, "revision": 1, **more}
    return TaskRecord(task=number, period=period, progress=progress, state=state, **fields)


def done(number: int = 1, period: str = "once", **more: Any) -> TaskRecord:
    return record(number, period, state="completed", **more)


def snapshot(*records: TaskRecord, uid: int = 42) -> Snapshot:
    return Snapshot(uid=uid, generation=1, version=len(records), points=0, tasks=list(records))


def decisions(
    live: Bundle, *records: TaskRecord, now: datetime = NOW, uid: int = 42, quotas: Any = None, **attributes: object
) -> dict[str, Decision]:
    found = evaluate(live, Profile(uid, attributes), snapshot(*records, uid=uid), now, quotas)
    return {each.task.code: each for each in found}


def decision(of: Task, *records: TaskRecord, now: datetime = NOW, **attributes: object) -> Decision:
    """Of this one task alone, number 1."""
    return decisions(bundle(of), *records, now=now, **attributes)[of.code]


def explanation(of: Task, *records: TaskRecord, now: datetime = NOW, **attributes: object) -> Explanation:
    (only,) = explain(bundle(of), Profile(42, attributes), snapshot(*records), now)
    return only


def codes(found: Decision) -> list[str]:
    return [reason.code for reason in found.reasons]
