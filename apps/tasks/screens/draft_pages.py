"""Drafts: which are open, and one draft with its changes in sentences, its conflicts and faults, and the one thing to do next."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.contrib.auth import get_user_model
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import path
from django.utils.timesince import timesince
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from apps.tasks.config.documents import TASK
from apps.tasks.config.faults import Fault, refusals
from apps.tasks.config.labels import say_place
from apps.tasks.config.words import say_fault
from apps.tasks.models import Draft
from apps.tasks.models.drafts import OPEN_STATES, DraftState
from apps.tasks.moments import say_moment
from apps.tasks.people.access import require
from apps.tasks.people.roles import ADD_DRAFT, DELETE_DRAFT, PUBLISH_DRAFT, REVIEW_DRAFT, VIEW_DRAFT
from apps.tasks.publishing import drafts, review
from apps.tasks.publishing.errors import Invalid, Refusal
from apps.tasks.publishing.live import configuration_at
from apps.tasks.publishing.main_action import Facts, main_action
from apps.tasks.publishing.words import say_failure, say_refusal
from apps.tasks.screens.change_sentences import address_of, changes_between
from apps.tasks.screens.conflict_sentences import say_conflicts
from apps.tasks.screens.frame import EDIT, LOOK, screen, show
from apps.tasks.screens.workplace import Workplace, editor_of, enter, open_draft_or_404

DRAFTS_A_PAGE = 50
MOST_NAMES = 5
FEW_CHANGES = 5
"""So many are shown with both sides at once."""
MOST_CHANGES = 200
"""More documents than this are counted, not shown."""


@screen(VIEW_DRAFT)
@require_safe
def all_drafts(request: HttpRequest) -> HttpResponse:
    """Open ones; with ?closed=1 those that were published or discarded."""
    closed = bool(request.GET.get("closed"))
    found = Draft.objects.select_related("editor", "reviewer", "revision")
    found = found.exclude(state__in=OPEN_STATES) if closed else found.filter(state__in=OPEN_STATES)
    page = Paginator(found.order_by("-changed_at", "-pk"), DRAFTS_A_PAGE).get_page(request.GET.get("page"))
    rows = [{"draft": draft, "editor": editor_of(draft), "count": draft.items.count()} for draft in page]
    work = Workplace(request)
    return show(request, "drafts.html", _("Drafts"), banner=work.banner(), rows=rows, page=page, closed=closed, may_edit=work.may_edit)


@screen(VIEW_DRAFT)
@require_safe
def one_draft(request: HttpRequest, number: int) -> HttpResponse:
    draft = open_draft_or_404(number)
    work = Workplace(request, draft)
    conflicts = drafts.conflicts_of(draft) if draft.is_open else []
    faults = drafts.faults_of(work.configuration, work.live) if draft.is_open else []
    changes = (
        changes_between(work.live, work.configuration, work.changed_keys)
        if draft.is_open
        else changes_between(configuration_at(draft.base_revision), _as_it_ended(draft), work.changed_keys)
    )
    facts = _facts(request, work, draft, len(changes), len(conflicts))
    return show(
        request,
        "draft.html",
        str(draft),
        banner=work.banner(shows_links=False) if draft.is_open else None,
        draft=draft,
        editor=editor_of(draft),
        button=main_action(facts),
        facts=facts,
        changes=changes[:MOST_CHANGES],
        more=max(0, len(changes) - MOST_CHANGES),
        unfold=len(changes) <= FEW_CHANGES,
        conflicts=say_conflicts(conflicts, draft, work.live),
        faults=[_fault_row(fault) for fault in refusals(faults)],
        warnings=[_fault_row(fault) for fault in faults if fault.level != "fault" and (fault.kind, fault.key) in work.changed_keys],
        live_number=work.live_number,
        is_mine=draft.editor_id == request.user.pk,
        is_my_current=Workplace(request).draft == draft,
        may_edit=work.may_edit and draft.is_open,
        may_send_back=draft.state == DraftState.IN_REVIEW and (request.user.has_perm(REVIEW_DRAFT) or draft.editor_id == request.user.pk),
        publish_at=say_moment(draft.publish_at) if draft.publish_at else "",
        failure=say_failure(draft.failure),
    )


def _as_it_ended(draft: Draft) -> Any:
    """What a draft that is no longer open made of the revision that it was based on."""
    base = configuration_at(draft.base_revision)
    return drafts.reconciled(draft, base).on(base)


def _facts(request: HttpRequest, work: Workplace, draft: Draft, changes: int, conflicts: int) -> Facts:
    may_review = request.user.has_perm(REVIEW_DRAFT) and not review.may_not_approve(draft, request.user)
    revision = getattr(draft, "revision", None) if draft.state == DraftState.PUBLISHED else None
    is_waiting = draft.state == DraftState.IN_REVIEW
    return Facts(
        state=draft.state,
        changes=changes,
        conflicts=conflicts,
        is_checked=draft.checked_edition == draft.edition,
        may_edit=work.may_edit,
        may_review=may_review,
        may_publish=request.user.has_perm(PUBLISH_DRAFT),
        reviewers=_names_with(REVIEW_DRAFT, draft) if is_waiting and not may_review else (),
        publishers=_names_with(PUBLISH_DRAFT) if draft.state == DraftState.APPROVED and not request.user.has_perm(PUBLISH_DRAFT) else (),
        asked=timesince(draft.asked_at) if draft.asked_at else "",
        scheduled_for=say_moment(draft.publish_at) if draft.publish_at else "",
        published_as=revision.number if revision else None,
        next_number=work.live_number + 1,
    )


def _names_with(permission: str, draft: Draft | None = None) -> tuple[str, ...]:
    """Who has this right; for a draft without those who have changed it."""
    accounts = get_user_model().objects.with_perm(permission, backend="django.contrib.auth.backends.ModelBackend").order_by("username")
    if draft is not None:
        changed_by = draft.items.exclude(changed_by=None).values("changed_by")
        accounts = accounts.exclude(pk=draft.editor_id).exclude(pk__in=changed_by)
    names = [account.get_username() for account in accounts[: MOST_NAMES + 1]]
    return tuple([*names[:MOST_NAMES], "…"] if len(names) > MOST_NAMES else names)


def _fault_row(fault: Fault) -> dict[str, str]:
    address = address_of(fault.kind, fault.key) if fault.key else ""
    return {"place": say_place(fault), "text": say_fault(fault), "address": address and address + _anchor(fault)}


PARTS = {"texts": "part-texts", "feeds": "part-feeds", "conditions": "part-conditions"}


def _anchor(fault: Fault) -> str:
    """Where on the document's page the faulty field stands."""
    place = fault.place[2:]
    if not place or fault.kind != TASK:
        return ""
    if place[0] in ("tiers", "prerequisites"):
        return "#" + "-".join(place[:2])
    return "#" + PARTS.get(place[0], "id_" + "_".join(place))


