"""What the API answers about the configuration: a bundle as it is stored, a draft with all that stands against it."""

from __future__ import annotations

import gzip
from datetime import datetime
from typing import Any

import msgspec
from django.http import HttpRequest, HttpResponse
from django.utils.cache import patch_vary_headers
from django.utils.http import parse_etags

from apps.tasks.api.compression import takes_gzip
from apps.tasks.api.problems import Problem
from apps.tasks.config.change_words import say_differences
from apps.tasks.config.differences import differences
from apps.tasks.config.faults import Fault, refusals
from apps.tasks.config.words import say_fault
from apps.tasks.models import Draft, Revision
from apps.tasks.publishing import drafts, errors
from apps.tasks.publishing.live import configuration_at, live_number
from apps.tasks.publishing.reconciling import DocumentConflict
from apps.tasks.publishing.words import say_refusal

JSON = "application/json"
REVISION_HEADER = "Config-Revision"


class FaultAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """`pointer` is a JSON pointer into the configuration; `level` is fault or warning; `line` is one of the file that was sent."""

    pointer: str
    code: str
    level: str
    text: str
    line: int = 0


class ConflictAnswer(msgspec.Struct, frozen=True):
    kind: str
    key: str
    path: list[str]
    base: Any
    mine: Any
    theirs: Any
    revision: int | None
    by: str
    at: datetime | None


class DraftAnswer(msgspec.Struct, frozen=True):
    draft: int | None
    edition: int
    state: str
    base_revision: int
    live_revision: int
    changes: list[str]
    faults: list[FaultAnswer]
    conflicts: list[ConflictAnswer]
    publish_at: datetime | None


class PublishedAnswer(msgspec.Struct, frozen=True):
    revision: int
    etag: str
    published_at: datetime


_encode = msgspec.json.Encoder().encode


def answer(value: msgspec.Struct, status: int = 200) -> HttpResponse:
    return HttpResponse(_encode(value), status=status, content_type=JSON, headers={"Cache-Control": "no-store"})


def bundle(request: HttpRequest, revision: Revision, lasts: bool) -> HttpResponse:
    """The compiled bundle, out of the database as it is for who takes gzip; 304 for who has it. `lasts`: this address never changes."""
    headers = {
        "ETag": revision.etag,
        "Cache-Control": "private, max-age=31536000, immutable" if lasts else "private, no-cache",
        REVISION_HEADER: str(revision.number),
    }
    if has_it(request.headers.get("If-None-Match", ""), revision.etag):
        response = HttpResponse(status=304, headers=headers)
        del response.headers["Content-Type"]
    elif takes_gzip(request.headers.get("Accept-Encoding", "")):
        response = HttpResponse(bytes(revision.bundle), content_type=JSON, headers={**headers, "Content-Encoding": "gzip"})
    else:
        response = HttpResponse(gzip.decompress(revision.bundle), content_type=JSON, headers=headers)
    patch_vary_headers(response, ["Accept-Encoding"])
    return response


def has_it(if_none_match: str, etag: str) -> bool:
    """By the weak comparison, as RFC 9110 wants it for this header: a proxy that compresses makes the tag a weak one."""
    known = parse_etags(if_none_match)
    return "*" in known or etag in {each.removeprefix("W/") for each in known}


def draft(draft: Draft) -> DraftAnswer:
    """The draft as it stands against what is live now. Checks it, so that its page knows."""
    live = live_number()
    faults = drafts.check(draft) if draft.is_open else []
    changed = differences(configuration_at(live), drafts.configuration_of(draft)) if draft.is_open else []
    return DraftAnswer(
        draft=draft.pk,
        edition=draft.edition,
        state=draft.state,
        base_revision=draft.base_revision,
        live_revision=live,
        changes=say_differences(changed),
        faults=[fault(each) for each in faults],
        conflicts=[conflict(each) for each in drafts.conflicts_of(draft)] if draft.is_open else [],
        publish_at=draft.publish_at,
    )


def published(revision: Revision) -> PublishedAnswer:
    return PublishedAnswer(revision.number, revision.etag, revision.published_at)


def fault(fault: Fault) -> FaultAnswer:
    return FaultAnswer(fault.pointer, fault.code, fault.level, say_fault(fault), line=getattr(fault, "line", 0))


def conflict(conflict: DocumentConflict) -> ConflictAnswer:
    return ConflictAnswer(
        kind=conflict.kind,
        key=conflict.key,
        path=list(conflict.path),
        base=conflict.base,
        mine=conflict.mine,
        theirs=conflict.theirs,
        revision=conflict.revision,
        by=conflict.by,
        at=conflict.at,
    )


def problem_of(refusal: errors.Refusal) -> Problem:
    """409 for what came in between, 422 for what is wrong; both say everything that stands against it."""
    match refusal:
        case errors.Conflicting():
            return Problem(
                "conflict", say_refusal(refusal), more={"conflicts": msgspec.to_builtins([conflict(it) for it in refusal.conflicts])}
            )
        case errors.Invalid():
            return invalid(refusal.faults, say_refusal(refusal))
        case errors.UnknownRevision():
            return Problem("unknown_revision", say_refusal(refusal))
        case errors.Busy():
            return Problem("overloaded", say_refusal(refusal), headers={"Retry-After": "2"})
        case errors.Stale():
            return Problem("draft_refused", say_refusal(refusal), "#/edition", more={"cause": "stale", "edition": refusal.edition})
        case _:
            return Problem("draft_refused", say_refusal(refusal), more={"cause": CAUSES.get(type(refusal), "refused")})


CAUSES = {
    errors.NotOpen: "not_open",
    errors.NotApproved: "not_approved",
    errors.NothingToPublish: "nothing_to_publish",
    errors.StaysTaken: "stays_taken",
    errors.TooLarge: "too_large",
    errors.TooLate: "too_late",
    errors.UnknownDocument: "unknown_document",
    errors.NoReason: "no_reason",
}
"""Stable names of why a draft was refused; `stale` says the edition too."""


def invalid(faults: list[Fault], detail: str) -> Problem:
    """`pointer` is that of the first fault."""
    first = next(iter(refusals(faults)), None) or next(iter(faults), None)
    return Problem(
        "invalid_configuration",
        detail if first is None else f"{detail} {say_fault(first)}",
        first.pointer or None if first is not None else None,
        more={"faults": msgspec.to_builtins([fault(each) for each in faults])},
    )
