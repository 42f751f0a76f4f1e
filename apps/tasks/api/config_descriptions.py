"""What the OpenAPI schema says of the calls on the configuration."""

from __future__ import annotations

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, OpenApiResponse

from apps.tasks.api import shapes
from apps.tasks.api.config_lists import ITEMS, MOST_ITEMS
from apps.tasks.api.descriptions import answers_of
from apps.tasks.api.problems import Problem

_FAULT = {
    "pointer": "/tasks/log-in-today/ends_at",
    "code": "ends_before_start",
    "level": "fault",
    "text": "It ends (2026-01-01 00:00) before it has started (2026-12-01 00:00). Choose a later end, or none.",
}
_CONFLICT = {
    "kind": "task",
    "key": "log-in-today",
    "path": ["points"],
    "base": 5,
    "mine": 10,
    "theirs": 20,
    "revision": 43,
    "by": "wang",
    "at": "2026-11-30T09:10:00Z",
}
_BUNDLE = {
    "schema": 1,
    "revision": 43,
    "published_at": "2026-11-30T09:10:00Z",
    "tasks": [{"code": "log-in-today", "number": 1, "since": 1, "starts_at": "2026-11-01T00:00:00Z", "points": 5}],
    "attributes": {"level": {"name": "level", "type": "number"}},
    "events": {"login": {"name": "login"}},
    "lists": {},
}
_DRAFT = {
    "draft": 17,
    "edition": 2,
    "state": "editing",
    "base_revision": 42,
    "live_revision": 43,
    "changes": ["`log-in-today`: points 5 → 10"],
    "faults": [],
    "conflicts": [],
    "publish_at": None,
}

_UNKNOWN_REVISION = (
    "There is no such revision; of `config`: nothing was published yet.",
    Problem("unknown_revision", "There is no revision 99.", "path/number"),
)
_UNKNOWN_DRAFT = ("There is no such draft.", Problem("unknown_draft", "There is no draft 99.", "path/number"))
_BAD = ("Something in the request is wrong; `pointer` says what.", Problem("bad_request", "This must be a number …", "path/number"))
_REFUSED = (
    "`conflict`: a newer revision changed the same (see `conflicts`). `draft_refused`: the draft is not in a state for this; `cause` is "
    "stale, not_open, not_approved, nothing_to_publish, too_large, stays_taken, too_late or unknown_document. Nothing was done.",
    Problem("conflict", "Nothing was published: a newer revision changed the same place.", more={"conflicts": [_CONFLICT]}),
)
_INVALID = (
    "The file, or the whole that it would make, has faults (see `faults`). Nothing was done.",
    Problem("invalid_configuration", "1 thing must be put right first.", "/tasks/log-in-today/ends_at", more={"faults": [_FAULT]}),
)
_TOO_BIG = ("The body is too large.", Problem("too_big", "A body may have 33554432 bytes."))
_OF_DRAFTS = {400: _BAD, 404: _UNKNOWN_DRAFT, 409: _REFUSED, 413: _TOO_BIG, 422: _INVALID}
_NUMBER = OpenApiParameter(
    "number", {"type": "integer", "minimum": 0, "maximum": 999_999_999}, OpenApiParameter.PATH, description="Of the draft."
)
_UNCHANGED: dict[Any, Any] = {304: OpenApiResponse(description="You have it: If-None-Match names the newest one's ETag. No body.")}
_TAG = OpenApiParameter("If-None-Match", OpenApiTypes.STR, OpenApiParameter.HEADER, description="The ETag of the bundle that you have.")

GET_CONFIG: dict[str, Any] = {
    "operation_id": "getConfig",
    "tags": ["config"],
    "summary": "The compiled configuration that is live",
    "description": (
        "Scope `read`. Everything that decides what users may do, for a program that evaluates by itself. The ETag changes with every "
        "change of the content, also an indirect one, and with nothing else: ask once a second with If-None-Match. Comes as gzip to who "
        "accepts it."
    ),
    "parameters": [_TAG],
    "responses": {
        **answers_of(shapes.BundleSerializer, *(401, 403, 404, 503), example=_BUNDLE, problems={404: _UNKNOWN_REVISION}),
        **_UNCHANGED,
    },
}

