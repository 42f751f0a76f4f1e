"""The one thing to do next with a draft: the label of its main button, where it leads, and why it is blocked.

Pure but for gettext.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from apps.tasks.models.drafts import DraftState

NOTHING, CHECK, ASK, APPROVE, PUBLISH = "", "check", "ask", "approve", "publish"


@dataclass(frozen=True)
class Facts:
    """What the button depends on. `reviewers`: who may approve this draft; `asked`: how long ago, in words."""

    state: str
    changes: int
    conflicts: int = 0
    faults: int = 0
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
class MainButton:
    """`does` NOTHING: the label is what is waited for. `blocked`: why it cannot be pressed now."""

    label: str
    does: str = NOTHING
    blocked: str = ""

    @property
    def is_ready(self) -> bool:
        return bool(self.does) and not self.blocked


def main_button(facts: Facts) -> MainButton:
    if facts.state == DraftState.PUBLISHED:
        return MainButton(_("Published as %(number)d") % {"number": facts.published_as or 0})
    if facts.state == DraftState.DISCARDED:
        return MainButton(_("Discarded"))
    button = _in_state(facts)
    if facts.changes == 0:
        return MainButton(button.label, button.does, _("It changes nothing yet."))
    if facts.conflicts:
        blocked = ngettext(
            "A newer revision changed the same place: decide below.", "Newer revisions changed the same %(count)d places: decide below.", facts.conflicts
        )
        return MainButton(button.label, button.does, blocked % {"count": facts.conflicts})
    return button


def _in_state(facts: Facts) -> MainButton:
    if facts.state == DraftState.IN_REVIEW:
        return _in_review(facts)
    if facts.state == DraftState.SCHEDULED:
        return MainButton(_("Will be published at %(moment)s") % {"moment": facts.scheduled_for})
    if facts.state == DraftState.APPROVED:
        label = ngettext("Publish %(count)d change as revision %(number)d…", "Publish %(count)d changes as revision %(number)d…", facts.changes)
        label %= {"count": facts.changes, "number": facts.next_number}
        if facts.may_publish:
            return MainButton(label, PUBLISH)
        return MainButton(label, PUBLISH, _("You may look but not publish. Publishers: %(names)s.") % {"names": _listed(facts.publishers)})
    if not facts.is_checked:
        return MainButton(_("Check"), CHECK, "" if facts.may_edit else _("You may look but not edit. Editors may."))
    return MainButton(_("Ask for review"), ASK, "" if facts.may_edit else _("You may look but not edit. Editors may."))


def _in_review(facts: Facts) -> MainButton:
    if facts.may_review:
        label = ngettext("Approve %(count)d change", "Approve %(count)d changes", facts.changes)
        return MainButton(label % {"count": facts.changes}, APPROVE)
    return MainButton(
        _("Waiting for a reviewer: %(names)s (asked %(asked)s ago)") % {"names": _listed(facts.reviewers), "asked": facts.asked}
    )


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(names) if names else _("nobody has this right yet")
