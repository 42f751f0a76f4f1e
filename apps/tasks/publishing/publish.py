"""Publishing: now, at a moment, back to an older revision, and the kill switch. Every path ends in `write_revision`, or changes nothing."""

from __future__ import annotations

import logging
from datetime import datetime
from typing import Any

import msgspec
from django.db import DatabaseError
from django.utils import timezone

from apps.tasks.config.documents import TASK
from apps.tasks.config.faults import refusals
from apps.tasks.models import Draft, Revision
from apps.tasks.models.drafts import DraftState
from apps.tasks.models.records import Origin
from apps.tasks.publishing import audit
from apps.tasks.publishing.audit import Actor
from apps.tasks.publishing.drafts import faults_of, hold, reconciled, with_whom, write_items
from apps.tasks.publishing.errors import (
    Busy,
    Conflicting,
    Invalid,
    NoReason,
    NotApproved,
    NothingToPublish,
    NotScheduled,
    TooLarge,
    TooLate,
    UnknownDocument,
)
from apps.tasks.publishing.live import configuration_at, live_number
from apps.tasks.publishing.reconciling import what_rolls_back
from apps.tasks.publishing.revisions import Live, alone, write_revision
from apps.tasks.publishing.unhurried import unhurried

log = logging.getLogger(__name__)


def publish(
    draft: Draft,
    edition: int,
    user: Actor,
    reason: str,
    in_flight: str = "keep",
    history_counts: bool = False,
    origin: Origin | str = Origin.PAGE,
) -> Revision:
    """Make the approved draft live. Raises Stale, NotOpen, NotApproved, Conflicting, Invalid, NothingToPublish, TooLarge."""
    with alone() as live:
        hold(draft, edition)
        if draft.state not in (DraftState.APPROVED, DraftState.SCHEDULED):
            raise NotApproved(f"draft {draft.pk} is {draft.state}")
        draft.reason, draft.in_flight, draft.history_counts, draft.publish_at = reason[:1000], in_flight, history_counts, None
        return _publish(live, draft, user, origin)


def _publish(live: Live, draft: Draft, user: Actor, origin: Origin | str) -> Revision:
    """With the lock on publishing and on the draft."""
    merged = reconciled(draft, live.configuration)
    if merged.conflicts:
        raise Conflicting(with_whom(merged.conflicts, draft.base_revision))
    configuration = merged.on(live.configuration)
    if faults := refusals(faults_of(configuration, live.configuration)):
        raise Invalid(faults)
    is_roll_back = draft.rolls_back_to is not None
    revision = write_revision(
        live,
        configuration,
        user,
        draft.reason,
        Origin.ROLL_BACK if is_roll_back and origin == Origin.PAGE else origin,
        draft=draft,
        in_flight=draft.in_flight,
        history_counts=draft.history_counts,
        action="roll_back" if is_roll_back else "publish",
    )
    draft.state, draft.publisher, draft.failure = DraftState.PUBLISHED, audit.account_of(user), ""
    draft.save()
    return revision


def schedule(
    draft: Draft, edition: int, at: datetime, user: Actor, reason: str, in_flight: str = "keep", history_counts: bool = False
) -> Draft:
    """Let the approved draft be published at that moment. Raises TooLate, and what `publish` raises, as far as it can be known now."""
    with alone() as live:
        hold(draft, edition)
        if draft.state not in (DraftState.APPROVED, DraftState.SCHEDULED):
            raise NotApproved(f"draft {draft.pk} is {draft.state}")
        if at <= timezone.now():
            raise TooLate(f"{at.isoformat()} has passed")
        merged = reconciled(draft, live.configuration)
        if merged.conflicts:
            raise Conflicting(with_whom(merged.conflicts, draft.base_revision))
        if faults := refusals(faults_of(merged.on(live.configuration), live.configuration)):
            raise Invalid(faults)
        draft.state, draft.publish_at, draft.publisher, draft.failure = DraftState.SCHEDULED, at, audit.account_of(user), ""
        draft.reason, draft.in_flight, draft.history_counts = reason[:1000], in_flight, history_counts
        draft.save()
        audit.record(user, "schedule", draft=draft.pk, note=reason, after={"publish_at": at.isoformat()})
    return draft


def cancel_schedule(draft: Draft, edition: int, user: Actor) -> Draft:
    """It stays approved and waits for nobody's moment. Raises NotScheduled, Stale, NotOpen."""
    with unhurried():
        hold(draft, edition)
        if draft.state != DraftState.SCHEDULED:
            raise NotScheduled(f"draft {draft.pk} is {draft.state}")
        was = draft.publish_at
        draft.state, draft.publish_at = DraftState.APPROVED, None
        draft.save()
        audit.record(user, "cancel_schedule", draft=draft.pk, before={"publish_at": was.isoformat() if was else None})
    return draft


