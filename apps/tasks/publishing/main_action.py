"""The one thing to do next with a draft: the main button's label, what it does, and why it cannot be pressed now.

Pure but for gettext: everything that it depends on is in Facts.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from apps.tasks.models.drafts import DraftState

NOTHING, CHECK, ASK, APPROVE, PUBLISH = "", "check", "ask", "approve", "publish"


@dataclass(frozen=True)
class Facts:
    """`is_checked`: this edition has no fault. `may_review`: this draft, by this person. `asked`, `scheduled_for`: in words."""

    state: str
    changes: int
    conflicts: int = 0
    is_checked: bool = False
    may_edit: bool = False
    may_review: bool = False
    may_publish: bool = False
    reviewers: tuple[str, ...] = ()
    publishers: tuple[str, ...] = ()
    asked: str = ""
    scheduled_for: str = ""
    published_as: int | None = None
    next_number: int = 1


@dataclass(frozen=True)
class MainAction:
    """`does` is NOTHING when the label says what is waited for, or that nothing is left to do."""

    label: str
    does: str = NOTHING
    blocked: str = ""

    @property
    def is_ready(self) -> bool:
        return bool(self.does) and not self.blocked


def main_action(facts: Facts) -> MainAction:
    if facts.state == DraftState.PUBLISHED:
        return MainAction(_("Published as %(number)d") % {"number": facts.published_as or 0})
    if facts.state == DraftState.DISCARDED:
        return MainAction(_("Discarded"))
    action = _in_state(facts)
    if not facts.changes:
        return MainAction(action.label, action.does, _("It changes nothing yet."))
    if facts.conflicts:
        return MainAction(action.label, action.does, _say_conflicts(facts.conflicts))
    return action


def _in_state(facts: Facts) -> MainAction:
    match facts.state:
        case DraftState.IN_REVIEW if facts.may_review:
            label = ngettext("Approve %(count)d change", "Approve %(count)d changes", facts.changes)
            return MainAction(label % {"count": facts.changes}, APPROVE)
        case DraftState.IN_REVIEW:
            who = {"names": _listed(facts.reviewers), "asked": facts.asked}
            return MainAction(_("Waiting for a reviewer: %(names)s (asked %(asked)s ago)") % who)
        case DraftState.SCHEDULED:
            return MainAction(_("Will be published at %(moment)s") % {"moment": facts.scheduled_for})
        case DraftState.APPROVED:
            return _to_publish(facts)
    blocked = "" if facts.may_edit else _("You may look but not edit. Editors may.")
    return MainAction(_("Ask for review"), ASK, blocked) if facts.is_checked else MainAction(_("Check"), CHECK, blocked)


def _to_publish(facts: Facts) -> MainAction:
    label = ngettext(
        "Publish %(count)d change as revision %(number)d…", "Publish %(count)d changes as revision %(number)d…", facts.changes
    ) % {"count": facts.changes, "number": facts.next_number}
    if facts.may_publish:
        return MainAction(label, PUBLISH)
    return MainAction(label, PUBLISH, _("You may look but not publish. Publishers: %(names)s.") % {"names": _listed(facts.publishers)})


def _say_conflicts(count: int) -> str:
    return ngettext(
        "A newer revision changed the same place: decide below.",
        "Newer revisions changed the same %(count)d places: decide below.",
        count,
    ) % {"count": count}


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(names) if names else _("nobody has this right yet")