Deed = Callable[[HttpRequest, Draft, int], str]


def _deed(permission: str, url: str, name: str) -> Callable[[Deed], Any]:
    """A POST that does one thing to a draft of the edition that the page showed, and says what it did or why it did not."""

    def made(deed: Deed) -> Any:
        @screen(permission)
        @require_POST
        def view(request: HttpRequest, number: int) -> HttpResponse:
            draft = open_draft_or_404(number)
            edition = request.POST.get("edition", "")
            try:
                said = deed(request, draft, int(edition) if edition.isdecimal() else 0)
            except Refusal as refusal:
                messages.error(request, say_refusal(refusal))
            else:
                messages.success(request, said)
            return redirect("tasks-draft", draft.pk)

        return path(f"draft/<int:number>/{url}/", view, name=name)

    return made


@_deed(EDIT, "check", "tasks-draft-check")
def check(request: HttpRequest, draft: Draft, edition: int) -> str:
    faults = refusals(drafts.check(draft))
    if not faults:
        return _("No fault was found. Ask for a review next.")
    raise Invalid(faults)


@_deed(EDIT, "ask", "tasks-draft-ask")
def ask(request: HttpRequest, draft: Draft, edition: int) -> str:
    review.ask(draft, edition, request.user)
    return _("Somebody else can review it now.")


