"""What the OpenAPI schema says of events, the steps of a task, prompts and batches."""

from __future__ import annotations

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, OpenApiParameter

from apps.tasks.api import event_shapes, shapes
from apps.tasks.api.descriptions import LANG, LIST_TASKS, UID, answers_of
from apps.tasks.api.problems import Problem
from apps.tasks.api.task_answers import ReasonAnswer
from apps.tasks.evaluation.reasons import ALREADY_CLAIMED

CODE = OpenApiParameter("code", OpenApiTypes.STR, OpenApiParameter.PATH, description="The task's code.")
REPEATS = (
    " Send the same `event_id` again as often as you like: it is applied once, and a repeat answers what it did the first time, with the "
    "user as he is now."
)
WRITE_ERRORS = (400, 401, 403, 409, 413, 415, 502, 503, 504)
TOO_MANY = {413: ("The body is too large, or has too many items.", Problem("too_big", "A batch may have 500 items.", "#/items"))}

USER: dict[str, Any] = {
    "uid": 1000000000042,
    "event_id": "login-2026-11-30-42",
    "applied": True,
    "generation": 1,
    "version": 4,
    "points": 60,
}
TASK: dict[str, Any] = {
    "code": "log-in-today",
    "period": "2026-11-30",
    "state": "completed",
    "progress": 1,
    "target": 1,
    "completed_now": True,
    "points": 10,
    "resets_at": "2026-12-01T00:00:00Z",
}
EVENT: dict[str, Any] = {
    **USER,
    "event_id": "match-4711",
    "tasks": [
        {
            **TASK,
            "code": "win-3-matches",
            "state": "in_progress",
            "target": 3,
            "completed_now": False,
            "points": 0,
            "claimed_now": False,
            "reasons": [],
        }
    ],
    "not_counted": [{"code": "season-ladder", "reasons": [{"code": "not_started", "text": "The task has not started yet."}]}],
}
USER_TASKS = next(iter(LIST_TASKS["responses"].values())).examples[0].value


def _step(operation: str, summary: str, description: str, body: Any, request: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "operation_id": operation,
        "summary": summary,
        "description": "Scope `write`. " + description + REPEATS,
        "parameters": [UID, CODE],
        "request": {"application/json": body},
        "examples": [OpenApiExample("Example", value=request, request_only=True)],
        "responses": answers_of(event_shapes.StepSerializer, *WRITE_ERRORS, 404, **more),
    }


COMPLETE_TASK = _step(
    "completeTask",
    "Record that a user completed a task",
    "Completes the task at once, in the period in which `at` lies.",
    event_shapes.StepBodySerializer,
    {"event_id": "login-2026-11-30-42"},
    example={**USER, "task": TASK},
)

ACCEPT_TASK = _step(
    "acceptTask",
    "Record that a user accepted a task",
    "Of a task that must be accepted first: from then on, progress counts.",
    event_shapes.StepBodySerializer,
    {"event_id": "accept-42"},
    example={
        **USER,
        "event_id": "accept-42",
        "task": {**TASK, "state": "in_progress", "progress": 0, "completed_now": False, "points": 0},
    },
)

CLAIM_REWARD = _step(
    "claimReward",
    "Claim what a completed task gives",
    "Of a task whose reward comes by claim: grants what was completed, or the tiers that were reached, once.",
    event_shapes.ClaimBodySerializer,
    {"event_id": "claim-42", "period": "2026-11-29"},
    example={**USER, "event_id": "claim-42", "task": {**TASK, "state": "claimed", "completed_now": False, "claimed_now": True}},
    problems={
        409: (
            "There is nothing to claim (see `reasons`), or the event id belongs to another event.",
            Problem(
                "not_eligible",
                "The reward was claimed already.",
                reasons=[ReasonAnswer(ALREADY_CLAIMED, "The reward was claimed already.")],
            ),
        )
    },
)

REVERT_PROGRESS = _step(
    "revertProgress",
    "Take progress back, for refunds",
    "In the period in which `at` lies. What was granted stays, unless the task says otherwise; then it is taken back by a negative grant.",
    event_shapes.RevertBodySerializer,
    {"event_id": "refund-42", "value": 1},
    example={
        **USER,
        "event_id": "refund-42",
        "task": {**TASK, "code": "buy-3", "state": "in_progress", "progress": 2, "target": 3, "completed_now": False, "points": -10},
    },
)

RECORD_EVENT: dict[str, Any] = {
    "operation_id": "recordEvent",
    "summary": "Tell an event of a user",
    "description": (
        "Scope `write`. Feeds every task that listens for such an event and may be done at its time, all in one write. An event that feeds "
        "nothing is not written." + REPEATS
    ),
    "parameters": [UID],
    "request": {"application/json": event_shapes.EventBodySerializer},
    "examples": [
        OpenApiExample(
            "Example", value={"event_id": "match-4711", "type": "match_finished", "attributes": {"mode": "ranked"}}, request_only=True
        )
    ],
    "responses": answers_of(event_shapes.EventSerializer, *(400, 401, 403, 413, 415, 502, 503, 504), example=EVENT),
}

RECORD_EVENTS: dict[str, Any] = {
    "operation_id": "recordEvents",
    "summary": "Tell up to 500 events",
    "description": (
        "Scope `write`. Each has a result of its own, or a problem; the others are done all the same. Those of one user are done in their "
        "order." + REPEATS
    ),
    "request": {"application/json": event_shapes.EventsBodySerializer},
    "examples": [
        OpenApiExample("Example", value={"items": [{"uid": 42, "event_id": "match-4711", "type": "match_finished"}]}, request_only=True)
    ],
    "responses": answers_of(
        event_shapes.EventsSerializer,
        *(400, 401, 403, 413, 415, 502, 503, 504),
        problems=TOO_MANY,
        example={
            "items": [
                {"result": EVENT},
                {"problem": Problem("bad_request", "A uid is a number from 1 to 9223372036854775807.", "#/items/1/uid").body()},
            ]
        },
    ),
}

GET_USERS: dict[str, Any] = {
    "operation_id": "getUsers",
    "summary": "The tasks of up to 500 users",
    "description": "Scope `read`. For each what the call for one user answers, or a problem.",
    "parameters": LIST_TASKS["parameters"][1:3] + LIST_TASKS["parameters"][4:],
    "request": {"application/json": event_shapes.UsersBodySerializer},
    "examples": [OpenApiExample("Example", value={"items": [{"uid": 42}, {"uid": 43, "attributes": {"level": 30}}]}, request_only=True)],
    "responses": answers_of(
        event_shapes.UsersSerializer,
        *(400, 401, 403, 413, 415, 502, 503, 504),
        problems=TOO_MANY,
        example={"items": [{"result": USER_TASKS}]},
    ),
}

PROMPTS: dict[str, Any] = {
    "operation_id": "listPrompts",
    "summary": "What to show the user now",
    "description": "Scope `read`. What waits to be claimed, then what is nearly complete, then what else he may do; each by weight.",
    "parameters": [
        UID,
        OpenApiParameter(
            "limit", {"type": "integer", "minimum": 1, "maximum": 50, "default": 3}, OpenApiParameter.QUERY, description="How many at most."
        ),
        LANG,
        LIST_TASKS["parameters"][3],
    ],
    "responses": answers_of(shapes.UserTasksSerializer, *(400, 401, 403, 502, 503, 504), example=USER_TASKS),
}
