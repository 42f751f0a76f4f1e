"""The Overview, and the poll that keeps it fresh. Both show what `live` says; neither asks a DBSvr."""

from __future__ import annotations

import time

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from apps.dbsvr.console import live, task_list
from apps.dbsvr.console.access import operators_page, operators_poll
from apps.dbsvr.console.charts import OVERVIEW
from apps.dbsvr.steps import WINDOWS

CLOSED_STRIP = "tasksys_five_minutes"
A_YEAR_S = 31_536_000


@never_cache
@require_safe
@operators_page
def overview(request: HttpRequest) -> HttpResponse:
    now = time.time()
    instance = live.instance_named(request.GET.get("dbsvr"))
    window = request.GET.get("window", "")
    found = live.look(now)
    shown = live.render(found, instance)
    counts = task_list.counts(now)
    context = {
        "seq": found.seq,
        "age_s": round(found.age_s, 1),
        "now": shown,
        "instance": instance,
        "instances": list(live.configuration().dbsvr.instances),
        "window": window if window in WINDOWS else "5m",
        "windows": list(WINDOWS),
        "charts": OVERVIEW,
        "tasks": task_list.newest(now),
        "task_counts": counts,
        "task_sentence": ngettext("%(count)s task live", "%(count)s tasks live", counts.live) % {"count": counts.live},
        "strip": shown.steps and request.COOKIES.get(CLOSED_STRIP) != str(request.user.pk),
        "time_zone": timezone.get_current_timezone_name(),
    }
    return render(request, "console/overview.html", context)


def _changes(request: HttpRequest) -> HttpResponse:
    found = live.look()
    if request.GET.get("seq") == found.seq:
        return HttpResponse(status=204)
    shown = live.render(found, live.instance_named(request.GET.get("dbsvr")))
    answer = {"seq": found.seq, "age_s": round(found.age_s, 2), **shown.as_json}
    return JsonResponse(answer)


@never_cache
@require_safe
@operators_poll(when_away=_changes)
def now(request: HttpRequest) -> HttpResponse:
    """What has changed since `seq`: nothing (204), or all of it. The answer is the same for everybody who reads that language."""
    return _changes(request)


@require_POST
@operators_page
def close_five_minutes(request: HttpRequest) -> HttpResponse:
    answer = HttpResponseRedirect(reverse("console:overview"))
    answer.set_cookie(CLOSED_STRIP, str(request.user.pk), max_age=A_YEAR_S, httponly=True, samesite="Lax", secure=request.is_secure())
    return answer