@_deed(REVIEW_DRAFT, "approve", "tasks-draft-approve")
def approve(request: HttpRequest, draft: Draft, edition: int) -> str:
    review.approve(draft, edition, request.user, request.POST.get("note", ""))
    return _("Approved. It can be published now.")


@_deed(VIEW_DRAFT, "send-back", "tasks-draft-send-back")
def send_back(request: HttpRequest, draft: Draft, edition: int) -> str:
    """A reviewer, or the editor, who takes his question back."""
    if draft.editor_id != request.user.pk:
        require(request, REVIEW_DRAFT)
    review.send_back(draft, edition, request.user, request.POST.get("note", ""))
    return _("It is with its editor again.")


@_deed(EDIT, "resolve", "tasks-draft-resolve")
def resolve(request: HttpRequest, draft: Draft, edition: int) -> str:
    seen = request.POST.get("seen", "")
    take = request.POST.get("take", "")
    place = tuple(request.POST.getlist("path"))
    which = request.POST.get("kind", ""), request.POST.get("key", "")
    drafts.resolve(draft, *which, place, take, request.user, edition=edition, seen=int(seen) if seen.isdecimal() else None)
    return _("Decided: yours stays.") if take == "mine" else _("Decided: theirs was taken.")


@_deed(DELETE_DRAFT, "discard", "tasks-draft-discard")
def discard(request: HttpRequest, draft: Draft, edition: int) -> str:
    drafts.discard(draft, edition, request.user)
    return _("The draft is discarded. Nothing that users see has changed.")


@_deed(EDIT, "enter", "tasks-draft-enter")
def enter_draft(request: HttpRequest, draft: Draft, edition: int) -> str:
    enter(request, draft)
    return _("You work in this draft now.")


@screen(LOOK)
@require_POST
def leave(request: HttpRequest) -> HttpResponse:
    enter(request, None)
    return redirect("admin:tasks_task_changelist")


@screen(ADD_DRAFT)
@require_POST
def open_another(request: HttpRequest) -> HttpResponse:
    draft = drafts.open_draft(request.user, request.POST.get("title", "").strip())
    enter(request, draft)
    messages.success(request, _("A new draft, beside your others. What you change goes into it."))
    return redirect("tasks-draft", draft.pk)


@screen(EDIT)
@require_POST
def revert_item(request: HttpRequest, number: int, kind: str, key: str) -> HttpResponse:
    draft = open_draft_or_404(number)
    edition = request.POST.get("edition", "")
    try:
        drafts.revert_document(draft, int(edition) if edition.isdecimal() else 0, kind, key, request.user)
    except Refusal as refusal:
        messages.error(request, say_refusal(refusal))
    else:
        messages.success(request, _("The change of “%(key)s” is taken back.") % {"key": key})
    return redirect("tasks-draft", draft.pk)


urlpatterns = [
    path("drafts/", all_drafts, name="tasks-drafts"),
    path("drafts/open/", open_another, name="tasks-draft-open"),
    path("drafts/leave/", leave, name="tasks-draft-leave"),
    path("draft/<int:number>/", one_draft, name="tasks-draft"),
    path("draft/<int:number>/revert/<str:kind>/<str:key>/", revert_item, name="tasks-item-revert"),
    check,
    ask,
    approve,
    send_back,
    resolve,
    discard,
    enter_draft,
]
