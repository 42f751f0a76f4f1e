"""History for charts, as a table and as CSV: the same figures three times."""

from __future__ import annotations

import csv as csv_module
import time
from datetime import datetime, timezone
from typing import Any

import msgspec
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils import timezone as django_timezone
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from apps.dbsvr.console import histories, live
from apps.dbsvr.console.access import operators_page, operators_poll
from apps.dbsvr.console.charts import BY_KEY, OVERVIEW, Chart
from apps.dbsvr.quantities import clock
from apps.dbsvr.steps import STEPS, WINDOWS, Step

ROWS_A_PAGE = 50


def _step(request: HttpRequest) -> Step:
    return WINDOWS.get(request.GET.get("window", ""), STEPS[1])


def _chart(key: str) -> Chart:
    try:
        return BY_KEY[key]
    except KeyError:
        raise Http404(gettext("There is no such chart.")) from None


@never_cache
@require_safe
@operators_poll()
def series(request: HttpRequest) -> HttpResponse:
    """All charts of the Overview over a window, or only the steps that began after `since` (epoch seconds)."""
    step, now = _step(request), time.time()
    instance = live.instance_named(request.GET.get("dbsvr"))
    since = request.GET.get("since", "")
    # 15 digits are a moment in some million years: more is no moment.
    if since and not (since.isascii() and since.isdigit() and len(since) < 16):
        return JsonResponse({"error": gettext("since must be a moment in seconds")}, status=400)
    found = histories.read(list(OVERVIEW), step, instance, now, int(since) if since else None)
    answer: dict[str, Any] = {
        "step": step.seconds,
        "window": step.window_s,
        "now": round(now, 3),
        "at": found[0].grid.at,
        "rows": found[0].grid.rows,
        "note": _note(step, instance, now),
        "charts": {
            history.chart.key: {
                "series": [{"key": one.key, "label": str(one.label), "colour": one.colour, "dash": one.dash} for one in history.series],
                "columns": history.grid.columns,
            }
            for history in found
        },
    }
    return HttpResponse(msgspec.json.encode(answer), content_type="application/json")


def _note(step: Step, instance: str, now: float) -> str:
    """Why history stands still, if it does: coarse steps are made by Celery, the finest one by the sampler."""
    newest = histories.newest(step, instance)
    if newest is None:
        return gettext("No history yet. The first step of this window is closed after %(seconds)s s.") % {"seconds": step.seconds}
    if now - newest < 3 * step.seconds + 15:
        return ""
    at = clock(newest + step.seconds, django_timezone.get_current_timezone())
    if step.seconds == 1:
        return gettext("History stands still since %(at)s: the sampler does not write.") % {"at": at}
    return gettext(
        "History stands still since %(at)s: Celery or its broker does not answer. The light is judged directly and is right."
    ) % {"at": at}


@never_cache
@require_safe
@operators_page
def table(request: HttpRequest, key: str) -> HttpResponse:
    chart, step = _chart(key), _step(request)
    instance = live.instance_named(request.GET.get("dbsvr"))
    [history] = histories.read([chart], step, instance, time.time())
    rows = list(zip(history.grid.at, *history.grid.columns, strict=True))[::-1]
    page = Paginator(rows, ROWS_A_PAGE).get_page(request.GET.get("page"))
    zone = django_timezone.get_current_timezone()
    shown = [(datetime.fromtimestamp(row[0], zone), row[1:]) for row in page.object_list]
    context = {
        "chart": chart,
        "series": history.series,
        "rows": shown,
        "page": page,
        "step": step,
        "window": step.window,
        "instance": instance,
    }
    found = live.look()
    return render(request, "console/table.html", {**context, "now": live.render(found, instance), "seq": found.seq, "age_s": found.age_s})


@never_cache
@require_safe
@operators_page
def csv(request: HttpRequest, key: str) -> HttpResponse:
    """The whole window, oldest first, in UTC. An empty field is unknown."""
    chart, step = _chart(key), _step(request)
    instance = live.instance_named(request.GET.get("dbsvr"))
    [history] = histories.read([chart], step, instance, time.time())
    answer = HttpResponse(content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="{key}-{instance}-{step.window}.csv"'
    writer = csv_module.writer(answer)
    writer.writerow(["at_utc", *(one.key for one in history.series)])
    for at, *values in zip(history.grid.at, *history.grid.columns, strict=True):
        moment = datetime.fromtimestamp(at, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        writer.writerow([moment, *("" if value is None else value for value in values)])
    return answer