GET_REVISION: dict[str, Any] = {
    "operation_id": "getRevision",
    "tags": ["config"],
    "summary": "The compiled configuration of one revision",
    "description": "Scope `read`. A revision never changes; it may be kept for ever.",
    "parameters": [
        OpenApiParameter(
            "number", {"type": "integer", "minimum": 1, "maximum": 999_999_999}, OpenApiParameter.PATH, description="Of the revision."
        ),
        _TAG,
    ],
    "responses": {
        **answers_of(shapes.BundleSerializer, *(400, 401, 403, 404, 503), example=_BUNDLE, problems={400: _BAD, 404: _UNKNOWN_REVISION}),
        **_UNCHANGED,
    },
}

_PAGE = [
    OpenApiParameter(
        "cursor",
        {"type": "string", "pattern": "^[0-9]{1,9}$"},
        OpenApiParameter.QUERY,
        description="The `next_cursor` of the page before; without it, the first page.",
    ),
    OpenApiParameter(
        "limit",
        {"type": "integer", "minimum": 1, "maximum": MOST_ITEMS, "default": ITEMS},
        OpenApiParameter.QUERY,
        description="Items of one page.",
    ),
]

LIST_REVISIONS: dict[str, Any] = {
    "operation_id": "listRevisions",
    "tags": ["config"],
    "summary": "What was published, the newest first",
    "description": "Scope `read`. Page by page.",
    "parameters": _PAGE,
    "responses": answers_of(
        shapes.RevisionPageSerializer,
        *(400, 401, 403, 503),
        example={
            "items": [
                {
                    "revision": 43,
                    "published_at": "2026-11-30T09:10:00Z",
                    "published_by": "wang",
                    "origin": "page",
                    "reason": "the weekend's tasks",
                    "changes": 3,
                    "rolls_back_to": None,
                }
            ],
            "next_cursor": "43",
        },
    ),
}

LIST_DRAFTS: dict[str, Any] = {
    "operation_id": "listDrafts",
    "tags": ["config"],
    "summary": "All drafts, the newest first",
    "description": "Scope `admin`. Page by page, open ones and those that are done with.",
    "parameters": _PAGE,
    "responses": answers_of(
        shapes.DraftPageSerializer,
        *(400, 401, 403, 503),
        example={
            "items": [
                {
                    "draft": 17,
                    "title": "weekend",
                    "state": "editing",
                    "edition": 2,
                    "base_revision": 42,
                    "opened_by": "key:editor",
                    "created_at": "2026-11-30T08:00:00Z",
                    "changed_at": "2026-11-30T09:00:00Z",
                    "publish_at": None,
                }
            ],
            "next_cursor": None,
        },
    ),
}

GET_DOCUMENTS: dict[str, Any] = {
    "operation_id": "getDocuments",
    "tags": ["config"],
    "summary": "The documents that are live, as a file to change and import",
    "description": "Scope `read`. The header Config-Revision says of which revision: give it as `base_revision` when you import.",
    "responses": answers_of(
        shapes.DocumentsSerializer,
        *(401, 403, 503),
        example={"schema": 1, "tasks": [{"code": "log-in-today", "starts_at": "2026-11-01T00:00:00Z", "points": 5}]},
    ),
}

