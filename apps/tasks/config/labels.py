"""What operators call the fields and choices of documents, and places in them.

The form, the faults, the differences and the audit log take their words from here, so that one thing has one name on every page.
"""

from __future__ import annotations

from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from apps.tasks.config import written
from apps.tasks.config.documents import ATTRIBUTE, EVENT, LIST, TASK
from apps.tasks.config.faults import KIND_OF_PART, Fault

DOCUMENTS = {
    TASK: _("Task `%(key)s`"),
    ATTRIBUTE: _("Attribute `%(key)s`"),
    EVENT: _("Event `%(key)s`"),
    LIST: _("List `%(key)s`"),
}

# Numbers in a path stand as *.
FIELDS = {
    TASK: {
        "code": _("code"),
        "kind": _("kind"),
        "texts": _("texts"),
        "texts/*": _("texts in %(language)s"),
        "texts/*/name": _("name in %(language)s"),
        "texts/*/description": _("description in %(language)s"),
        "texts/*/button": _("button in %(language)s"),
        "texts/*/link": _("link in %(language)s"),
        "category": _("category"),
        "icon": _("icon"),
        "weight": _("weight"),
        "tags": _("tags"),
        "tags/*": _("tag %(row)s"),
        "starts_at": _("start"),
        "ends_at": _("end"),
        "period": _("period"),
        "period/kind": _("how often"),
        "period/zone": _("time zone of the period"),
        "period/fallback_zone": _("zone of users whose own is not known"),
        "period/resets_at": _("begins anew at"),
        "period/week_starts_on": _("the week begins on"),
        "period/month_day": _("day of the month"),
        "period/every_days": _("every … days"),
        "period/anchor": _("counted from"),
        "mode": _("how progress counts"),
        "distinct_by": _("different values of"),
        "feeds": _("events that count"),
        "feeds/*": _("event feed %(row)s"),
        "feeds/*/event": _("event feed %(row)s, event"),
        "feeds/*/where": _("event feed %(row)s, filter"),
        "feeds/*/where/*": _("event feed %(row)s, filter row %(inner)s"),
        "feeds/*/where/*/attribute": _("event feed %(row)s, filter row %(inner)s, attribute"),
        "feeds/*/where/*/operator": _("event feed %(row)s, filter row %(inner)s, comparison"),
        "feeds/*/where/*/value": _("event feed %(row)s, filter row %(inner)s, value"),
        "late_window_s": _("late events count for"),
        "revert_takes_back": _("a reverted event takes granted points back"),
        "target": _("target"),
        "points": _("points"),
        "tiers": _("tiers"),
        "tiers/*": _("tier %(row)s"),
        "tiers/*/target": _("tier %(row)s, target"),
        "tiers/*/points": _("tier %(row)s, points"),
        "streak": _("streak"),
        "streak/length": _("length of the streak"),
        "streak/grace": _("missed periods forgiven"),
        "conditions": _("conditions"),
        "conditions/*": _("condition group %(row)s"),
        "conditions/*/*": _("condition group %(row)s, row %(inner)s"),
        "conditions/*/*/attribute": _("condition group %(row)s, row %(inner)s, attribute"),
        "conditions/*/*/operator": _("condition group %(row)s, row %(inner)s, comparison"),
        "conditions/*/*/value": _("condition group %(row)s, row %(inner)s, value"),
        "prerequisites": _("prerequisites"),
        "prerequisites/*": _("prerequisite %(row)s"),
        "prerequisites/*/task": _("prerequisite %(row)s, task"),
        "prerequisites/*/state": _("prerequisite %(row)s, state"),
        "exclusive_group": _("exclusive group"),
        "sequence": _("sequence"),
        "position": _("position in the sequence"),
        "claim": _("how the reward comes"),
        "claim/mode": _("how the reward comes"),
        "claim/grace_s": _("time to claim after the period's end"),
        "caps": _("caps"),
        "caps/per_user": _("completions by one user in a period"),
        "caps/total": _("completions by all users, ever"),
        "caps/per_period": _("completions by all users in a period"),
        "caps/points_budget": _("points given out in all"),
        "release": _("gray release"),
        "release/percentage_bp": _("share of users"),
        "release/salt": _("salt"),
        "release/allow": _("always for users of these lists"),
        "release/allow/*": _("list %(row)s of those that always have the task"),
        "release/deny": _("never for users of these lists"),
        "release/deny/*": _("list %(row)s of those that never have the task"),
        "switched_off": _("switched off"),
        "archived": _("archived"),
    },
    ATTRIBUTE: {
        "name": _("name"),
        "type": _("type"),
        "source": _("source"),
        "description": _("description"),
        "default": _("value when it is missing"),
        "ttl_s": _("how long a value is kept"),
    },
    EVENT: {
        "name": _("name"),
        "description": _("description"),
        "attributes": _("attributes"),
        "attributes/*": _("attribute `%(name)s`"),
    },
    LIST: {
        "name": _("name"),
        "description": _("description"),
        "sha256": _("contents"),
        "count": _("number of users"),
    },
}