def fire_due(now: datetime | None = None) -> list[int]:
    """Publish what is due, in the order of the moments; the numbers of the new revisions.

    Any number may call it at once, and any may be killed: a draft is claimed in the transaction that publishes it. What cannot be
    published goes back to its editor, with `failure` saying why; a database that does not answer is asked again at the next call.
    """
    due = Draft.objects.filter(state=DraftState.SCHEDULED, publish_at__lte=now or timezone.now()).order_by("publish_at", "pk")
    published = []
    for draft in list(due):
        try:
            published += [revision.number for revision in _fire(draft)]
        except (DatabaseError, Busy) as error:
            log.warning("a scheduled publication has to wait", extra={"draft": draft.pk, "error": error})
    return published


def _fire(draft: Draft) -> list[Revision]:
    try:
        with alone() as live:
            if not _claim(draft, DraftState.PUBLISHED):
                return []  # somebody else published it, or changed it, between our look and the lock
            draft.refresh_from_db()
            return [_publish(live, draft, draft.publisher, Origin.SCHEDULE)]
    except Conflicting as error:
        _put_back(draft, "conflict", error)
    except (Invalid, msgspec.ValidationError) as error:
        _put_back(draft, "invalid", error)
    except TooLarge as error:
        _put_back(draft, "large", error)
    except NothingToPublish as error:
        _put_back(draft, "nothing", error)
    except (DatabaseError, Busy):
        raise
    except Exception as error:
        # It would fail in the same way every second, and whoever waits for it would not learn why.
        log.exception("a scheduled publication failed", extra={"draft": draft.pk})
        _put_back(draft, "fault", error)
    return []


def _put_back(draft: Draft, failure: str, error: Exception) -> None:
    with unhurried():
        if _claim(draft, DraftState.EDITING, failure=failure, publish_at=None, reviewer=None, reviewed_at=None):
            audit.record(None, "schedule_failed", draft=draft.pk, note=str(error))
            log.warning("a scheduled draft could not be published", extra={"draft": draft.pk, "failure": failure, "error": error})


def _claim(draft: Draft, state: DraftState, **fields: Any) -> bool:
    waiting = Draft.objects.filter(pk=draft.pk, state=DraftState.SCHEDULED, edition=draft.edition, publish_at=draft.publish_at)
    return bool(waiting.update(state=state, changed_at=timezone.now(), **fields))


def roll_back(to: int, user: Actor, reason: str, *, seen: int | None = None) -> Draft:
    """A draft that brings back everything as it was in revision `to`; with `publish` it becomes a new revision.

    What stands there was approved once: with the right to publish, the draft is approved as it is. `seen`: the revision that was live
    when its caller looked at what goes away; what came after it is a conflict. Raises UnknownRevision, NothingToPublish, NoReason.
    """
    if not reason.strip():
        raise NoReason("a roll back needs a reason")
    with unhurried():
        number = live_number() if seen is None else seen
        live, target = configuration_at(number), configuration_at(to)
        items = what_rolls_back(target, live)
        if not items:
            raise NothingToPublish(f"revision {to} makes no difference to what is live")
        account = audit.account_of(user)
        may_publish = account is not None and account.has_perm("tasks.publish_draft")
        draft = Draft.objects.create(
            editor=account,
            opened_by=audit.name_of(user),
            title=f"→ {to}",
            base_revision=number,
            state=DraftState.APPROVED if may_publish else DraftState.EDITING,
            reason=reason[:1000],
            rolls_back_to=to,
        )
        write_items(draft, items, user)
        audit.record(user, "open_roll_back", draft=draft.pk, note=reason, after={"rolls_back_to": to})
    return draft


def what_goes_away(to: int) -> list[Revision]:
    """The revisions after `to`, newest first: what they changed goes away with a roll back (`Revision.changes`)."""
    return list(Revision.objects.filter(number__gt=to).order_by("-number"))


def switch(code: str, off: bool, user: Actor, reason: str) -> Revision:
    """Switch a live task off, or on again, at once and without a review. Raises UnknownDocument, NothingToPublish, NoReason, Invalid.

    Off is never refused for what else is wrong; on again is validated as everything is.
    """
    if not reason.strip():
        raise NoReason("switching a task needs a reason")
    with alone() as live:
        task = live.configuration.tasks.get(code)
        if task is None:
            raise UnknownDocument(f"no task {code} was published")
        if task.switched_off == off:
            raise NothingToPublish(f"the task {code} is switched {'off' if off else 'on'} already")
        configuration = live.configuration.changed({(TASK, code): msgspec.structs.replace(task, switched_off=off)})
        if not off and (faults := refusals(faults_of(configuration, live.configuration))):
            raise Invalid(faults)
        action = "switch_off" if off else "switch_on"
        return write_revision(live, configuration, user, reason, Origin.SWITCH, action=action)
