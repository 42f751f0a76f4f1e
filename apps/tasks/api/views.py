"""The calls of a logic server."""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec
from django.http import HttpRequest, HttpResponse
from django.utils import timezone, translation
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.views import APIView

from apps.tasks.api import answers, descriptions, event_descriptions, reading
from apps.tasks.api.problems import Problem
from apps.tasks.evaluation.bundle import BadBundle, Bundle
from apps.tasks.evaluation.decisions import Decision
from apps.tasks.evaluation.reasons import CLAIMABLE, UNAVAILABLE
from apps.tasks.keys import KnownKey
from apps.tasks.live_bundle import live
from apps.tasks.models import Draft
from apps.tasks.models.drafts import OPEN_STATES
from apps.tasks.publishing.preview import bundle_of_draft
from apps.tasks.scopes import ADMIN, READ
from apps.tasks.services import decisions_of_user, explanations_of_user, forget_user, new_event_id, prompts_of_user

PROMPTS = 3
"""Shown when no number is asked for."""


class ApiView(APIView):
    """JSON whatever the Accept header says: the answer is always of the one kind, so there is nothing to negotiate."""

    scopes: ClassVar[dict[str, str]] = {}
    metadata_class = None

    def perform_content_negotiation(self, request: Request, force: bool = False) -> tuple[Any, str]:
        renderer = self.get_renderers()[0]
        return renderer, renderer.media_type


class UserTasksView(ApiView):
    scopes: ClassVar[dict[str, str]] = {"GET": READ, "HEAD": READ}

    @extend_schema(**descriptions.LIST_TASKS)
    def get(self, request: Request, uid: str) -> HttpResponse:
        user = reading.read_uid(uid)
        wanted = reading.read_states(request._request)
        language = reading.read_language(request._request)
        with_values = reading.read_reasons(request._request)
        snapshot, decisions = decisions_of_user(user, reading.read_attributes(request._request))
        shown = [decision for decision in decisions if is_wanted(decision, wanted)]
        with translation.override(language or translation.get_language()):
            return answers.answer(answers.user_tasks(snapshot, shown, with_values))


def is_wanted(decision: Decision, states: frozenset[str] | None) -> bool:
    """What is asked for; without that, all but the unavailable. A reward of an earlier period is claimable too."""
    if states is None:
        return decision.status != UNAVAILABLE or bool(decision.still_claimable)
    return decision.status in states or (CLAIMABLE in states and bool(decision.still_claimable))


class PromptsView(ApiView):
    scopes: ClassVar[dict[str, str]] = {"GET": READ, "HEAD": READ}

    @extend_schema(**event_descriptions.PROMPTS)
    def get(self, request: Request, uid: str) -> HttpResponse:
        user = reading.read_uid(uid)
        limit = reading.read_limit(request._request, PROMPTS)
        language = reading.read_language(request._request)
        snapshot, decisions = prompts_of_user(user, reading.read_attributes(request._request), limit)
        with translation.override(language or translation.get_language()):
            return answers.answer(answers.user_tasks(snapshot, decisions, with_values=False))


class ExplainView(ApiView):
    """What is live, or a draft, which needs the scope admin: nobody else may see what is not published."""

    scopes: ClassVar[dict[str, str]] = {"POST": READ}

    @extend_schema(**descriptions.EXPLAIN)
    def post(self, request: Request) -> HttpResponse:
        body = reading.read_body(request._request, reading.ExplainBody)
        user = reading.read_uid(str(body.uid), "#/uid")
        language = reading.read_language(request._request)
        at = reading.read_explained_moment(body.at, timezone.now())
        bundle = live().bundle if body.draft is None else self._bundle_of_draft(request, body.draft)
        for place, code in enumerate(body.tasks or ()):
            if code not in bundle.by_code:
                raise Problem("unknown_task", _("There is no task with the code “%(code)s”.") % {"code": code[:80]}, f"#/tasks/{place}")
        snapshot, explanations = explanations_of_user(bundle, user, body.attributes, at, body.tasks)
        with translation.override(language or translation.get_language()):
            return answers.answer(answers.explained_user(snapshot, explanations, at, bundle.revision, body.draft))

    def _bundle_of_draft(self, request: Request, number: int) -> Bundle:
        key = request.user
        if not isinstance(key, KnownKey) or ADMIN not in key.scopes:
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
    def delete(self, request: Request, uid: str) -> HttpResponse:
        user = reading.read_uid(uid)
        event_id = self._event_id(request._request)
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


class NoSuchEndpoint(ApiView):
    """Whatever else is asked for below /api/."""

    permission_classes = ()
    authentication_classes = ()
    schema = None

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        self.http_method_names = [request.method.lower() if request.method else "get"]
        setattr(self, self.http_method_names[0], self._refuse)
        return super().dispatch(request, *args, **kwargs)  # type: ignore[return-value]

    def _refuse(self, request: Request, *args: Any, **kwargs: Any) -> HttpResponse:
        raise NotFound
