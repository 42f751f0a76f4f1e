"""From a difference to its words: `daily-login`: points 10 → 20; starts 1 Dec 2026 00:00 Shanghai.

Old and new values also stand apart, for a table with both side by side.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import tzinfo
from itertools import groupby
from typing import NamedTuple

from django.utils.translation import get_language, gettext
from django.utils.translation import gettext_noop as _

from apps.tasks.config import written
from apps.tasks.config.differences import (
    ADDED,
    ARCHIVED,
    CHANGED,
    REMOVED,
    RESTORED,
    ROW_ADDED,
    ROW_REMOVED,
    ROWS_REORDERED,
    Difference,
    contents_of,
)
from apps.tasks.config.documents import ATTRIBUTE, EVENT, LIST, TASK, Attribute, Document, Task, UserList
from apps.tasks.config.labels import choice, field_label
from apps.tasks.config.meaning import say_task
from apps.tasks.config.value_words import NOTHING, say_value

_WHOLE = {
    (ADDED, TASK): _("new task “%(name)s”: %(meaning)s"),
    (REMOVED, TASK): _("task “%(name)s” goes away"),
    (ADDED, ATTRIBUTE): _("new attribute of type %(type)s"),
    (REMOVED, ATTRIBUTE): _("attribute goes away"),
    (ADDED, EVENT): _("new event type"),
    (REMOVED, EVENT): _("event type goes away"),
    (ADDED, LIST): _("new list of %(count)s users"),
    (REMOVED, LIST): _("list of %(count)s users goes away"),
}

# Field, and what is there before and after: a template of its own where the general one would read badly.
_SET, _CLEARED, _BOTH = "set", "cleared", "both"
_FIELDS = {
    ("starts_at", _BOTH): _("starts %(new)s instead of %(old)s"),
    ("ends_at", _SET): _("ends %(new)s"),
    ("ends_at", _CLEARED): _("has no end any more (was %(old)s)"),
    ("ends_at", _BOTH): _("ends %(new)s instead of %(old)s"),
    ("switched_off", "yes"): _("switched off"),
    ("switched_off", "no"): _("switched on again"),
    ("revert_takes_back", "yes"): _("a revert now takes points back"),
    ("revert_takes_back", "no"): _("a revert no longer takes points back"),
    ("conditions", _SET): _("only for users with %(new)s"),
    ("conditions", _CLEARED): _("for everybody, no longer only for users with %(old)s"),
    ("period/kind", _BOTH): _("%(new)s instead of %(old)s"),
    ("claim", _BOTH): _("the reward comes %(new)s (before: %(old)s)"),
    ("caps/per_user", _SET): _("at most %(new)s times per user and period"),
    ("caps/total", _SET): _("at most %(new)s times in all"),
    ("caps/per_period", _SET): _("at most %(new)s times per period"),
    ("caps/points_budget", _SET): _("at most %(new)s points in all"),
    ("release/percentage_bp", _BOTH): _("for %(new)s of users instead of %(old)s"),
    ("sha256", _BOTH): _("other users on the list"),
}
_EMPTY = (None, "", ())
_ROWS = {
    (ROW_ADDED, "conditions"): _("also for users with %(new)s"),
    (ROW_REMOVED, "conditions"): _("no longer for users with %(old)s"),
    (ROW_ADDED, "conditions/*"): _("condition %(new)s added"),
    (ROW_REMOVED, "conditions/*"): _("condition %(old)s removed"),
    (ROW_ADDED, "feeds"): _("counts %(new)s"),
    (ROW_REMOVED, "feeds"): _("no longer counts %(old)s"),
    (ROW_ADDED, "prerequisites"): _("needs %(new)s first"),
    (ROW_REMOVED, "prerequisites"): _("no longer needs %(old)s first"),
    (ROW_ADDED, "tiers"): _("new tier: %(new)s"),
    (ROW_REMOVED, "tiers"): _("tier removed: %(old)s"),
    (ROW_ADDED, "tags"): _("tag “%(new)s” added"),
    (ROW_REMOVED, "tags"): _("tag “%(old)s” removed"),
    (ROW_ADDED, "release/allow"): _("always for users on `%(new)s`"),
    (ROW_REMOVED, "release/allow"): _("no longer always for users on `%(old)s`"),
    (ROW_ADDED, "release/deny"): _("never for users on `%(new)s`"),
    (ROW_REMOVED, "release/deny"): _("no longer withheld from users on `%(old)s`"),
}


class Sides(NamedTuple):
    """A row of the table: the field's name, the old and the new value in words (— where there is none)."""

    field: str
    old: str
    new: str


