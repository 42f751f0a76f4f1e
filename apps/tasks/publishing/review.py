"""Somebody else looks before users see it: asking, approving, sending back. An approval holds for one edition."""

from __future__ import annotations

from django.utils import timezone

from apps.tasks.config.faults import refusals
from apps.tasks.models import Draft
from apps.tasks.models.drafts import DraftState
from apps.tasks.publishing import audit
from apps.tasks.publishing.audit import Actor
from apps.tasks.publishing.drafts import check, conflicts_of, hold
from apps.tasks.publishing.errors import Conflicting, Invalid, NotAsked, NothingToPublish, OwnDraft
from apps.tasks.publishing.unhurried import unhurried


def ask(draft: Draft, edition: int, user: Actor) -> Draft:
    """Ask for a review. Raises NothingToPublish, Conflicting, Invalid, Stale, NotOpen."""
    with unhurried():
        hold(draft, edition)
        if not draft.items.exists():
            raise NothingToPublish(f"draft {draft.pk} changes nothing")
        faults = refusals(check(draft))
        if draft.checked_edition != draft.edition and (conflicts := conflicts_of(draft)):
            raise Conflicting(conflicts)
        if faults:
            raise Invalid(faults)
        draft.state, draft.asked_at, draft.failure, draft.review_note = DraftState.IN_REVIEW, timezone.now(), "", ""
        draft.reviewer, draft.reviewed_at = None, None
        draft.save(update_fields=["state", "asked_at", "failure", "review_note", "reviewer", "reviewed_at", "changed_at"])
        audit.record(user, "ask", draft=draft.pk)
    return draft


def approve(draft: Draft, edition: int, user: Actor, note: str = "") -> Draft:
    """From now on this edition may be published. Raises OwnDraft, NotAsked, Stale, NotOpen."""
    with unhurried():
        _take_for_review(draft, edition)
        if may_not_approve(draft, user):
            raise OwnDraft("who has changed a draft cannot approve it")
        _answer(draft, DraftState.APPROVED, user, note)
        audit.record(user, "approve", draft=draft.pk, note=note)
    return draft


def send_back(draft: Draft, edition: int, user: Actor, note: str = "") -> Draft:
    """Back to its editor, with a note. Its own editor may do that too: he takes his question back."""
    with unhurried():
        _take_for_review(draft, edition)
        _answer(draft, DraftState.EDITING, user, note)
        audit.record(user, "send_back", draft=draft.pk, note=note)
    return draft


def may_not_approve(draft: Draft, user: Actor) -> bool:
    """Who opened it or changed a document of it; and no program: a person answers for it."""
    account = audit.account_of(user)
    return account is None or account.pk == draft.editor_id or draft.items.filter(changed_by=account).exists()


def _take_for_review(draft: Draft, edition: int) -> None:
    hold(draft, edition)
    if draft.state != DraftState.IN_REVIEW:
        raise NotAsked(f"draft {draft.pk} is {draft.state}")


def _answer(draft: Draft, state: DraftState, user: Actor, note: str) -> None:
    draft.state, draft.reviewer, draft.reviewed_at, draft.review_note = state, audit.account_of(user), timezone.now(), note[:1000]
    draft.save(update_fields=["state", "reviewer", "reviewed_at", "review_note", "changed_at"])
