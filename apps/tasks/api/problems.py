"""Every error of the API as `application/problem+json` (RFC 9457).

One table says what each cause becomes. Besides the sentence a program finds: a stable `code`, a `pointer` to what is wrong, and the
answers to the two questions about every error: may I send this again (`retryable`), may it have happened all the same (`outcome_unknown`)?
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from django.core.exceptions import BadRequest, PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.db import Error as DatabaseError
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.tasks.api.task_answers import ReasonAnswer, reason_answer
from apps.tasks.services.errors import BadMoment, EventUsedOtherwise, NotEligible, UnknownEventType, UnknownTask
from apps.tasks.watch import NotKnownYet
from workers import protocol

log = logging.getLogger(__name__)

CONTENT_TYPE = "application/problem+json"

# code: (status, title, retryable, outcome unknown)
CAUSES: Mapping[str, tuple[int, Any, bool, bool]] = {
    "bad_request": (400, gettext_lazy("The request is wrong"), False, False),
    "not_authenticated": (401, gettext_lazy("An API key is needed"), False, False),
    "scope_missing": (403, gettext_lazy("The API key may not do this"), False, False),
    "not_found": (404, gettext_lazy("There is nothing at this address"), False, False),
    "unknown_task": (404, gettext_lazy("There is no such task"), False, False),
    "method_not_allowed": (405, gettext_lazy("This method is not offered here"), False, False),
    "not_eligible": (409, gettext_lazy("The task cannot be done"), False, False),
    "unknown_revision": (404, gettext_lazy("There is no such revision"), False, False),
    "unknown_draft": (404, gettext_lazy("There is no such draft"), False, False),
    "conflict": (409, gettext_lazy("A newer revision changed the same"), False, False),
    "draft_refused": (409, gettext_lazy("The draft is not in a state for this"), False, False),
    "event_id_conflict": (409, gettext_lazy("The event id belongs to another event"), False, False),
    "too_big": (413, gettext_lazy("The request is too large"), False, False),
    "invalid_configuration": (422, gettext_lazy("The configuration has faults"), False, False),
    "unsupported_media_type": (415, gettext_lazy("The body must be JSON"), False, False),
    "rate_limited": (429, gettext_lazy("Too many requests"), True, False),
    "internal": (500, gettext_lazy("Something went wrong here"), True, True),
    "dbsvr_fault": (502, gettext_lazy("The DBSvr could not do this"), False, False),
    "overloaded": (503, gettext_lazy("Too much to do at the moment"), True, False),
    "master_down": (503, gettext_lazy("The master database does not answer"), True, False),
    "no_owner": (503, gettext_lazy("No DBSvr owns this user just now"), True, False),
    "unreachable": (503, gettext_lazy("The DBSvr cannot be reached"), True, True),
    "not_ready": (503, gettext_lazy("Not ready yet"), True, False),
    "timeout": (504, gettext_lazy("No answer in time"), True, True),
}

# What each error of the wire becomes. What is not here (NOAUTH: our own secret is wrong) is a fault on our side.
WIRE_ERRORS: Mapping[type[protocol.DBSvrError], str] = {
    protocol.BadArgument: "bad_request",
    protocol.TooBig: "too_big",
    protocol.Overloaded: "overloaded",
    protocol.MasterDown: "master_down",
    protocol.NotOwner: "no_owner",
    protocol.TimedOut: "timeout",
    protocol.Unreachable: "unreachable",
    protocol.Refused: "dbsvr_fault",
    # This process has not heard of the newest revision in time, which another one has used for the user already.
    protocol.OldRules: "not_ready",
    # Answers to whoever asks for the configuration; no call of the API does, the thread that holds it does.
    protocol.ConfigUnseen: "not_ready",
    protocol.DamagedRevision: "not_ready",
    protocol.NotAuthenticated: "dbsvr_fault",
}


class Problem(Exception):
    """An error answer: its cause's code, a sentence on this case, and where in the request the fault is."""

    def __init__(
        self,
        code: str,
        detail: str,
        pointer: str | None = None,
        reasons: Sequence[ReasonAnswer] = (),
        headers: Mapping[str, str] | None = None,
        outcome_unknown: bool | None = None,
        more: Mapping[str, Any] | None = None,
    ) -> None:
        """`more`: further fields of the body, by name."""
        super().__init__(detail)
        self.code = code
        self.detail = detail
        self.pointer = pointer
        self.reasons = reasons
        self.headers = dict(headers or {})
        self.more = dict(more or {})
        self.status, self.title, self.retryable, unknown = CAUSES[code]
        self.outcome_unknown = unknown if outcome_unknown is None else outcome_unknown

    def body(self) -> dict[str, Any]:
        body: dict[str, Any] = {
            "type": f"urn:tasksys:problem:{self.code}",
            "title": str(self.title),
            "status": self.status,
            "code": self.code,
            "detail": self.detail,
            "retryable": self.retryable,
            "outcome_unknown": self.outcome_unknown,
        }
        if self.pointer:
            body["pointer"] = self.pointer
        if self.reasons:
            body["reasons"] = msgspec.to_builtins(self.reasons)
        return {**body, **self.more}

    def answer(self) -> HttpResponse:
        response = HttpResponse(msgspec.json.encode(self.body()), status=self.status, content_type=CONTENT_TYPE, headers=self.headers)
        # Django writes a line for every answer of 400 and more. A caller's mistakes are his; ours are logged where they are caught.
        response._has_been_logged = True  # type: ignore[attr-defined]
        return response


