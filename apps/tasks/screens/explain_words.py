"""The outcome of each check in words. One template for each case: what was wanted, what is, and where the value comes from."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.formats import date_format
from django.utils.timezone import localtime
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from apps.tasks.config import written
from apps.tasks.config.documents import Condition
from apps.tasks.config.value_words import say_condition
from apps.tasks.evaluation.explanation import Check, Explanation

MOMENT = "Y-m-d H:i:s"
MET, UNMET, UNKNOWN = "met", "unmet", "unknown"
SHAPES = {MET: "✓", UNMET: "✗", UNKNOWN: "?"}
OF_RECORDS = ("prerequisite", "sequence", "exclusive_group", "accepted")
"""Checks that look at what the user has done."""

_CONDITIONS = {
    "=": _("%(attribute)s: is %(actual)s, must be %(value)s"),
    "!=": _("%(attribute)s: is %(actual)s, must not be %(value)s"),
    "<": _("%(attribute)s: is %(actual)s, must be < %(value)s"),
    "<=": _("%(attribute)s: is %(actual)s, must be ≤ %(value)s"),
    ">": _("%(attribute)s: is %(actual)s, must be > %(value)s"),
    ">=": _("%(attribute)s: is %(actual)s, must be ≥ %(value)s"),
    "in": _("%(attribute)s: is %(actual)s, must be %(value)s"),
    "not_in": _("%(attribute)s: is %(actual)s, must not be %(value)s"),
    "between": _("%(attribute)s: is %(actual)s, must be from %(low)s to %(high)s"),
    "contains": _("%(attribute)s: is %(actual)s, must contain “%(value)s”"),
    "exists": _("%(attribute)s: is %(actual)s, must be known"),
    "before": _("%(attribute)s: is %(actual)s, must lie before %(value)s"),
    "after": _("%(attribute)s: is %(actual)s, must not lie before %(value)s"),
}
_UNKNOWN = {
    "missing": _("%(attribute)s: unknown, nobody said it. Asked for: %(wanted)s. Unknown never counts as met."),
    "wrong_type": _("%(attribute)s: unknown, “%(actual)s” is not of its type. Asked for: %(wanted)s. Unknown never counts as met."),
    "not_registered": _("%(attribute)s: unknown, there is no such attribute. Asked for: %(wanted)s. Unknown never counts as met."),
}
_SENTENCES = {
    ("switched_on", MET): _("It is switched on"),
    ("switched_on", UNMET): _("It is switched off"),
    ("started", MET): _("It has begun: at %(wanted)s"),
    ("started", UNMET): _("It has not begun: it begins at %(wanted)s, the moment is %(actual)s"),
    ("not_ended", MET): _("It has not ended: it ends at %(wanted)s"),
    ("not_ended", UNMET): _("It has ended: at %(wanted)s, the moment is %(actual)s"),
    ("deny_list", MET): _("Not on the list `%(about)s`, which shuts users out"),
    ("deny_list", UNMET): _("On the list `%(about)s`, which shuts users out"),
    ("allow_list", MET): _("On the list `%(about)s`, which lets users in"),
    ("allow_list", UNMET): _("Not on the list `%(about)s`, which lets users in"),
    ("share", MET): _("Gray release: bucket %(actual)s of 10,000, and those below %(wanted)s have it (%(share)s)"),
    ("share", UNMET): _("Gray release: bucket %(actual)s of 10,000, and only those below %(wanted)s have it (%(share)s)"),
    ("exclusive_group", MET): _("Does no other task of the exclusive group “%(about)s”"),
    ("exclusive_group", UNMET): _("Does another task of the exclusive group “%(about)s”: `%(actual)s`"),
    ("exclusive_group", UNKNOWN): _("Exclusive group “%(about)s”: unknown what the user does, the DBSvr does not answer"),
    ("accepted", MET): _("The user has accepted it"),
    ("accepted", UNMET): _("The user has not accepted it yet; until then nothing counts"),
    ("accepted", UNKNOWN): _("Whether the user has accepted it is unknown: the DBSvr does not answer"),
}
_EARLIER_TASKS = {
    ("prerequisite", "completed"): _("`%(about)s` must be completed first: it is %(state)s"),
    ("prerequisite", "claimed"): _("`%(about)s` must be claimed first: it is %(state)s"),
    ("sequence", "completed"): _("`%(about)s` comes before it in the sequence and must be completed: it is %(state)s"),
}
_CAPS = {
    ("total", MET): _("Cap of %(wanted)s in all: %(actual)s are left"),
    ("total", UNMET): _("Cap of %(wanted)s in all: none is left"),
    ("total", UNKNOWN): _("Cap of %(wanted)s in all: how many are left is counted when somebody completes it"),
    ("per_period", MET): _("Cap of %(wanted)s in this period: %(actual)s are left"),
    ("per_period", UNMET): _("Cap of %(wanted)s in this period: none is left"),
    ("per_period", UNKNOWN): _("Cap of %(wanted)s in this period: how many are left is counted when somebody completes it"),
    ("points_budget", MET): _("Budget of %(wanted)s points: %(actual)s are left"),
    ("points_budget", UNMET): _("Budget of %(wanted)s points: %(actual)s are left, and that is not enough"),
    ("points_budget", UNKNOWN): _("Budget of %(wanted)s points: what is left is counted when somebody completes it"),
}
_RECORD_STATES = {
    None: _("not begun"),
    "active": _("in progress"),
    "in_progress": _("in progress"),
    "completed": _("completed"),
    "claimed": _("claimed"),
    "not_published": _("not published"),
    "unknown": _("unknown, the DBSvr does not answer"),
}
STATUS_WORDS = {
    "available": _("available"),
    "in_progress": _("in progress"),
    "completed": _("completed"),
    "claimable": _("ready to be claimed"),
    "claimed": _("claimed"),
    "unavailable": _("not available"),
}


@dataclass(frozen=True, slots=True)
class Said:
    """A check, ready to be read. `group`: of a condition, when there is more than one group."""

    outcome: str
    sentence: str
    decides: bool
    source: str = ""
    group: int = 0

    @property
    def shape(self) -> str:
        return SHAPES[self.outcome]

    @property
    def outcome_word(self) -> str:
        words = {MET: gettext("met"), UNMET: gettext("not met"), UNKNOWN: gettext("unknown")}
        return words[self.outcome]


def say_checks(explanation: Explanation, knows_records: bool) -> list[Said]:
    """In their order. Without the user's records, what depends on them is unknown, whatever was computed without them."""
    groups = max((check.group for check in explanation.checks), default=0)
    return [_say(check, knows_records or check.check not in OF_RECORDS, groups) for check in explanation.checks]


