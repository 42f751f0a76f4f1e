"""Points: how their delivery goes, with pause and resume; the grants, and sending them again; each day against the points system."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone
from typing import Any
from urllib.parse import urlencode, urlsplit

from django.conf import settings
from django.contrib import messages
from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import path
from django.utils import timezone as here
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST, require_safe

from apps.tasks.models import PointsReconciliation
from apps.tasks.people.roles import CHANGE_POINTS, VIEW_POINTS
from apps.tasks.points import figures
from apps.tasks.points.comparing import MISSING
from apps.tasks.points.provider import MOST_PER_S, provider, set_paused, set_rate
from apps.tasks.points.reconcile import reconcile
from apps.tasks.points.resend import resend, resend_all
from apps.tasks.points.states import MAY_BE_SENT_AGAIN, State, state_of
from apps.tasks.screens.frame import screen, show
from apps.tasks.screens.points_words import DIFFERENCES, MEANINGS, OUTCOMES, STATES
from tasksys_site.configuration import MAX_UID

DAYS_SHOWN = 14
COMPARED_WITHIN_S = 20.0


@require_safe
@screen(VIEW_POINTS)
def points_page(request: HttpRequest) -> HttpResponse:
    """The figures are asked for now; the rate is of the last minute."""
    configured, row = settings.CONFIGURATION.points, provider()
    try:
        now = figures.collect()
    except DatabaseError:
        now = None
    held_until = datetime.fromtimestamp(row.hold_until_ms / 1000, timezone.utc)
    return show(
        request,
        "points.html",
        _("Points"),
        row=row,
        host=urlsplit(configured.url).netloc,
        sends=configured.sends,
        rate=row.rate_per_s or configured.rate_per_s,
        configured_rate=configured.rate_per_s,
        held_until=held_until if held_until > here.now() else None,
        counts=None if now is None else [_counted(state, now.counts) for state in figures.SHOWN_STATES],
        oldest_at=None if now is None or now.oldest_at is None else datetime.fromtimestamp(now.oldest_at, timezone.utc),
        delivery=figures.delivery(),
        may_change=_may_change(request),
        time_zone=here.get_current_timezone_name(),
    )


def _counted(state: State, counts: dict[str, int]) -> dict[str, Any]:
    count = counts[state.word]
    number = f"{count:,}+" if count >= figures.COUNTED_TO else f"{count:,}"
    needs_somebody = state in MAY_BE_SENT_AGAIN and count > 0
    return {"word": STATES[state], "code": state.word, "number": number, "meaning": MEANINGS[state], "needs_somebody": needs_somebody}


@require_POST
@screen(CHANGE_POINTS)
def pause(request: HttpRequest) -> HttpResponse:
    """`paused`: yes or no."""
    paused = request.POST.get("paused") == "yes"
    if set_paused(request.user, paused, request.POST.get("reason", "").strip()):
        messages.success(request, _("Delivery is paused. Grants wait and lose nothing.") if paused else _("Delivery goes on."))
    return redirect("tasks-points")


@require_POST
@screen(CHANGE_POINTS)
def change_rate(request: HttpRequest) -> HttpResponse:
    """`rate`: a number, or empty for what the configuration says."""
    typed = request.POST.get("rate", "").strip()
    if typed and not (typed.isascii() and typed.isdecimal() and len(typed) < 10 and 1 <= int(typed) <= MOST_PER_S):
        messages.error(request, _("A rate is a whole number from 1 to %(most)d, or empty.") % {"most": MOST_PER_S})
    elif set_rate(request.user, int(typed) if typed else None):
        messages.success(request, _("The rate holds from the next second on, for all relays together."))
    return redirect("tasks-points")


@require_safe
@screen(VIEW_POINTS)
def grants_page(request: HttpRequest) -> HttpResponse:
    """Newest first; `before` is where the page before ended."""
    typed, state = request.GET.get("uid", "").strip(), state_of(request.GET.get("state", ""))
    is_uid = typed.isascii() and typed.isdecimal() and len(typed) <= 19 and 1 <= int(typed) <= MAX_UID
    after = _cursor(request.GET.get("before", ""))
    grants = [] if typed and not is_uid else figures.listed(int(typed) if typed else None, state, after, figures.LIST_ROWS + 1)
    shown, more = grants[: figures.LIST_ROWS], len(grants) > figures.LIST_ROWS
    search = {name: value for name, value in (("uid", typed), ("state", state.word if state is not None else "")) if value}
    last = shown[-1] if shown else None
    return show(
        request,
        "points_grants.html",
        _("Grants"),
        uid=typed,
        uid_fault="" if is_uid or not typed else _("A uid is a whole number from 1 to %(most)d.") % {"most": MAX_UID},
        state=state.word if state is not None else "",
        states=[(each.word, word) for each, word in STATES.items()],
        grants=[{"grant": grant, "word": STATES[grant.state], "may_resend": grant.state in MAY_BE_SENT_AGAIN} for grant in shown],
        older="?" + urlencode({**search, "before": f"{last.created_ms}-{last.grant_id}"}) if more and last else "",
        newest="?" + urlencode(search) if after else "",
        search=urlencode(search),
        resends_all=state if state in MAY_BE_SENT_AGAIN and not typed else None,
        may_change=_may_change(request),
        time_zone=here.get_current_timezone_name(),
    )


def _cursor(text: str) -> tuple[int, str] | tuple[()]:
    moment, _dash, grant_id = text.partition("-")
    return (int(moment), grant_id[:100]) if moment.isascii() and moment.isdecimal() and len(moment) < 16 and grant_id else ()


@require_POST
@screen(CHANGE_POINTS)
def send_again(request: HttpRequest) -> HttpResponse:
    """`all`: a state's word; else `grant`, any number of ids. `missing_on`: a day, whose grants that are missing there are meant."""
    state, day = state_of(request.POST.get("all", "")), _day(request.POST.get("missing_on", ""))
    if day is not None:
        row = PointsReconciliation.objects.filter(day=day).first()
        ids = [grant_id for kind, grant_id, *_rest in (row.differences if row else []) if kind == MISSING]
        # The points system has lost them: what it confirmed once it is asked to take again, under the same id.
        count = resend(request.user, ids, (State.CONFIRMED,))
    elif state is not None:
        count = resend_all(request.user, state)
    else:
        count = resend(request.user, request.POST.getlist("grant")[: figures.LIST_ROWS])
    said = ngettext("%(count)d grant is sent again.", "%(count)d grants are sent again.", count) % {"count": count}
    (messages.success if count else messages.warning)(request, said)
    return redirect("tasks-points-days" if day is not None else "tasks-points-grants")