def answer_error(error: Exception, request: HttpRequest) -> HttpResponse:
    """Whatever went wrong, a problem is answered."""
    problem = problem_of(error, is_write=request.method not in ("GET", "HEAD"))
    if problem is None:
        log.error("an API request failed", exc_info=error, extra={"path": request.path})
        return internal_problem()
    return problem.answer()


def internal_problem() -> HttpResponse:
    return Problem("internal", _("It has been written to the log. A write may have happened: repeat it with the same event_id.")).answer()


def problem_of(error: Exception, is_write: bool) -> Problem | None:
    """The problem that the error is; None for what nobody foresaw."""
    match error:
        case Problem():
            return error
        case protocol.DBSvrError():
            return _of_wire(error, is_write)
        case UnknownTask():
            return Problem("unknown_task", _("There is no task with the code “%(code)s”.") % {"code": str(error)[:80]}, "path/code")
        case UnknownEventType():
            return Problem("bad_request", str(error), "#/type")
        case BadMoment():
            return Problem("bad_request", str(error), "#/at")
        case EventUsedOtherwise():
            return Problem("event_id_conflict", str(error), "#/event_id")
        case NotEligible():
            reasons = [reason_answer(reason) for reason in error.reasons]
            return Problem("not_eligible", " ".join(reason.text for reason in reasons), reasons=reasons)
        case NotKnownYet():
            log.warning("an API request came before tasks or keys could be read", extra={"error": error})
            return Problem("not_ready", _("Tasks and API keys could not be read yet."), headers={"Retry-After": "1"})
        case DatabaseError():
            log.warning("a database error in an API request", extra={"error": error})
            return Problem("master_down", _("The database could not be asked. Nothing was done."), headers={"Retry-After": "1"})
        case RequestDataTooBig():
            return Problem("too_big", _("The body is larger than this API reads."))
        case SuspiciousOperation() | BadRequest():
            return Problem("bad_request", _("The request cannot be read."))
        case _:
            return _of_framework(error)


def _of_wire(error: protocol.DBSvrError, is_write: bool) -> Problem:
    code = next((code for cls, code in WIRE_ERRORS.items() if isinstance(error, cls)), "dbsvr_fault")
    headers = {}
    if CAUSES[code][0] == 503:
        headers["Retry-After"] = str(max(1, math.ceil(error.retry_after_ms / 1000)))
    if code == "dbsvr_fault":
        log.error("the DBSvr answered an error that it should not", extra={"code": error.code, "error": error})
    # A read changes nothing, whatever became of it.
    return Problem(code, str(error), headers=headers, outcome_unknown=error.outcome_unknown and is_write)


def _of_framework(error: Exception) -> Problem | None:
    match error:
        case PermissionDenied():
            return Problem("scope_missing", _("This is not allowed."))
        case Http404():
            return Problem("not_found", _("This API has no such address. See /api/docs/."))
        case _:
            return None
