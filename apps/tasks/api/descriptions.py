"""What the OpenAPI schema says of each call: parameters, answers, errors, examples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from django.conf import settings
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, OpenApiResponse

from apps.tasks.api import shapes
from apps.tasks.api.problems import CONTENT_TYPE, Problem
from apps.tasks.decisions import STATES

_UID = OpenApiParameter(
    "uid",
    {"type": "integer", "format": "int64", "minimum": 1, "maximum": settings.RESERVED_FROM_UID - 1, "example": 1000000000042},
    OpenApiParameter.PATH,
    description="The user's number. The largest ones are reserved.",
)

PROBLEMS = {
    400: ("Something in the request is wrong; `pointer` says what.", Problem("bad_request", "A uid is a number from 1 …", "path/uid")),
    401: (
        "No API key, or one that is not known or was revoked.",
        Problem("not_authenticated", "This API key is not known, or it was revoked.", "header/Authorization"),
    ),
    403: ("The API key lacks the scope.", Problem("scope_missing", "This API key lacks the scope “write”.")),
    404: ("There is no such task.", Problem("unknown_task", "There is no task with the code “invite-4-friends”.", "path/code")),
    409: (
        "The task cannot be done (see `reasons`), or the event id belongs to another event.",
        Problem("not_eligible", "The task has ended.", reasons=[{"code": "ended", "text": "The task has ended."}]),
    ),
    413: ("The body is too large.", Problem("too_big", "A body may have 65536 bytes.")),
    415: (
        "The body is not declared as JSON.",
        Problem("unsupported_media_type", "Send the body with Content-Type: application/json.", "header/Content-Type"),
    ),
    502: ("The DBSvr could not do this.", Problem("dbsvr_fault", "The database refused this request alone.")),
    503: (
        "Overloaded, or the master or the DBSvr does not answer: try again after `Retry-After` seconds.",
        Problem("overloaded", "The DBSvr holds as many requests as it may."),
    ),
    504: (
        "No answer in time. A write may have happened all the same: repeat it with the same event_id.",
        Problem("timeout", "No answer within the deadline."),
    ),
}


def answers_of(
    shape: Any,
    *statuses: int,
    example: dict[str, Any],
    successes: Sequence[int] = (200,),
    problems: Mapping[int, tuple[str, Problem]] = MappingProxyType({}),
) -> dict[Any, OpenApiResponse]:
    """One answer for each status; `problems` says what is not as in PROBLEMS."""
    shown = OpenApiExample("Example", value=example, response_only=True, status_codes=[str(status) for status in successes])
    answers: dict[Any, OpenApiResponse] = {(status, "application/json"): OpenApiResponse(shape, examples=[shown]) for status in successes}
    for status in statuses:
        description, problem = problems.get(status) or PROBLEMS[status]
        shown = OpenApiExample("Example", value=problem.body(), response_only=True, media_type=CONTENT_TYPE, status_codes=[str(status)])
        answers[(status, CONTENT_TYPE)] = OpenApiResponse(shapes.ProblemSerializer, description=description, examples=[shown])
    return answers


LIST_TASKS: dict[str, Any] = {
    "operation_id": "listTasks",
    "summary": "Which tasks a user may do, and how far he is",
    "description": (
        "Scope `read`. An unknown user has done nothing yet: version 0. Without `status` everything is listed that he can do or has "
        "done in the present period; what nobody can do now is listed with `status=unavailable`, with reasons."
    ),
    "parameters": [
        _UID,
        OpenApiParameter(
            "status",
            {"type": "array", "items": {"type": "string", "enum": list(STATES)}},
            OpenApiParameter.QUERY,
            explode=False,
            description="Only tasks in these states, separated by commas.",
        ),
        OpenApiParameter(
            "lang",
            OpenApiTypes.STR,
            OpenApiParameter.QUERY,
            enum=[code for code, _name in settings.LANGUAGES],
            description="Language of texts.",
        ),
    ],
    "responses": answers_of(
        shapes.UserTasksSerializer,
        *(400, 401, 403, 502, 503, 504),
        example={
            "uid": 1000000000042,
            "generation": 1,
            "version": 3,
            "points": 50,
            "tasks": [
                {
                    "code": "invite-3-friends",
                    "name": "Invite 3 friends",
                    "description": "They must open the app once.",
                    "state": "in_progress",
                    "period": "once",
                    "progress": 2,
                    "target": 3,
                    "points": 50,
                    "starts_at": "2026-11-01T00:00:00Z",
                    "ends_at": None,
                    "resets_at": None,
                    "completed_at": None,
                    "reasons": [],
                }
            ],
        },
    ),
}

COMPLETE_TASK: dict[str, Any] = {
    "operation_id": "completeTask",
    "summary": "Record that a user completed a task",
    "description": (
        "Scope `write`. Completes the task at once, in the period in which `at` lies. Send the same `event_id` again as often as you like: "
        "it is applied once, and a repeat answers what it did the first time, with the user as he is now."
    ),
    "parameters": [_UID, OpenApiParameter("code", OpenApiTypes.STR, OpenApiParameter.PATH, description="The task's code.")],
    "request": {"application/json": shapes.CompleteBodySerializer},
    "examples": [OpenApiExample("Example", value={"event_id": "login-2026-11-30-42"}, request_only=True)],
    "responses": answers_of(
        shapes.CompletionSerializer,
        *(400, 401, 403, 404, 409, 413, 415, 502, 503, 504),
        example={
            "uid": 1000000000042,
            "event_id": "login-2026-11-30-42",
            "applied": True,
            "generation": 1,
            "version": 4,
            "points": 60,
            "task": {
                "code": "log-in-today",
                "period": "2026-11-30",
                "state": "completed",
                "progress": 1,
                "target": 1,
                "completed_now": True,
                "points": 10,
                "resets_at": "2026-12-01T00:00:00Z",
            },
        },
    ),
}

FORGET_USER: dict[str, Any] = {
    "operation_id": "forgetUser",
    "summary": "Erase a user's progress and points",
    "description": "Scope `admin`. Erasing waits behind all other work. His version goes on counting, so that no old copy passes for new.",
    "parameters": [
        _UID,
        OpenApiParameter(
            "Idempotency-Key", OpenApiTypes.STR, OpenApiParameter.HEADER, description="The event id; without one, one is made."
        ),
        OpenApiParameter("event_id", OpenApiTypes.STR, OpenApiParameter.QUERY, description="The same, for who cannot set a header."),
    ],
    "responses": answers_of(
        shapes.ForgottenUserSerializer,
        *(400, 401, 403, 502, 503, 504),
        example={"uid": 1000000000042, "event_id": "erase-42", "applied": True, "generation": 1, "version": 5},
    ),
}
