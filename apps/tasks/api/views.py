"""The calls of a logic server."""

from __future__ import annotations

from typing import ClassVar

import msgspec
from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema

from apps.tasks.api import answers, bodies, descriptions, event_descriptions, reading
from apps.tasks.api.endpoint import ApiRequest, ApiView
from apps.tasks.api.languages import speak
from apps.tasks.api.problems import Problem, answer_error
from apps.tasks.api.task_answers import Pieces, encode_shown_tasks, encode_tasks
from apps.tasks.evaluation.bundle import BadBundle, Bundle
from apps.tasks.evaluation.evaluator import Decided
from apps.tasks.evaluation.reasons import CLAIMABLE
from apps.tasks.live_bundle import live
from apps.tasks.models import Draft
from apps.tasks.models.drafts import OPEN_STATES
from apps.tasks.publishing.preview import bundle_of_draft
from apps.tasks.scopes import ADMIN, READ
from apps.tasks.services import decisions_of_user, explanations_of_user, forget_user, new_event_id, prompts_of_user

PROMPTS, MOST_PROMPTS = 3, 50
"""Shown when no number is asked for, and at most."""


class UserTasksView(ApiView):
    """The hot read: one round trip to a cache node, no query."""

    scopes: ClassVar[dict[str, str]] = {"GET": READ, "HEAD": READ}
    asks_django: ClassVar[bool] = False

    @extend_schema(**descriptions.LIST_TASKS)
    def get(self, request: ApiRequest, uid: str) -> HttpResponse:
        user = reading.read_uid(uid)
        query = reading.read_query(request)
        wanted = reading.read_states(query)
        language = reading.read_language(query)
        with_values = reading.read_reasons(query)
        snapshot, decided = decisions_of_user(user, reading.read_attributes(query))
        if language is not None:
            speak(request, language)
        return answers.answer(answers.user_tasks(snapshot), [encode_wanted(decided, wanted, with_values, request.LANGUAGE_CODE)])


def encode_wanted(decided: Decided, states: frozenset[str] | None, with_values: bool, language: str) -> Pieces:
    """The tasks asked for; without that, all that are shown. A reward of an earlier period is claimable too."""
    if states is None:
        return encode_shown_tasks(decided, with_values, language)
    with_claimable = CLAIMABLE in states
    wanted = [it for it in decided.by_weight() if it.status in states or (with_claimable and it.still_claimable)]
    return encode_tasks(wanted, with_values, language)


class PromptsView(ApiView):
    scopes: ClassVar[dict[str, str]] = {"GET": READ, "HEAD": READ}

    @extend_schema(**event_descriptions.PROMPTS)
    def get(self, request: ApiRequest, uid: str) -> HttpResponse:
        user = reading.read_uid(uid)
        query = reading.read_query(request)
        limit = reading.read_limit(query, PROMPTS, MOST_PROMPTS)
        language = reading.read_language(query)
        snapshot, decisions = prompts_of_user(user, reading.read_attributes(query), limit)
        if language is not None:
            speak(request, language)
        return answers.answer(answers.user_tasks(snapshot), [encode_tasks(decisions, False, request.LANGUAGE_CODE)])


class ExplainView(ApiView):
    """What is live, or a draft, which needs the scope admin: nobody else may see what is not published."""

    scopes: ClassVar[dict[str, str]] = {"POST": READ}

    @extend_schema(**descriptions.EXPLAIN)
    def post(self, request: ApiRequest) -> HttpResponse:
        body = reading.read_body(request, bodies.ExplainBody)
        user = reading.read_uid(str(body.uid), "#/uid")
        language = reading.read_language(reading.read_query(request))
        at = reading.read_explained_moment(body.at, timezone.now())
        bundle = live().bundle if body.draft is None else self._bundle_of_draft(request, body.draft)
        for place, code in enumerate(body.tasks or ()):
            if code not in bundle.by_code:
                raise Problem("unknown_task", _("There is no task with the code “%(code)s”.") % {"code": code[:80]}, f"#/tasks/{place}")
        snapshot, explanations = explanations_of_user(bundle, user, body.attributes, at, body.tasks)
        if language is not None:
            speak(request, language)
        return answers.answer(answers.explained_user(snapshot, explanations, at, bundle.revision, body.draft))

    def _bundle_of_draft(self, request: ApiRequest, number: int) -> Bundle:
        if ADMIN not in request.user.scopes:
            raise Problem("scope_missing", _("This API key lacks the scope “%(scope)s”.") % {"scope": ADMIN}, "#/draft")
        draft = Draft.objects.filter(pk=number, state__in=OPEN_STATES).first() if 0 < number < 2**31 else None
        if draft is None:
            raise Problem("unknown_draft", _("There is no open draft with this number."), "#/draft")
        try:
            return bundle_of_draft(draft)
        except (BadBundle, KeyError, ValueError, msgspec.ValidationError) as error:
            raise Problem("invalid_configuration", _("The draft has faults; check it first."), "#/draft") from error


class UserView(ApiView):
    scopes: ClassVar[dict[str, str]] = {"DELETE": ADMIN}

    @extend_schema(**descriptions.FORGET_USER)
    def delete(self, request: ApiRequest, uid: str) -> HttpResponse:
        user = reading.read_uid(uid)
        event_id = self._event_id(request)
        return answers.answer(answers.forgotten_user(user, event_id, forget_user(user, event_id)))

    def _event_id(self, request: HttpRequest) -> str:
        in_header, in_query = request.headers.get("Idempotency-Key"), request.GET.get("event_id")
        if in_header is not None and in_query is not None and in_header != in_query:
            raise Problem("bad_request", _("Idempotency-Key and event_id differ."), "header/Idempotency-Key")
        if in_header is not None:
            return reading.read_event_id(in_header, "header/Idempotency-Key")
        if in_query is not None:
            return reading.read_event_id(in_query, "query/event_id")
        return new_event_id()


def no_such_endpoint(request: HttpRequest, **arguments: str) -> HttpResponse:
    """Whatever else is asked for below /api/."""
    return answer_error(Http404(), request)


no_such_endpoint.csrf_exempt = True  # type: ignore[attr-defined]
