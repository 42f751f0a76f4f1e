"""What a task means, in a few plain sentences: what is to be done how often and what it gives; for whom; from when, with which limits.

Every sentence, and every clause in one, is a template of its own in each language, with named places. It says what the document says,
also where `validate` would refuse it: the form shows it while somebody types.
"""

from __future__ import annotations

from datetime import tzinfo

from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_noop as _

from apps.tasks.config import written
from apps.tasks.config.documents import USER_ZONE, WHOLE, Configuration, Task
from apps.tasks.config.labels import choice
from apps.tasks.config.value_words import say_feed, say_groups, say_points, say_prerequisite, say_tier

_PERIODS = {
    "once": _("Once"),
    "window": _("Once between start and end"),
    "daily": _("Every day (%(zone)s, from %(time)s)"),
    "weekly": _("Every week (%(zone)s, from %(weekday)s %(time)s)"),
    "monthly": _("Every month (%(zone)s, from day %(day)s, %(time)s)"),
    "monthly/last": _("Every month (%(zone)s, from day %(day)s or the month's last, %(time)s)"),
    "every_days": _("Every %(days)s days (%(zone)s, from %(time)s)"),
    "every_days/anchor": _("Every %(days)s days (%(zone)s, from %(time)s, counted from %(anchor)s)"),
}

# What is to be done, by the way in which progress is counted. Without events a logic server reports it as done.
_GOALS = {
    "single": _("do this"),
    "single/events": _("one event %(events)s is enough"),
    "add": _("reach %(target)s"),
    "add/events": _("reach %(target)s in all with %(events)s"),
    "max": _("reach %(target)s at one time"),
    "max/events": _("reach %(target)s at one time with %(events)s"),
    "set": _("reach %(target)s (the latest value counts)"),
    "set/events": _("reach %(target)s with %(events)s (the latest value counts)"),
    "distinct": _("reach %(target)s different `%(by)s`"),
    "distinct/events": _("reach %(target)s different `%(by)s` with %(events)s"),
}

_SENTENCES = {
    "goal/automatic": _("%(when)s: %(goal)s, and the user gets %(reward)s."),
    "goal/by_claim": _("%(when)s: %(goal)s, and the user can claim %(reward)s."),
    "goal/accept_first": _("%(when)s: accept the task, then %(goal)s, and the user gets %(reward)s."),
    "streak/automatic": _("%(when)s: %(goal)s; for %(run)s the user gets %(reward)s."),
    "streak/by_claim": _("%(when)s: %(goal)s; for %(run)s the user can claim %(reward)s."),
    "streak/accept_first": _("%(when)s: accept the task, then %(goal)s; for %(run)s the user gets %(reward)s."),
    "tiers/automatic": _("%(when)s: the user gets %(tiers)s; %(counting)s."),
    "tiers/by_claim": _("%(when)s: the user can claim %(tiers)s; %(counting)s."),
    "tiers/accept_first": _("%(when)s: accept the task, then the user gets %(tiers)s; %(counting)s."),
}

_COUNTING = {
    "add": _("a logic server reports the progress, which is added up"),
    "add/events": _("the values of %(events)s are added up"),
    "max": _("a logic server reports the progress, of which the highest counts"),
    "max/events": _("the highest value of %(events)s counts"),
    "set": _("a logic server reports the progress, of which the latest counts"),
    "set/events": _("the latest value of %(events)s counts"),
    "distinct": _("different `%(by)s` are counted"),
    "distinct/events": _("different `%(by)s` of %(events)s are counted"),
}


def say_task(task: Task, configuration: Configuration | None = None, zone: tzinfo | None = None) -> list[str]:
    """Moments are written in `zone`, or in the operator's. Without the configuration a sequence is taken to have earlier tasks."""
    sentences = [_say_deed(task), _say_who(task, configuration), _say_limits(task, zone)]
    if task.archived:
        sentences.insert(0, gettext("Archived: nobody can do it any more."))
    elif task.switched_off:
        sentences.insert(0, gettext("Switched off: nobody can do it for now."))
    return [sentence for sentence in sentences if sentence]


def _say_deed(task: Task) -> str:
    fed = "/events" if task.feeds else ""
    places = {
        "target": written.number(task.target),
        "by": task.distinct_by or "…",
        "events": written.one_of(map(say_feed, task.feeds)) if task.feeds else "",
    }
    shape = "tiers" if task.kind == "tiers" else "streak" if task.kind == "streak" else "goal"
    goal = "single" if task.target == 1 and task.mode != "distinct" else task.mode
    return gettext(_SENTENCES[f"{shape}/{task.claim.mode}"]) % {
        "when": _say_period(task),
        "goal": gettext(_GOALS[goal + fed]) % places,
        "counting": gettext(_COUNTING[task.mode + fed]) % places,
        "tiers": written.one_and_another(map(say_tier, task.tiers)) if task.tiers else say_points(0),
        "reward": say_points(task.points),
        "run": _say_run(task),
    }


