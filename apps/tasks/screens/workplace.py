"""Where an operator works: in a draft, or looking at what is live. The session remembers which draft; nobody is led into another's.

Editing without a draft opens one with the first change that is saved, so that looking around leaves nothing behind.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _

from apps.tasks.config.documents import Configuration
from apps.tasks.models import Draft, Revision
from apps.tasks.models.drafts import OPEN_STATES
from apps.tasks.moments import say_moment
from apps.tasks.people.roles import CHANGE_DRAFT
from apps.tasks.publishing import drafts
from apps.tasks.publishing.live import configuration_at

SESSION_KEY = "tasks_draft"
LOOKING = 0
"""In the session: the operator has left his draft to look at what is live."""


class Workplace:
    """What the page is about to show: `draft` None means the live configuration."""

    def __init__(self, request: HttpRequest, draft: Draft | None = None) -> None:
        self.request = request
        self.draft = draft if draft is not None else self._current()

    def _current(self) -> Draft | None:
        chosen = self.request.session.get(SESSION_KEY)
        if chosen == LOOKING:
            return None
        if chosen is not None:
            found = Draft.objects.filter(pk=chosen, state__in=OPEN_STATES).select_related("editor").first()
            if found is not None:
                return found
        return self._my_newest

    @cached_property
    def _my_newest(self) -> Draft | None:
        mine = Draft.objects.filter(editor=self.request.user, state__in=OPEN_STATES)
        return mine.select_related("editor").order_by("-changed_at", "-pk").first()

    @cached_property
    def revision(self) -> Revision | None:
        """The newest one."""
        return Revision.objects.order_by("-number").first()

    @property
    def live_number(self) -> int:
        return self.revision.number if self.revision else 0

    @cached_property
    def live(self) -> Configuration:
        return configuration_at(self.live_number)

    @cached_property
    def configuration(self) -> Configuration:
        return drafts.configuration_of(self.draft) if self.draft else self.live

    @cached_property
    def changed_keys(self) -> set[tuple[str, str]]:
        return set(self.draft.items.values_list("kind", "key")) if self.draft else set()

    @property
    def may_edit(self) -> bool:
        return self.request.user.has_perm(CHANGE_DRAFT)

    def draft_to_change(self, title: str = "") -> Draft:
        """The draft that a change goes into; opened now if there is none."""
        if self.draft is None:
            self.draft = drafts.open_draft(self.request.user, title)
            enter(self.request, self.draft)
        return self.draft

    def banner(self, shows_links: bool = True) -> dict[str, Any]:
        if self.draft is not None:
            return {
                "mode": "draft",
                "draft": self.draft,
                "changes": len(self.changed_keys),
                "sentence": self._say_draft(),
                "shows_links": shows_links,
            }
        return {"mode": "live", "sentence": say_live(self.revision), "open_draft": self._my_newest}

    def _say_draft(self) -> str:
        assert self.draft is not None
        facts = {"editor": editor_of(self.draft), "base": self.draft.base_revision, "live": self.live_number}
        if self.draft.editor_id == self.request.user.pk:
            text = _("You edit your draft, based on revision %(base)d. Live is %(live)d. Users do not see this.")
        elif not self.may_edit or self._current() != self.draft:
            text = _("You look at %(editor)s’s draft, based on revision %(base)d. Live is %(live)d. Users do not see this.")
        else:
            text = _("You edit %(editor)s’s draft, based on revision %(base)d. Live is %(live)d. Users do not see this.")
        return text % facts


def say_live(revision: Revision | None) -> str:
    if revision is None:
        return _("Nothing is published yet: users see no task.")
    facts = {"number": revision.number, "moment": say_moment(revision.published_at), "publisher": revision.published_by}
    return _("You see revision %(number)d, live since %(moment)s (%(publisher)s).") % facts


def editor_of(draft: Draft) -> str:
    return draft.editor.get_username() if draft.editor else draft.opened_by


def enter(request: HttpRequest, draft: Draft | None) -> None:
    request.session[SESSION_KEY] = LOOKING if draft is None else draft.pk


def open_draft_or_404(number: int) -> Draft:
    return get_object_or_404(Draft.objects.select_related("editor", "reviewer", "publisher"), pk=number)
