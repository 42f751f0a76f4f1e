"""What a draft or a revision changes, as a page shows it: document by document, in sentences, with both sides to compare."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext as _

from apps.tasks.config.change_words import Sides, say_difference, sides
from apps.tasks.config.differences import differences_of
from apps.tasks.config.documents import ATTRIBUTE, EVENT, LIST, TASK, Configuration, from_plain


@dataclass(frozen=True)
class Change:
    """One document. `sort`: new, changed or removed."""

    kind: str
    key: str
    sort: str
    sentences: list[str]
    sides: list[Sides]
    address: str

    @property
    def word(self) -> str:
        return {"new": _("new"), "changed": _("changed"), "removed": _("removed")}[self.sort]

    @property
    def css(self) -> str:
        return {"new": "added", "changed": "changed", "removed": "removed"}[self.sort]


def changes_between(live: Configuration, wanted: Configuration, keys: Iterable[tuple[str, str]]) -> list[Change]:
    """For these documents; those that are the same on both sides are left out."""
    found = []
    for kind, key in sorted(keys):
        old, new = live.of_kind(kind).get(key), wanted.of_kind(kind).get(key)
        if old != new:
            found.append(_change(kind, key, old, new))
    return found


def changes_in(stored: Iterable[dict[str, Any]]) -> list[Change]:
    """Of a revision: `Revision.changes`."""
    found = []
    for each in stored:
        kind, key = each["kind"], each["key"]
        old, new = (None if each[side] is None else from_plain(kind, each[side]) for side in ("base", "document"))
        found.append(_change(kind, key, old, new))
    return found


def _change(kind: str, key: str, old: Any, new: Any) -> Change:
    found = differences_of(kind, old, new)
    return Change(
        kind=kind,
        key=key,
        sort="new" if old is None else "removed" if new is None else "changed",
        sentences=[say_difference(each) for each in found],
        sides=[sides(each) for each in found],
        address=address_of(kind, key),
    )


def address_of(kind: str, key: str) -> str:
    """The page on which a document is edited; empty for one that has none here."""
    names = {TASK: "tasks-task", ATTRIBUTE: "tasks-attribute", EVENT: "tasks-event", LIST: "tasks-list"}
    return reverse(names[kind], args=[key]) if kind in names else ""
