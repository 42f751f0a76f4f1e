"""How the values of documents are written for operators: conditions, tiers, feeds, moments, shares.

One template for each case, in every language; the type of a value and the field that it stands in decide.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, tzinfo
from typing import Any

from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_noop as _

from apps.tasks.config import written
from apps.tasks.config.documents import TASK, USER_ZONE, Claim, Condition, Feed, Prerequisite, Streak, Tier
from apps.tasks.config.labels import CHOICES, choice, document_label

CONDITIONS = {
    "=": _("%(attribute)s = %(value)s"),
    "!=": _("%(attribute)s ≠ %(value)s"),
    "<": _("%(attribute)s < %(value)s"),
    "<=": _("%(attribute)s ≤ %(value)s"),
    ">": _("%(attribute)s > %(value)s"),
    ">=": _("%(attribute)s ≥ %(value)s"),
    "in": _("%(attribute)s is %(value)s"),
    "not_in": _("%(attribute)s is not %(value)s"),
    "between": _("%(attribute)s from %(low)s to %(high)s"),
    "contains": _("%(attribute)s contains “%(value)s”"),
    "exists": _("%(attribute)s is known"),
    "before": _("%(attribute)s before %(value)s"),
    "after": _("%(attribute)s at or after %(value)s"),
}

NOTHING = "—"
"""What is written where there is no value."""


def say_condition(row: Condition) -> str:
    """level ≥ 30."""
    value = row.value
    if row.operator == "between" and isinstance(value, list | tuple) and len(value) == 2:
        places = {"attribute": row.attribute, "low": _plain_value(value[0]), "high": _plain_value(value[1])}
    elif row.operator in ("in", "not_in") and isinstance(value, list | tuple):
        places = {"attribute": row.attribute, "value": written.one_of(_some(map(_plain_value, value)))}
    else:
        shown = _plain_value(value)
        places = {"attribute": row.attribute, "value": shown, "low": shown, "high": NOTHING}
    return gettext(CONDITIONS[row.operator]) % places


def say_rows(rows: Sequence[Condition]) -> str:
    """level ≥ 30, vip = yes and region is CN or US."""
    return written.together(map(say_condition, rows))


def say_groups(groups: Sequence[Sequence[Condition]]) -> str:
    """One group, or each of several in brackets."""
    if len(groups) == 1:
        return say_rows(groups[0])
    return written.one_of(gettext("(%(group)s)") % {"group": say_rows(rows)} for rows in groups)


def _some(words: Any) -> list[str]:
    """A long list is cut: the first ten say what it is about."""
    every = list(words)
    if len(every) <= 12:
        return every
    return [*every[:10], gettext("%(count)s others") % {"count": written.number(len(every) - 10)}]


def _plain_value(value: object) -> str:
    if isinstance(value, bool):
        return gettext("yes") if value else gettext("no")
    if isinstance(value, int | float):
        return written.number(value)
    return NOTHING if value is None else str(value)


def say_tier(tier: Tier) -> str:
    return ngettext("%(points)s point at %(target)s", "%(points)s points at %(target)s", tier.points) % {
        "points": written.number(tier.points),
        "target": written.number(tier.target),
    }


def say_feed(feed: Feed) -> str:
    if not feed.where:
        return f"`{feed.event}`"
    return gettext("`%(event)s` with %(rows)s") % {"event": feed.event, "rows": say_rows(feed.where)}


def say_prerequisite(prerequisite: Prerequisite) -> str:
    if prerequisite.state == "claimed":
        return gettext("`%(task)s` claimed") % {"task": prerequisite.task}
    return gettext("`%(task)s` completed") % {"task": prerequisite.task}


def say_streak(streak: Streak) -> str:
    length, grace = written.number(streak.length), written.number(streak.grace)
    if not streak.grace:
        return gettext("%(length)s in a row") % {"length": length}
    return gettext("%(length)s in a row, up to %(grace)s missed between two") % {"length": length, "grace": grace}


def say_claim(claim: Claim) -> str:
    if claim.mode == "by_claim" and claim.grace_s:
        return gettext("when the user claims it, up to %(span)s after the period's end") % {"span": written.span(claim.grace_s)}
    return choice("claim/mode", claim.mode)


def say_points(points: int) -> str:
    if not points:
        return gettext("no points")
    return ngettext("%(points)s point", "%(points)s points", points) % {"points": written.number(points)}


def say_zone(zone: str) -> str:
    return gettext("the user's own") if zone == USER_ZONE else zone


def say_value(kind: str, path: tuple[str, ...], value: Any, zone: tzinfo | None = None) -> str:
    """The value of the field at `path` of a document, moments in `zone` or in the operator's."""
    field = "/".join(path)
    if value is None or value == "" or value == () or value == {}:
        return NOTHING
    if isinstance(value, bool):
        return _plain_value(value)
    if isinstance(value, datetime):
        return written.moment(value, zone)
    if isinstance(value, date):
        return written.day(value)
    if isinstance(value, int | float):
        return _say_number(field, value)
    if isinstance(value, str):
        return _say_text(kind, field, value)
    return _say_rows_or_struct(kind, value)


def _say_number(field: str, value: float) -> str:
    if field.endswith("percentage_bp"):
        return written.percent(int(value))
    if field.endswith("_s"):
        return written.span(int(value))
    if field == "period/week_starts_on":
        return choice("weekday", value)
    return written.number(value)


def _say_text(kind: str, field: str, value: str) -> str:
    if kind == TASK and field in CHOICES:
        return choice(field, value)
    if kind == TASK and field in ("period/zone", "period/fallback_zone"):
        return say_zone(value)
    if kind != TASK and field in ("type", "source"):
        return choice(field, value)
    if field.startswith("attributes/"):
        return choice("type", value)
    if field == "sha256":
        return value[:12]
    return value


def _say_rows_or_struct(kind: str, value: Any) -> str:
    if isinstance(value, Condition):
        return say_condition(value)
    if isinstance(value, Tier):
        return say_tier(value)
    if isinstance(value, Feed):
        return say_feed(value)
    if isinstance(value, Prerequisite):
        return say_prerequisite(value)
    if isinstance(value, Streak):
        return say_streak(value)
    if isinstance(value, Claim):
        return say_claim(value)
    if isinstance(value, tuple | list):
        if all(isinstance(row, Condition) for row in value):
            return say_rows(value)
        if all(isinstance(row, tuple) for row in value):
            return say_groups(value)
        return written.all_of(say_value(kind, (), row) for row in value)
    key = getattr(value, "code", None) or getattr(value, "name", None)
    return document_label(kind, key) if isinstance(key, str) and kind else str(value)
