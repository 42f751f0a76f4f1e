"""The page Replica diff: every replica with what is known of it, the runs, and one run with its differences.

Who may see the console sees all of it; to begin, hold, cancel and repair needs a permission. What moves is asked for again by htmx: the
block of runs, and of one run its head; a block that has come to rest asks no more.
"""

from __future__ import annotations

import time
from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils.translation import get_language, gettext, ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from apps.dbsvr import holds
from apps.dbsvr.console import live
from apps.dbsvr.console.access import operators_page, operators_poll
from apps.dbsvr.console.diff import selectors
from apps.dbsvr.console.diff.forms import StartForm
from apps.dbsvr.console.diff.frame import MOST_CHOSEN, chosen, may_repair, page, replicas, require_repair
from apps.dbsvr.console.diff.present import RunRow, Stretches, difference_rows, run_row, schedule_rows, sentence
from apps.dbsvr.console.diff.replicas import replica_rows
from apps.dbsvr.console.sweep_rows import sweep_rows
from apps.dbsvr.diff import service
from apps.dbsvr.diff.models import Difference, DiffRun
from apps.dbsvr.sweeps.models import Sweep

RUNS_A_PAGE = 25
DIFFERENCES_A_PAGE = 50
CHANGES = {"pause": service.pause, "resume": service.resume, "cancel": service.cancel}


def _rows(runs: list[DiffRun]) -> list[RunRow]:
    known, language = selectors.stretches_of(runs), get_language() or "en"
    return [run_row(run, known.get(run.pk, Stretches()), language) for run in runs]


def _runs(request: HttpRequest) -> dict[str, Any]:
    rows = _rows(selectors.last_runs())
    return {"runs": rows, "is_active": any(row.is_active for row in rows), "may": may_repair(request)}


@never_cache
@require_safe
@operators_page
def runs(request: HttpRequest) -> HttpResponse:
    return _runs_page(request)


def _runs_page(request: HttpRequest, form: StartForm | None = None, status: int = 200) -> HttpResponse:
    refusal = ""
    if form is None and may_repair(request):
        form, refusal = _start_form()
    context = {
        **_runs(request),
        "form": form,
        "form_refusal": refusal,
        "replicas": replica_rows(),
        "sweeps": sweep_rows(Sweep.objects.order_by("table")),
        "schedule": _schedule(),
    }
    return page(request, "console/diff/runs.html", context, status)


def _schedule() -> list[tuple[str, str]]:
    return schedule_rows(live.configuration().diff, get_language() or "en")


def _start_form(data: Any = None) -> tuple[StartForm | None, str]:
    """The form, and why there is none."""
    try:
        tables = [f"{table.schema}.{table.name}" for table in service.tables()]
    except service.Refused as refusal:
        return None, str(refusal)
    names, schema = replicas(), live.configuration().databases.user_schema
    initial = {"replica": names[0] if names else "", "tables": [name for name in tables if name.startswith(f"{schema}.")]}
    return StartForm(data, replicas=names, tables=tables, user_schema=schema, initial=initial), ""


@never_cache
@require_safe
@operators_poll()
def runs_now(request: HttpRequest) -> HttpResponse:
    return render(request, "console/diff/runs_now.html", _runs(request))


@never_cache
@require_safe
@operators_page
def all_runs(request: HttpRequest) -> HttpResponse:
    shown = Paginator(DiffRun.objects.order_by("-id"), RUNS_A_PAGE).get_page(request.GET.get("page"))
    return page(request, "console/diff/all_runs.html", {"runs": _rows(list(shown.object_list)), "page": shown})


@require_POST
@operators_page
def start(request: HttpRequest) -> HttpResponse:
    require_repair(request)
    form, refusal = _start_form(request.POST)
    if form is None:
        messages.error(request, refusal)
        return HttpResponseRedirect(reverse("diff:runs"))
    if not form.is_valid():
        return _runs_page(request, form, status=400)
    given, begun = form.cleaned_data, 0
    for table in given["tables"]:
        try:
            run = service.start_run(
                given["replica"], table, given["first"], given["last"], given["kind"], given["sample"] or 100, user=request.user
            )
        except service.Refused as refused:
            messages.error(request, f"{table}: {refused}")
        else:
            begun += 1
    if begun == 1:
        return HttpResponseRedirect(reverse("diff:run", args=[run.pk]))
    if begun:
        messages.success(request, ngettext("%(count)s run has begun.", "%(count)s runs have begun.", begun) % {"count": begun})
    return HttpResponseRedirect(reverse("diff:runs"))


def _head(request: HttpRequest, run: DiffRun) -> dict[str, Any]:
    [row] = _rows([run])
    return {"run": row, "sentence": sentence(row), "may": may_repair(request), "seen": run.differences}


@never_cache
@require_safe
@operators_page
def run(request: HttpRequest, number: int) -> HttpResponse:
    found = get_object_or_404(DiffRun, pk=number)
    differences = service.differences_of(found).order_by("id")
    shown = Paginator(differences, DIFFERENCES_A_PAGE).get_page(request.GET.get("page"))
    context = {**_head(request, found), "differences": difference_rows(shown.object_list), "page": shown}
    return page(request, "console/diff/run.html", context)


@never_cache
@require_safe
@operators_poll()
def run_now(request: HttpRequest, number: int) -> HttpResponse:
    """The head alone; the whole page anew when there is more to show than it had: the run is over, or has found its first differences."""
    found = get_object_or_404(DiffRun, pk=number)
    answer = render(request, "console/diff/run_now.html", _head(request, found))
    if found.state not in ("waiting", "running") or (found.differences and request.GET.get("seen") == "0"):
        answer["HX-Refresh"] = "true"
    return answer


@require_POST
@operators_page
def change(request: HttpRequest, number: int, change: str) -> HttpResponse:
    require_repair(request)
    found, act = get_object_or_404(DiffRun, pk=number), CHANGES.get(change)
    if act is None:
        raise Http404
    try:
        act(found, request.user)
    except service.Refused as refusal:
        messages.error(request, str(refusal))
    return HttpResponseRedirect(reverse("diff:run", args=[number]))


@never_cache
@require_safe
@operators_page
def differences(request: HttpRequest, replica: str) -> HttpResponse:
    """All that differs on a replica now, whichever run has seen it."""
    if replica not in replicas():
        raise Http404
    found = Difference.objects.filter(replica=replica).exclude(state="gone").order_by("id")
    shown = Paginator(found, DIFFERENCES_A_PAGE).get_page(request.GET.get("page"))
    context = {"replica": replica, "differences": difference_rows(shown.object_list), "page": shown, "held": holds.held_replicas() or {}}
    return page(request, "console/diff/differences.html", context)


@require_POST
@operators_page
def recheck(request: HttpRequest) -> HttpResponse:
    require_repair(request)
    ids = chosen(request)
    if not ids or len(ids) > MOST_CHOSEN:
        messages.error(request, gettext("Choose 1 to %(most)s rows.") % {"most": MOST_CHOSEN})
        return HttpResponseRedirect(reverse("diff:runs"))
    service.recheck(ids)
    at = int(time.time())
    return HttpResponseRedirect(reverse("diff:outcome") + f"?at={at}&" + "&".join(f"id={number}" for number in ids))