def _say_period(task: Task) -> str:
    period = task.period
    case: str = period.kind
    if case == "monthly" and period.month_day > 28:
        case = "monthly/last"
    elif case == "every_days" and period.every_days == 1:
        case = "daily"
    elif case == "every_days" and period.anchor is not None:
        case = "every_days/anchor"
    return gettext(_PERIODS[case]) % {
        "zone": gettext("each user's own zone") if period.zone == USER_ZONE else period.zone,
        "time": period.resets_at,
        "weekday": choice("weekday", period.week_starts_on),
        "day": period.month_day,
        "days": written.number(period.every_days),
        "anchor": written.day(period.anchor) if period.anchor else "",
    }


def _say_run(task: Task) -> str:
    """7 days in a row."""
    if task.streak is None:
        return "…"
    length, grace = task.streak.length, task.streak.grace
    places = {"length": written.number(length), "grace": written.number(grace)}
    if task.period.kind == "daily":
        run = ngettext("%(length)s day in a row", "%(length)s days in a row", length)
    elif task.period.kind == "weekly":
        run = ngettext("%(length)s week in a row", "%(length)s weeks in a row", length)
    elif task.period.kind == "monthly":
        run = ngettext("%(length)s month in a row", "%(length)s months in a row", length)
    else:
        run = ngettext("%(length)s period in a row", "%(length)s periods in a row", length)
    if not grace:
        return run % places
    return gettext("%(run)s (up to %(grace)s missed between two)") % {"run": run % places, "grace": places["grace"]}


def _say_who(task: Task, configuration: Configuration | None) -> str:
    clauses = []
    if task.prerequisites:
        clauses.append(written.together(map(say_prerequisite, task.prerequisites)))
    if task.sequence and (configuration is None or _has_earlier(task, configuration)):
        clauses.append(gettext("the tasks before it in “%(sequence)s” completed") % {"sequence": task.sequence})
    if task.exclusive_group:
        clauses.append(gettext("no other task of “%(group)s” begun in the period") % {"group": task.exclusive_group})
    clauses.extend(_say_release(task))
    if not task.conditions:
        return gettext("Only users for whom this holds: %(clauses)s.") % {"clauses": written.in_turn(clauses)} if clauses else ""
    conditions = say_groups(task.conditions)
    if not clauses:
        return gettext("Only users with %(conditions)s.") % {"conditions": conditions}
    return gettext("Only users with %(conditions)s, for whom this holds as well: %(clauses)s.") % {
        "conditions": conditions,
        "clauses": written.in_turn(clauses),
    }


def _has_earlier(task: Task, configuration: Configuration) -> bool:
    return any(
        other.sequence == task.sequence and other.position < task.position and not other.archived and other.code != task.code
        for other in configuration.tasks.values()
    )


def _say_release(task: Task) -> list[str]:
    release = task.release
    clauses = []
    share = written.percent(release.percentage_bp)
    if release.percentage_bp < WHOLE and not release.allow:
        clauses.append(gettext("in the %(share)s of the gray release") % {"share": share})
    elif release.percentage_bp < WHOLE:
        lists = written.one_of(f"`{name}`" for name in release.allow)
        if release.percentage_bp:
            clauses.append(gettext("in the %(share)s of the gray release, or on the list %(lists)s") % {"share": share, "lists": lists})
        else:
            clauses.append(gettext("on the list %(lists)s") % {"lists": lists})
    if release.deny:
        clauses.append(gettext("not on the list %(lists)s") % {"lists": written.one_of(f"`{name}`" for name in release.deny)})
    return clauses


def _say_limits(task: Task, zone: tzinfo | None) -> str:
    caps = task.caps
    limits = []
    if task.claim.mode == "by_claim" and task.claim.grace_s:
        limits.append(gettext("claims are taken until %(span)s after the period's end") % {"span": written.span(task.claim.grace_s)})
    if caps.per_user is not None:
        limits.append(gettext("at most %(cap)s times per user and period") % {"cap": written.number(caps.per_user)})
    if caps.per_period is not None:
        limits.append(gettext("at most %(cap)s times per period for all users together") % {"cap": written.number(caps.per_period)})
    if caps.total is not None:
        limits.append(gettext("at most %(cap)s times in all") % {"cap": written.number(caps.total)})
    if caps.points_budget is not None:
        limits.append(gettext("at most %(cap)s points in all") % {"cap": written.number(caps.points_budget)})
    places = {
        "start": written.moment(task.starts_at, zone),
        "end": written.moment(task.ends_at, zone) if task.ends_at else "",
        "limits": written.in_turn(limits),
    }
    if task.ends_at is None:
        return gettext("Runs from %(start)s; %(limits)s.") % places if limits else gettext("Runs from %(start)s on.") % places
    if limits:
        return gettext("Runs from %(start)s to %(end)s; %(limits)s.") % places
    return gettext("Runs from %(start)s to %(end)s.") % places
