"""The configuration over the API: the compiled bundle for logic servers, and drafts for programs that write configurations.

What a program puts into a draft goes the way of every draft: checked, approved by a person, merged with what is live, and refused with
what stands against it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Annotated, Any, ClassVar, Literal

import msgspec
from django.db import transaction
from django.http import HttpResponse
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema

from apps.tasks.api import config_answers as answers
from apps.tasks.api import config_descriptions as descriptions
from apps.tasks.api import reading
from apps.tasks.api.config_lists import draft_page, revision_page
from apps.tasks.api.endpoint import ApiRequest, ApiView
from apps.tasks.api.problems import Problem
from apps.tasks.config.exchange import export_json, import_json
from apps.tasks.models import Draft, Revision
from apps.tasks.models.records import Origin
from apps.tasks.publishing import drafts, publish, review
from apps.tasks.publishing.errors import Refusal
from apps.tasks.publishing.live import configuration_at, live_number
from apps.tasks.publishing.unhurried import unhurried
from apps.tasks.scopes import ADMIN, READ

LARGEST_IMPORT_BYTES = 32 * 1024 * 1024


class EditionBody(msgspec.Struct, forbid_unknown_fields=True):
    """Which edition of the draft the caller has seen."""

    edition: int


class PublishBody(msgspec.Struct, forbid_unknown_fields=True):
    edition: int
    reason: str
    at: Annotated[datetime, msgspec.Meta(tz=True)] | None = None
    in_flight: Literal["keep", "apply"] = "keep"
    history_counts: bool = False


class ResolveBody(msgspec.Struct, forbid_unknown_fields=True):
    edition: int
    kind: Literal["task", "attribute", "event", "list"]
    key: str
    path: list[str]
    take: Literal["mine", "theirs"]
    seen: int
    """The live revision in which the other value was seen."""


class ConfigView(ApiView):
    scopes: ClassVar[dict[str, str]] = {"GET": READ, "HEAD": READ}

    @extend_schema(**descriptions.GET_CONFIG)
    def get(self, request: ApiRequest) -> HttpResponse:
        newest = Revision.objects.order_by("-number").first()
        if newest is None:
            raise Problem("unknown_revision", _("Nothing was published yet."))
        return answers.bundle(request, newest, lasts=False)


class RevisionView(ApiView):
    scopes: ClassVar[dict[str, str]] = {"GET": READ, "HEAD": READ}

    @extend_schema(**descriptions.GET_REVISION)
    def get(self, request: ApiRequest, number: str) -> HttpResponse:
        wanted = reading.read_number(number, "path/number")
        revision = Revision.objects.filter(number=wanted).first()
        if revision is None:
            raise Problem("unknown_revision", _("There is no revision %(number)d.") % {"number": wanted}, "path/number")
        return answers.bundle(request, revision, lasts=True)


class DocumentsView(ApiView):
    scopes: ClassVar[dict[str, str]] = {"GET": READ, "HEAD": READ}

    @extend_schema(**descriptions.GET_DOCUMENTS)
    def get(self, request: ApiRequest) -> HttpResponse:
        number = live_number()
        headers = {"Cache-Control": "no-store", answers.REVISION_HEADER: str(number)}
        return HttpResponse(export_json(configuration_at(number)), content_type=answers.JSON, headers=headers)


class RevisionsView(ApiView):
    scopes: ClassVar[dict[str, str]] = {"GET": READ, "HEAD": READ}

    @extend_schema(**descriptions.LIST_REVISIONS)
    def get(self, request: ApiRequest) -> HttpResponse:
        return answers.answer(revision_page(reading.read_query(request)))


class DraftsView(ApiView):
    scopes: ClassVar[dict[str, str]] = {"GET": ADMIN, "HEAD": ADMIN, "POST": ADMIN}

    @extend_schema(**descriptions.LIST_DRAFTS)
    def get(self, request: ApiRequest) -> HttpResponse:
        return answers.answer(draft_page(reading.read_query(request)))

    @extend_schema(**descriptions.IMPORT_DRAFT)
    def post(self, request: ApiRequest) -> HttpResponse:
        query = request.GET
        base = reading.read_number(query.get("base_revision"), "query/base_revision")
        imported = import_json(reading.read_bytes(request, LARGEST_IMPORT_BYTES))
        if imported.faults:
            raise answers.invalid(list(imported.faults), _("The file was not taken."))
        is_dry_run = query.get("dry_run", "false") == "true"
        with _refusals(), unhurried():
            configuration_at(base)
            draft = drafts.open_draft(request.user, query.get("title", ""))
            draft = drafts.save_documents(draft, draft.edition, imported.changes, request.user, seen=base, action="import")
            shown = answers.draft(draft)
            if is_dry_run:
                transaction.set_rollback(True)
                shown = msgspec.structs.replace(shown, draft=None)
        return answers.answer(shown, status=200 if is_dry_run else 201)


class DraftView(ApiView):
    scopes: ClassVar[dict[str, str]] = {"GET": ADMIN, "HEAD": ADMIN}

    @extend_schema(**descriptions.GET_DRAFT)
    def get(self, request: ApiRequest, number: str) -> HttpResponse:
        return answers.answer(answers.draft(_draft(number)))


class AskView(ApiView):
    scopes: ClassVar[dict[str, str]] = {"POST": ADMIN}

    @extend_schema(**descriptions.ASK)
    def post(self, request: ApiRequest, number: str) -> HttpResponse:
        draft, body = _draft(number), reading.read_body(request, EditionBody)
        with _refusals():
            review.ask(draft, body.edition, request.user)
        return answers.answer(answers.draft(draft))


class ResolveView(ApiView):
    scopes: ClassVar[dict[str, str]] = {"POST": ADMIN}

    @extend_schema(**descriptions.RESOLVE)
    def post(self, request: ApiRequest, number: str) -> HttpResponse:
        draft, body = _draft(number), reading.read_body(request, ResolveBody)
        with _refusals():
            drafts.resolve(draft, body.kind, body.key, body.path, body.take, request.user, edition=body.edition, seen=body.seen)
        return answers.answer(answers.draft(draft))


class PublishView(ApiView):
    scopes: ClassVar[dict[str, str]] = {"POST": ADMIN}

    @extend_schema(**descriptions.PUBLISH)
    def post(self, request: ApiRequest, number: str) -> HttpResponse:
        draft, body = _draft(number), reading.read_body(request, PublishBody)
        if not body.reason.strip():
            raise Problem("bad_request", _("Say why: the reason stands in the history."), "#/reason")
        choices: dict[str, Any] = {"in_flight": body.in_flight, "history_counts": body.history_counts}
        with _refusals():
            if body.at is not None:
                publish.schedule(draft, body.edition, body.at, request.user, body.reason, **choices)
                return answers.answer(answers.draft(draft), status=202)
            revision = publish.publish(draft, body.edition, request.user, body.reason, origin=Origin.API, **choices)
        return answers.answer(answers.published(revision))


@contextmanager
def _refusals() -> Iterator[None]:
    """Whatever publishing refuses inside is answered as a problem."""
    try:
        yield
    except Refusal as refusal:
        raise answers.problem_of(refusal) from refusal


def _draft(number: str) -> Draft:
    draft = Draft.objects.filter(pk=reading.read_number(number, "path/number")).first()
    if draft is None:
        raise Problem("unknown_draft", _("There is no draft %(number)s.") % {"number": number}, "path/number")
    return draft