def _say(check: Check, is_known: bool, groups: int) -> Said:
    outcome = check.outcome if is_known else UNKNOWN
    group = check.group if groups > 1 else 0
    return Said(outcome, _sentence(check, outcome), check.decides and is_known, _source(check), group)


def _sentence(check: Check, outcome: str) -> str:
    if check.check == "condition":
        return _say_condition(check)
    places: dict[str, Any] = {"about": check.about, "wanted": say_value(check.wanted), "actual": say_value(check.actual)}
    if check.check in ("prerequisite", "sequence"):
        state = "unknown" if outcome == UNKNOWN else "not_published" if check.note == "not_published" else check.actual
        places["state"] = gettext(_RECORD_STATES.get(state, _RECORD_STATES[None]))
        return gettext(_EARLIER_TASKS[check.check, str(check.wanted)]) % places
    if check.check == "cap":
        return gettext(_CAPS[check.about, outcome]) % places
    if check.check == "share":
        places["share"] = written.percent(check.wanted)
    return gettext(_SENTENCES[check.check, outcome]) % places


def _say_condition(check: Check) -> str:
    wanted = Condition(attribute=check.about, operator=check.operator, value=check.wanted)  # type: ignore[arg-type]
    if check.outcome == UNKNOWN and check.operator != "exists":
        places = {"attribute": check.about, "actual": say_value(check.actual), "wanted": say_condition(wanted)}
        return gettext(_UNKNOWN.get(check.note, _UNKNOWN["missing"])) % places
    value = check.wanted
    low, high = value if check.operator == "between" and isinstance(value, list | tuple) and len(value) == 2 else (value, value)
    actual = gettext("unknown") if check.actual is None else say_value(check.actual)
    return gettext(_CONDITIONS[check.operator]) % {
        "attribute": check.about,
        "actual": actual,
        "value": say_value(value),
        "low": say_value(low),
        "high": say_value(high),
    }


def _source(check: Check) -> str:
    if check.check != "condition":
        return ""
    return {
        "default": gettext("the attribute's default"),
        "caller": gettext("as typed in here"),
        "profile": gettext("from the profile system"),
        "profile_outdated": gettext("from the profile system, which does not answer now: an older value"),
    }.get(check.note, "")


def say_value(value: Any) -> str:
    if isinstance(value, datetime):
        return date_format(localtime(value), MOMENT)
    if isinstance(value, bool):
        return gettext("yes") if value else gettext("no")
    if isinstance(value, int | float):
        return written.number(value)
    if isinstance(value, list | tuple):
        return written.one_of([say_value(each) for each in value])
    return "—" if value is None else str(value)
