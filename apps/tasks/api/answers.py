"""What the API answers, as typed values. Moments are ISO 8601 in UTC.

A uid of 2^53 or more is written as a string: JavaScript and many JSON readers would round the number.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec
from django.http import HttpResponse

from apps.tasks.api.event_answers import uid_in_json
from apps.tasks.api.task_answers import HOLE, NUL, ExplainedTask, Pieces, explained_task
from apps.tasks.evaluation.explanation import Explanation
from workers.protocol import Snapshot, WriteAnswer


class UserTasks(msgspec.Struct, frozen=True):
    uid: int | str
    generation: int
    version: int
    points: int
    tasks: msgspec.Raw


class ExplainedUser(msgspec.Struct, frozen=True):
    uid: int | str
    at: datetime
    revision: int
    draft: int | None
    generation: int
    version: int
    tasks: list[ExplainedTask]


class ForgottenUser(msgspec.Struct, frozen=True):
    uid: int | str
    event_id: str
    applied: bool
    generation: int
    version: int


_encode = msgspec.json.Encoder().encode


def answer(value: msgspec.Struct, fillings: Sequence[Pieces] = ()) -> HttpResponse:
    """Never to be stored on the way: the next answer may differ. `fillings`: what belongs into each HOLE of the value, in order."""
    content = _encode(value)
    if fillings:
        content = _fill(content, fillings)
    return HttpResponse(content, content_type="application/json", headers={"Cache-Control": "no-store"})


def _fill(around: bytes, fillings: Sequence[Pieces]) -> bytes:
    first, *following = around.split(NUL)
    pieces = [first]
    for filling, after in zip(fillings, following, strict=True):
        pieces += filling
        pieces.append(after)
    return b"".join(pieces)


def user_tasks(snapshot: Snapshot) -> UserTasks:
    """With a HOLE for his tasks."""
    return UserTasks(uid_in_json(snapshot.uid), snapshot.generation, snapshot.version, snapshot.points, HOLE)


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


def forgotten_user(uid: int, event_id: str, done: WriteAnswer) -> ForgottenUser:
    snapshot = done.snapshot
    return ForgottenUser(uid_in_json(uid), event_id, done.applied, snapshot.generation, snapshot.version)