@require_safe
@screen(VIEW_POINTS)
def days_page(request: HttpRequest) -> HttpResponse:
    """The last comparisons, the newest day first."""
    rows = PointsReconciliation.objects.order_by("-day")[:DAYS_SHOWN]
    return show(
        request,
        "points_days.html",
        _("Points by day"),
        days=[_compared(row) for row in rows],
        today=datetime.now(timezone.utc).date(),
        yesterday=datetime.now(timezone.utc).date() - timedelta(days=1),
        is_configured=bool(settings.CONFIGURATION.points.url),
        may_change=_may_change(request),
        time_zone=here.get_current_timezone_name(),
    )


def _compared(row: PointsReconciliation) -> dict[str, Any]:
    differences = [
        {"word": DIFFERENCES.get(kind, kind), "grant_id": grant_id, "uid": uid, "ours": ours, "theirs": theirs}
        for kind, grant_id, uid, ours, theirs in row.differences
    ]
    missing = sum(kind == MISSING for kind, *_rest in row.differences)
    return {"row": row, "outcome": OUTCOMES.get(row.outcome, row.outcome), "differences": differences, "missing": missing}


@require_POST
@screen(CHANGE_POINTS)
def compare(request: HttpRequest) -> HttpResponse:
    """`day`: as 2026-11-30, in UTC. Compared while the operator waits."""
    day = _day(request.POST.get("day", ""))
    if day is None:
        messages.error(request, _("Choose a day."))
    else:
        row = reconcile(settings.CONFIGURATION.points, day, COMPARED_WITHIN_S)
        said = _("%(day)s: %(outcome)s.") % {"day": day, "outcome": OUTCOMES[row.outcome]}
        is_well = row.outcome in (PointsReconciliation.EQUAL, PointsReconciliation.OPEN)
        (messages.success if is_well else messages.warning)(request, said)
    return redirect("tasks-points-days")


def _day(text: str) -> date | None:
    try:
        day = date.fromisoformat(text.strip())
    except ValueError:
        return None
    return day if 2000 <= day.year < 3000 else None


def _may_change(request: HttpRequest) -> bool:
    return bool(request.user.has_perm(CHANGE_POINTS))  # type: ignore[union-attr]


urlpatterns = [
    path("points/", points_page, name="tasks-points"),
    path("points/pause/", pause, name="tasks-points-pause"),
    path("points/rate/", change_rate, name="tasks-points-rate"),
    path("points/grants/", grants_page, name="tasks-points-grants"),
    path("points/grants/again/", send_again, name="tasks-points-resend"),
    path("points/days/", days_page, name="tasks-points-days"),
    path("points/days/compare/", compare, name="tasks-points-compare"),
]
