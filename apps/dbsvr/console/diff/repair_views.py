"""Choose rows, see what the DBSvr would do, confirm with a reason, watch what becomes of it."""

from __future__ import annotations

import time

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext, ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from apps.dbsvr.console.access import operators_page, operators_poll
from apps.dbsvr.console.diff.forms import ReasonForm
from apps.dbsvr.console.diff.frame import MOST_CHOSEN, chosen, page, require_repair
from apps.dbsvr.console.diff.present import DifferenceRow, PreviewRow, deed, difference_row, difference_rows
from apps.dbsvr.diff import service
from apps.dbsvr.diff.models import REPAIRING, Difference

LOOKS_FOR_S = 30


@never_cache
@require_POST
@operators_page
def preview(request: HttpRequest) -> HttpResponse:
    """Both rows read again now, and the statements. Nothing is changed yet."""
    require_repair(request)
    ids = chosen(request)
    if not ids or len(ids) > MOST_CHOSEN:
        messages.error(request, gettext("Choose 1 to %(most)s rows.") % {"most": MOST_CHOSEN})
        return HttpResponseRedirect(reverse("diff:runs"))
    return _preview(request, ids, ReasonForm())


def _preview(request: HttpRequest, ids: list[int], form: ReasonForm, status: int = 200) -> HttpResponse:
    try:
        previews = service.preview_repair(ids)
    except service.Refused as refusal:
        messages.error(request, str(refusal))
        return HttpResponseRedirect(reverse("diff:runs"))
    rows = [PreviewRow(difference_row(it.difference), deed(it.difference), it.statements, it.by_hand) for it in previews]
    able = [row.difference.number for row in rows if not row.by_hand]
    names = sorted({row.difference.replica for row in rows})
    button = ngettext("Repair %(count)s row on %(replicas)s", "Repair %(count)s rows on %(replicas)s", len(able))
    context = {
        "rows": rows,
        "able": able,
        "form": form,
        "replicas": ", ".join(names),
        "button": button % {"count": len(able), "replicas": ", ".join(names)},
    }
    return page(request, "console/diff/preview.html", context, status)


@never_cache
@require_POST
@operators_page
def repair(request: HttpRequest) -> HttpResponse:
    require_repair(request)
    ids, form = chosen(request), ReasonForm(request.POST)
    if not ids:
        messages.error(request, gettext("No row was chosen."))
        return HttpResponseRedirect(reverse("diff:runs"))
    if not form.is_valid():
        return _preview(request, ids, form, status=400)
    try:
        service.repair(ids, request.user, form.cleaned_data["reason"])
    except service.Refused as refusal:
        messages.error(request, str(refusal))
        return HttpResponseRedirect(reverse("diff:runs"))
    return HttpResponseRedirect(reverse("diff:outcome") + "?" + "&".join(f"id={number}" for number in ids))


def _outcome(request: HttpRequest) -> dict[str, object]:
    found = {it.pk: it for it in Difference.objects.filter(pk__in=chosen(request)[:MOST_CHOSEN])}
    ordered = [found[number] for number in chosen(request) if number in found]
    rows: list[DifferenceRow] = difference_rows(ordered)
    waits = any(it.state == REPAIRING or _is_looked_for(request, it) for it in ordered)
    gone = sum(row.well == "yes" for row in rows)
    words = gettext("%(gone)s of %(all)s rows are equal now.") % {"gone": gone, "all": len(rows)}
    return {"rows": rows, "waits": waits, "words": words, "gone": gone, "query": request.GET.urlencode()}


def _is_looked_for(request: HttpRequest, it: Difference) -> bool:
    """It was to be compared again since `at`, and has not been yet. After a while nobody waits for it any more: there may be no worker."""
    at = request.GET.get("at", "")
    asked_at = float(at) if at.isdigit() and len(at) < 12 else 0.0
    looked_at = (it.gone_at or it.last_seen_at).timestamp()
    return looked_at < asked_at and time.time() < asked_at + LOOKS_FOR_S


@never_cache
@require_safe
@operators_page
def outcome(request: HttpRequest) -> HttpResponse:
    """What became of the rows: the repair was committed, and they are compared again."""
    return page(request, "console/diff/outcome.html", _outcome(request))


@never_cache
@require_safe
@operators_poll()
def outcome_now(request: HttpRequest) -> HttpResponse:
    return render(request, "console/diff/outcome_now.html", _outcome(request))