IMPORT_DRAFT: dict[str, Any] = {
    "operation_id": "importDraft",
    "tags": ["config"],
    "summary": "Put documents into a new draft",
    "description": (
        "Scope `admin`. The body is a file as `config/documents` gives it, with the documents that are to be new or changed; it takes "
        "none away. Answers what the draft changes, in sentences, and all that stands against it. A person has to approve it before it "
        "is published."
    ),
    "parameters": [
        OpenApiParameter(
            "base_revision",
            {"type": "integer", "minimum": 0, "maximum": 999_999_999},
            OpenApiParameter.QUERY,
            required=True,
            description="The revision that your documents were made from. What was changed since is merged, or a conflict.",
        ),
        OpenApiParameter("title", OpenApiTypes.STR, OpenApiParameter.QUERY, description="For the people who see the draft."),
        OpenApiParameter("dry_run", OpenApiTypes.BOOL, OpenApiParameter.QUERY, description="Only say what it would be; keep nothing."),
    ],
    "request": {"application/json": shapes.DocumentsSerializer},
    "responses": answers_of(
        shapes.DraftSerializer,
        *(400, 401, 403, 404, 409, 413, 415, 422, 503),
        example=_DRAFT,
        successes=(200, 201),
        problems={**_OF_DRAFTS, 404: _UNKNOWN_REVISION},
    ),
}

GET_DRAFT: dict[str, Any] = {
    "operation_id": "getDraft",
    "tags": ["config"],
    "summary": "A draft, checked",
    "description": "Scope `admin`. What it changes against what is live, its faults, and its conflicts with newer revisions.",
    "parameters": [_NUMBER],
    "responses": answers_of(shapes.DraftSerializer, *(400, 401, 403, 404, 503), example=_DRAFT, problems=_OF_DRAFTS),
}

ASK: dict[str, Any] = {
    "operation_id": "askForReview",
    "tags": ["config"],
    "summary": "Ask a person to approve the draft",
    "description": "Scope `admin`. A program approves nothing.",
    "parameters": [_NUMBER],
    "request": {"application/json": shapes.EditionBodySerializer},
    "examples": [OpenApiExample("Example", value={"edition": 2}, request_only=True)],
    "responses": answers_of(
        shapes.DraftSerializer,
        *(400, 401, 403, 404, 409, 413, 415, 422, 503),
        example={**_DRAFT, "state": "in_review"},
        problems=_OF_DRAFTS,
    ),
}

RESOLVE: dict[str, Any] = {
    "operation_id": "resolveConflict",
    "tags": ["config"],
    "summary": "Decide one conflict",
    "description": "Scope `admin`. Take the draft's value (`mine`) or the live one (`theirs`). The draft has to be approved anew.",
    "parameters": [_NUMBER],
    "request": {"application/json": shapes.ResolveBodySerializer},
    "examples": [
        OpenApiExample(
            "Example",
            value={"edition": 2, "kind": "task", "key": "log-in-today", "path": ["points"], "take": "theirs", "seen": 43},
            request_only=True,
        )
    ],
    "responses": answers_of(
        shapes.DraftSerializer, *(400, 401, 403, 404, 409, 413, 415, 503), example={**_DRAFT, "edition": 3}, problems=_OF_DRAFTS
    ),
}

PUBLISH: dict[str, Any] = {
    "operation_id": "publishDraft",
    "tags": ["config"],
    "summary": "Publish an approved draft, now or at a moment",
    "description": (
        "Scope `admin`. Answers 200 with the new revision, or 202 with the draft when it is to go live `at` a moment. Never overwrites "
        "what a newer revision changed: that is a 409 with both values."
    ),
    "parameters": [_NUMBER],
    "request": {"application/json": shapes.PublishBodySerializer},
    "examples": [OpenApiExample("Example", value={"edition": 2, "reason": "double points for the weekend"}, request_only=True)],
    "responses": {
        **answers_of(
            shapes.PublishedSerializer,
            *(400, 401, 403, 404, 409, 413, 415, 422, 503),
            example={"revision": 44, "etag": '"44-0123456789abcdef"', "published_at": "2026-11-30T10:00:00Z"},
            problems=_OF_DRAFTS,
        ),
        **answers_of(
            shapes.DraftSerializer,
            example={**_DRAFT, "state": "scheduled", "publish_at": "2026-12-01T00:00:00Z"},
            successes=(202,),
        ),
    },
}