def sides(difference: Difference, zone: tzinfo | None = None) -> Sides:
    kind, path = difference.kind, difference.path
    if not path:
        return Sides(
            gettext("the whole document"),
            NOTHING if difference.old is None else gettext("exists"),
            NOTHING if difference.new is None else gettext("exists"),
        )
    return Sides(field_label(kind, path), say_value(kind, path, difference.old, zone), say_value(kind, path, difference.new, zone))


def all_sides(difference: Difference, zone: tzinfo | None = None) -> list[Sides]:
    """The rows of the table: for a document that comes or goes, one for each of its fields that says something."""
    kind, document = difference.kind, difference.old or difference.new
    if difference.path or document is None:
        return [sides(difference, zone)]
    rows = [sides(piece, zone) for piece in contents_of(kind, document)]
    return [row._replace(old=NOTHING) if difference.old is None else Sides(row.field, row.new, NOTHING) for row in rows]


def say_difference(difference: Difference, zone: tzinfo | None = None) -> str:
    """Without the document's name, which stands once before all of its changes: points 10 → 20."""
    what, kind = difference.what, difference.kind
    if what in (ADDED, REMOVED):
        return gettext(_WHOLE[what, kind]) % _whole_places(difference.new or difference.old, zone)
    if what == ARCHIVED:
        return gettext("archived")
    if what == RESTORED:
        return gettext("no longer archived")
    row = sides(difference, zone)
    places = {"field": row.field, "old": row.old, "new": row.new}
    if what == ROWS_REORDERED:
        return gettext("%(field)s in another order") % places
    if what in (ROW_ADDED, ROW_REMOVED):
        return gettext(_ROWS.get((what, _row_field(difference)), _("%(field)s %(old)s → %(new)s"))) % places
    assert what == CHANGED
    template = _FIELDS.get(("/".join(difference.path), _case(difference)))
    return gettext(template or _general(difference)) % places


def _whole_places(document: Document, zone: tzinfo | None) -> dict[str, str]:
    if isinstance(document, Task):
        return {"name": name_of(document), "meaning": written.one_after_another(say_task(document, zone=zone))}
    if isinstance(document, Attribute):
        return {"type": choice("type", document.type)}
    return {"count": written.number(document.count)} if isinstance(document, UserList) else {}


def name_of(task: Task) -> str:
    """In the active language if the task has it, else in any that it has; its code where it has none."""
    active = get_language() or ""
    languages = sorted(task.texts, key=lambda language: (language != active, language != "en"))
    return next((task.texts[language].name for language in languages if task.texts[language].name), task.code)


def _row_field(difference: Difference) -> str:
    path = difference.path
    return "conditions/*" if path[0] == "conditions" and len(path) == 2 else "/".join(path)


def _case(difference: Difference) -> str:
    if isinstance(difference.new, bool):
        return "yes" if difference.new else "no"
    if difference.old in _EMPTY:
        return _SET
    return _CLEARED if difference.new in _EMPTY else _BOTH


def _general(difference: Difference) -> str:
    is_text = isinstance(difference.old, str) and difference.path[0] in ("texts", "description")
    case = _case(difference)
    if case == _SET:
        return _("%(field)s “%(new)s” added") if is_text else _("%(field)s: %(new)s")
    if case == _CLEARED:
        return _("%(field)s “%(old)s” removed") if is_text else _("%(field)s removed (was %(old)s)")
    if is_text:
        return _("%(field)s “%(old)s” → “%(new)s”")
    # A bare figure reads well right after its name; a span, a weekday or a choice does not.
    field = difference.path[-1]
    if type(difference.new) is int and not field.endswith("_s") and field != "week_starts_on":
        return _("%(field)s %(old)s → %(new)s")
    return _("%(field)s: %(old)s → %(new)s")


def say_document(key: str, changes: Iterable[Difference], zone: tzinfo | None = None) -> str:
    """All changes of one document in a line: `daily-login`: points 10 → 20; ends 1 Dec 2026 00:00 Shanghai."""
    said = written.in_turn(say_difference(change, zone) for change in changes)
    return gettext("`%(key)s`: %(changes)s") % {"key": key, "changes": said}


def say_differences(found: Iterable[Difference], zone: tzinfo | None = None) -> list[str]:
    """A line for each document, in the order of `differences`."""
    return [say_document(key, changes, zone) for (_kind, key), changes in groupby(found, key=lambda change: (change.kind, change.key))]
