"""What the API answers, as typed values. Moments are ISO 8601 in UTC.

A uid of 2^53 or more is written as a string: JavaScript and many JSON readers would round the number.
"""

from __future__ import annotations

from datetime import datetime, timezone

import msgspec
from django.http import HttpResponse

from apps.tasks.api.problems import reason_text
from apps.tasks.decisions import Decision
from apps.tasks.services import Completion
from workers.protocol import Snapshot, WriteAnswer

FIRST_UID_AS_TEXT = 2**53


class Reason(msgspec.Struct, frozen=True):
    code: str
    text: str


class TaskAnswer(msgspec.Struct, frozen=True):
    code: str
    name: str
    description: str
    state: str
    period: str
    progress: int
    target: int
    points: int
    starts_at: datetime
    ends_at: datetime | None
    resets_at: datetime | None
    completed_at: datetime | None
    reasons: list[Reason]


class UserTasks(msgspec.Struct, frozen=True):
    uid: int | str
    generation: int
    version: int
    points: int
    tasks: list[TaskAnswer]


class CompletedTask(msgspec.Struct, frozen=True):
    code: str
    period: str
    state: str
    progress: int
    target: int
    completed_now: bool
    points: int
    resets_at: datetime | None


class CompletionAnswer(msgspec.Struct, frozen=True):
    uid: int | str
    event_id: str
    applied: bool
    generation: int
    version: int
    points: int
    task: CompletedTask


class ForgottenUser(msgspec.Struct, frozen=True):
    uid: int | str
    event_id: str
    applied: bool
    generation: int
    version: int


_encode = msgspec.json.Encoder().encode


def answer(value: msgspec.Struct) -> HttpResponse:
    """Never to be stored on the way: the next answer may differ."""
    return HttpResponse(_encode(value), content_type="application/json", headers={"Cache-Control": "no-store"})


def user_tasks(snapshot: Snapshot, decisions: list[Decision]) -> UserTasks:
    return UserTasks(
        uid=uid_in_json(snapshot.uid),
        generation=snapshot.generation,
        version=snapshot.version,
        points=snapshot.points,
        tasks=[_task(decision) for decision in decisions],
    )


def completion(uid: int, event_id: str, done: Completion) -> CompletionAnswer:
    """`points` of the task are what it gave the first time; those of the user are his total now."""
    snapshot, result = done.answer.snapshot, done.result
    return CompletionAnswer(
        uid=uid_in_json(uid),
        event_id=event_id,
        applied=done.answer.applied,
        generation=snapshot.generation,
        version=snapshot.version,
        points=snapshot.points,
        task=CompletedTask(
            code=done.task.code,
            period=result.period,
            state=result.state,
            progress=result.progress,
            target=done.task.target,
            completed_now=result.completed_now,
            points=result.points,
            resets_at=done.period.resets_at,
        ),
    )


def forgotten_user(uid: int, event_id: str, done: WriteAnswer) -> ForgottenUser:
    snapshot = done.snapshot
    return ForgottenUser(uid_in_json(uid), event_id, done.applied, snapshot.generation, snapshot.version)


def uid_in_json(uid: int) -> int | str:
    return uid if uid < FIRST_UID_AS_TEXT else str(uid)


def _task(decision: Decision) -> TaskAnswer:
    task = decision.task
    return TaskAnswer(
        code=task.code,
        name=task.name,
        description=task.description,
        state=decision.state,
        period=decision.period.key,
        progress=decision.progress,
        target=task.target,
        points=task.points,
        starts_at=task.starts_at,
        ends_at=task.ends_at,
        resets_at=decision.period.resets_at,
        completed_at=None if decision.completed_at is None else _moment(decision.completed_at),
        reasons=[Reason(reason, reason_text(reason)) for reason in decision.reasons],
    )


def _moment(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, timezone.utc)
