"""How steps, events and batches are answered, as typed values. Moments are ISO 8601 in UTC."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from apps.tasks.api.problems import Problem, problem_of
from apps.tasks.api.task_answers import ReasonAnswer, reason_answer
from apps.tasks.services.events import FedTask, Told
from apps.tasks.services.steps import Taken

FIRST_UID_AS_TEXT = 2**53


class TaskOutcome(msgspec.Struct, frozen=True):
    """What became of one task. `claimed_now` is said of claims and events, `reasons` (why it did less than it could) of events."""

    code: str
    period: str
    state: str
    progress: int
    target: int
    completed_now: bool
    points: int
    resets_at: datetime | None
    claimed_now: bool | msgspec.UnsetType = msgspec.UNSET
    reasons: list[ReasonAnswer] | msgspec.UnsetType = msgspec.UNSET


class StepAnswer(msgspec.Struct, frozen=True):
    uid: int | str
    event_id: str
    applied: bool
    generation: int
    version: int
    points: int
    task: TaskOutcome


class NotFedAnswer(msgspec.Struct, frozen=True):
    code: str
    reasons: list[ReasonAnswer]


class EventAnswer(msgspec.Struct, frozen=True):
    uid: int | str
    event_id: str
    applied: bool
    generation: int
    version: int
    points: int
    tasks: list[TaskOutcome]
    not_counted: list[NotFedAnswer]


class ItemAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """One item of a batch: what became of it, or the problem that it met."""

    result: Any = None
    problem: Any = None


class BatchAnswer(msgspec.Struct, frozen=True):
    items: list[ItemAnswer]


def step_answer(uid: int, event_id: str, taken: Taken) -> StepAnswer:
    """`points` of the task are what it gave the first time; those of the user are his total now."""
    snapshot, result = taken.answer.snapshot, taken.result
    outcome = TaskOutcome(
        code=taken.task.code,
        period=result.period,
        state=result.state,
        progress=result.progress,
        target=taken.target,
        completed_now=result.completed_now,
        points=result.points,
        resets_at=taken.period.resets_at,
        claimed_now=result.claimed_now or msgspec.UNSET,
    )
    applied = taken.answer.applied
    return StepAnswer(uid_in_json(uid), event_id, applied, snapshot.generation, snapshot.version, snapshot.points, outcome)


def event_answer(told: Told) -> EventAnswer:
    snapshot = told.snapshot
    return EventAnswer(
        uid=uid_in_json(told.uid),
        event_id=told.event_id,
        applied=told.applied,
        generation=snapshot.generation,
        version=snapshot.version,
        points=snapshot.points,
        tasks=[_fed(each) for each in told.fed],
        not_counted=[NotFedAnswer(each.task.code, [reason_answer(it, False) for it in each.reasons]) for each in told.not_fed],
    )


def problem_answer(error: Exception, place: int, is_write: bool) -> ItemAnswer:
    """The problem of one item: what it points at stands in that item. Raises the error again when nobody foresaw it."""
    problem = problem_of(error, is_write)
    if problem is None:
        raise error
    body: Mapping[str, Any] = problem.body()
    if isinstance(problem.pointer, str):
        body = {**body, "pointer": pointer_in(place, problem)}
    return ItemAnswer(problem=body)


def pointer_in(place: int, problem: Problem) -> str:
    """#/type becomes #/items/3/type."""
    pointer = problem.pointer or "#"
    return pointer if pointer.startswith("#/items/") else f"#/items/{place}" + pointer.removeprefix("#").removeprefix("path")


def uid_in_json(uid: int) -> int | str:
    return uid if uid < FIRST_UID_AS_TEXT else str(uid)


def _fed(fed: FedTask) -> TaskOutcome:
    result = fed.result
    return TaskOutcome(
        code="" if fed.task is None else fed.task.code,
        period=result.period,
        state=result.state,
        progress=result.progress,
        target=fed.target,
        completed_now=result.completed_now,
        claimed_now=result.claimed_now,
        points=result.points,
        resets_at=fed.resets_at,
        reasons=[reason_answer(reason, False) for reason in fed.reasons],
    )