CHOICES = {
    "kind": {
        "single": _("one step"),
        "counter": _("count to a target"),
        "tiers": _("several targets"),
        "streak": _("periods in a row"),
    },
    "period/kind": {
        "once": _("once"),
        "daily": _("every day"),
        "weekly": _("every week"),
        "monthly": _("every month"),
        "every_days": _("every few days"),
        "window": _("once between start and end"),
    },
    "mode": {
        "add": _("each event adds its value"),
        "max": _("the highest value counts"),
        "set": _("the newest value counts"),
        "distinct": _("different values are counted"),
    },
    "claim/mode": {
        "automatic": _("by itself"),
        "by_claim": _("when the user claims it"),
        "accept_first": _("by itself, but the user accepts the task first"),
    },
    "prerequisites/*/state": {"completed": _("completed"), "claimed": _("claimed")},
    "type": {
        "number": _("number"),
        "text": _("text"),
        "boolean": _("yes or no"),
        "date": _("date"),
        "version": _("version"),
    },
    "source": {"profile": _("profile system"), "request": _("the caller, with each request")},
    "operator": {
        "=": _("is"),
        "!=": _("is not"),
        "<": _("is less than"),
        "<=": _("is at most"),
        ">": _("is more than"),
        ">=": _("is at least"),
        "in": _("is one of"),
        "not_in": _("is none of"),
        "between": _("is between"),
        "contains": _("contains"),
        "exists": _("is known"),
        "before": _("is before"),
        "after": _("is at or after"),
    },
    "weekday": {
        "1": _("Monday"),
        "2": _("Tuesday"),
        "3": _("Wednesday"),
        "4": _("Thursday"),
        "5": _("Friday"),
        "6": _("Saturday"),
        "7": _("Sunday"),
    },
}
"""Choices by the field that has them; `type`, `source`, `operator` and `weekday` are those of several fields."""


def choice(field: str, value: object) -> str:
    """The word for a choice; one that has none stays as it is."""
    word = CHOICES[field].get(str(value))
    return gettext(word) if word else str(value)


def document_label(kind: str, key: str) -> str:
    """Task `daily-login`."""
    return gettext(DOCUMENTS[kind]) % {"key": key}


def field_label(kind: str, path: tuple[str, ...]) -> str:
    """condition group 1, row 2, value. A field that has no name here is called by its path."""
    marks = {}
    pattern = []
    for place, part in enumerate(path):
        before = path[:place]
        if part.isdigit():
            marks["inner" if "row" in marks else "row"] = str(int(part) + 1)
            pattern.append("*")
        elif before == ("texts",):
            marks["language"] = written.language_name(part)
            pattern.append("*")
        elif kind == EVENT and before == ("attributes",):
            marks["name"] = part
            pattern.append("*")
        else:
            pattern.append(part)
    names = FIELDS[kind]
    # A list's own place inside a value (the third of the values to choose from) is told by the value's.
    while len(pattern) > 1 and pattern[-1] == "*" and "/".join(pattern) not in names:
        pattern.pop()
    template = names.get("/".join(pattern))
    return gettext(template) % marks if template else "/".join(path)


def say_place(fault: Fault) -> str:
    """Where a fault lies: Task `daily-login`: end."""
    place = fault.place
    if len(place) < 2 or place[0] not in KIND_OF_PART:
        return gettext("the configuration as a whole")
    kind = KIND_OF_PART[place[0]]
    document = document_label(kind, place[1])
    if len(place) == 2:
        return document
    return gettext("%(document)s: %(field)s") % {"document": document, "field": field_label(kind, place[2:])}
