"""What the API answers, as typed values. Moments are ISO 8601 in UTC.

A uid of 2^53 or more is written as a string: JavaScript and many JSON readers would round the number.
"""

from __future__ import annotations

from datetime import datetime

import msgspec
from django.http import HttpResponse
from django.utils import translation

from apps.tasks.api.task_answers import ExplainedTask, explained_task, task_answer
from apps.tasks.evaluation.decisions import Decision
from apps.tasks.evaluation.explanation import Explanation
from apps.tasks.services import Completion
from workers.protocol import Snapshot, WriteAnswer

FIRST_UID_AS_TEXT = 2**53


class UserTasks(msgspec.Struct, frozen=True):
    uid: int | str
    generation: int
    version: int
    points: int
    tasks: list[msgspec.Raw]


class ExplainedUser(msgspec.Struct, frozen=True):
    uid: int | str
    at: datetime
    revision: int
    draft: int | None
    generation: int
    version: int
    tasks: list[ExplainedTask]


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


def user_tasks(snapshot: Snapshot, decisions: list[Decision], with_values: bool, language: str | None = None) -> UserTasks:
    """`language`: that of tasks' texts; the active one without it."""
    language = language or translation.get_language() or ""
    return UserTasks(
        uid=uid_in_json(snapshot.uid),
        generation=snapshot.generation,
        version=snapshot.version,
        points=snapshot.points,
        tasks=[task_answer(decision, with_values, language) for decision in decisions],
    )


def explained_user(snapshot: Snapshot, explanations: list[Explanation], at: datetime, revision: int, draft: int | None) -> ExplainedUser:
    """`revision`: the one that is live; of a draft, the one that it would become."""
    return ExplainedUser(
        uid=uid_in_json(snapshot.uid),
        at=at,
        revision=revision,
        draft=draft,
        generation=snapshot.generation,
        version=snapshot.version,
        tasks=[explained_task(explanation) for explanation in explanations],
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
            target=done.target,
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
