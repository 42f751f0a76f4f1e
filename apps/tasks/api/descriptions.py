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
from apps.tasks.api.task_answers import ReasonAnswer
from apps.tasks.evaluation.reasons import ENDED, STATUSES

UID = OpenApiParameter(
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
        Problem("not_eligible", "The task has ended.", reasons=[ReasonAnswer(ENDED, "The task has ended.")]),
    ),
    413: ("The body is too large.", Problem("too_big", "A body may have 65536 bytes.")),
    415: (
        "The body is not declared as JSON.",
        Problem("unsupported_media_type", "Send the body with Content-Type: application/json.", "header/Content-Type"),
    ),
    429: ("The API key asks too often: try again after `Retry-After` seconds.", Problem("rate_limited", "This API key may make 50 …")),
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
    """One answer for each status; with problems always that of who asks too often. `problems` says what is not as in PROBLEMS."""
    shown = OpenApiExample("Example", value=example, response_only=True, status_codes=[str(status) for status in successes])
    answers: dict[Any, OpenApiResponse] = {(status, "application/json"): OpenApiResponse(shape, examples=[shown]) for status in successes}
    for status in sorted({*statuses, 429}) if statuses else ():
        description, problem = problems.get(status) or PROBLEMS[status]
        shown = OpenApiExample("Example", value=problem.body(), response_only=True, media_type=CONTENT_TYPE, status_codes=[str(status)])
        answers[(status, CONTENT_TYPE)] = OpenApiResponse(shapes.ProblemSerializer, description=description, examples=[shown])
    return answers


LANG = OpenApiParameter(
    "lang",
    OpenApiTypes.STR,
    OpenApiParameter.QUERY,
    enum=[code for code, _name in settings.LANGUAGES],
    description="Language of texts.",
)

LIST_TASKS: dict[str, Any] = {
    "operation_id": "listTasks",
    "summary": "Which tasks a user may do, and how far he is",
    "description": (
        "Scope `read`. An unknown user has done nothing yet: version 0. Without `status` everything is listed that he can do or has "
        "done in the present period; what he cannot do now is listed with `status=unavailable`, with reasons."
    ),
    "parameters": [
        UID,
        OpenApiParameter(
            "status",
            {"type": "array", "items": {"type": "string", "enum": list(STATUSES)}},
            OpenApiParameter.QUERY,
            explode=False,
            description="Only tasks in these states, separated by commas.",
        ),
        LANG,
        OpenApiParameter(
            "attributes",
            OpenApiTypes.STR,
            OpenApiParameter.QUERY,
            description='What you know of the user, as a JSON object: {"level":30}. Conditions ask for it; his own time zone is `zone`.',
        ),
        OpenApiParameter(
            "reasons", OpenApiTypes.STR, OpenApiParameter.QUERY, enum=["values"], description="Reasons with the values that decided."
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
                    "kind": "counter",
                    "name": "Invite 3 friends",
                    "description": "They must open the app once.",
                    "button": "Invite",
                    "link": "app://friends",
                    "category": "social",
                    "icon": "group",
                    "weight": 10,
                    "tags": ["new"],
                    "state": "in_progress",
                    "accepted": True,
                    "period": "once",
                    "progress": 2,
                    "target": 3,
                    "points": 50,
                    "tiers": [],
                    "streak": None,
                    "starts_at": "2026-11-01T00:00:00Z",
                    "ends_at": None,
                    "resets_at": None,
                    "completed_at": None,
                    "claimed_at": None,
                    "claim_until": None,
                    "still_claimable": [],
                    "reasons": [],
                }
            ],
        },
    ),
}

FORGET_USER: dict[str, Any] = {
    "operation_id": "forgetUser",
    "summary": "Erase a user's progress and points",
    "description": "Scope `admin`. Erasing waits behind all other work. His version goes on counting, so that no old copy passes for new.",
    "parameters": [
        UID,
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

_FAULTY_DRAFT = Problem("invalid_configuration", "The draft has faults; check it first.", "#/draft")

EXPLAIN: dict[str, Any] = {
    "operation_id": "explainUser",
    "summary": "Why a user may do what he may",
    "description": (
        "Scope `read`. Every check of every task, in a fixed order, with what was wanted and what is; at any moment, with the user's "
        "records as they are now. The same evaluator decides here and in the other calls."
    ),
    "parameters": [LANG],
    "request": {"application/json": shapes.ExplainBodySerializer},
    "examples": [OpenApiExample("Example", value={"uid": 42, "attributes": {"level": 28}, "tasks": ["daily-login"]}, request_only=True)],
    "responses": answers_of(
        shapes.ExplainedUserSerializer,
        *(400, 401, 403, 404, 413, 415, 422, 502, 503, 504),
        problems={422: ("The draft has faults that keep it from being evaluated.", _FAULTY_DRAFT)},
        example={
            "uid": 42,
            "at": "2026-11-30T12:00:00Z",
            "revision": 43,
            "draft": None,
            "generation": 1,
            "version": 3,
            "tasks": [
                {
                    "code": "daily-login",
                    "name": "Log in today",
                    "shown": False,
                    "state": "unavailable",
                    "period": "2026-11-30",
                    "period_starts_at": "2026-11-29T16:00:00Z",
                    "resets_at": "2026-11-30T16:00:00Z",
                    "zone": "Asia/Shanghai",
                    "progress": 0,
                    "target": 1,
                    "points": 10,
                    "streak": None,
                    "caps_left": None,
                    "bucket": 4711,
                    "percentage_bp": 10000,
                    "checks": [
                        {"check": "switched_on", "outcome": "met", "reason": "inactive"},
                        {
                            "check": "condition",
                            "outcome": "unmet",
                            "reason": "condition_unmet",
                            "decides": True,
                            "about": "level",
                            "operator": ">=",
                            "wanted": 30,
                            "actual": 28,
                            "group": 1,
                            "note": "caller",
                        },
                    ],
                }
            ],
        },
    ),
}
