"""The audit log: who did what, when, with the state before and after. It is looked at, searched and exported, never changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, timezone
from typing import Any
from urllib.parse import urlencode

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404
from django.urls import path
from django.utils import timezone as here
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from apps.tasks.models import AuditEntry
from apps.tasks.screens.audit_export import COLUMNS, csv_lines
from apps.tasks.screens.audit_sides import differing, sides
from apps.tasks.screens.audit_words import ACTIONS, KINDS
from apps.tasks.screens.frame import AUDIT, screen, show

PAGE_ROWS = 50
EXPORT_BATCH = 1_000
PLACES_IN_LIST = 12
"""Of one entry; its own page shows the others."""


@dataclass(frozen=True, slots=True)
class Search:
    """What is looked for. An empty field asks for nothing."""

    who: str = ""
    action: str = ""
    kind: str = ""
    key: str = ""
    revision: str = ""
    since: str = ""
    until: str = ""
    """Days in the operator's zone; both belong to it."""

    @property
    def is_empty(self) -> bool:
        return not self.pairs()

    def pairs(self) -> dict[str, str]:
        fields = {name: getattr(self, name) for name in ("who", "action", "kind", "key", "revision", "since", "until")}
        return {name: value for name, value in fields.items() if value}

    def address(self, **more: object) -> str:
        return "?" + urlencode({**self.pairs(), **more})


@require_safe
@screen(AUDIT)
def audit_log(request: HttpRequest) -> HttpResponse:
    """A page of entries, newest first. The cursor is an entry's number: pages stay where they are while new entries arrive."""
    search, faults = _search(request)
    before, after = _number(request.GET.get("before")), _number(request.GET.get("after"))
    entries = _found(search)
    if after is not None:
        rows = list(entries.filter(id__gt=after).order_by("id")[: PAGE_ROWS + 1])
        newer, older = len(rows) > PAGE_ROWS, True
        rows = rows[:PAGE_ROWS][::-1]
    else:
        rows = list((entries if before is None else entries.filter(id__lt=before)).order_by("-id")[: PAGE_ROWS + 1])
        newer, older = before is not None, len(rows) > PAGE_ROWS
        rows = rows[:PAGE_ROWS]
    return show(
        request,
        "audit.html",
        str(_("Audit log")),
        search=search,
        faults=faults,
        entries=[_shown(entry) for entry in rows],
        newer=search.address(after=rows[0].pk) if newer and rows else "",
        older=search.address(before=rows[-1].pk) if older and rows else "",
        newest=search.address(),
        actions=[(code, ACTIONS.get(code, code)) for code in codes()],
        kinds=list(KINDS.items()),
        export=search.address(),
        time_zone=here.get_current_timezone_name(),
    )


@require_safe
@screen(AUDIT)
def audit_entry(request: HttpRequest, number: int) -> HttpResponse:
    entry = get_object_or_404(AuditEntry, pk=number)
    return show(
        request,
        "audit_entry.html",
        str(_("Audit entry %(number)s") % {"number": entry.pk}),
        entry=_shown(entry),
        sides=sides(entry.before, entry.after),
        time_zone=here.get_current_timezone_name(),
    )


@require_safe
@screen(AUDIT)
def audit_csv(request: HttpRequest) -> StreamingHttpResponse:
    """All entries of the search, not only a page of them; read in batches while they are sent."""
    search, _faults = _search(request)
    answer = StreamingHttpResponse(csv_lines(_rows(search)), content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = 'attachment; filename="audit.csv"'
    return answer


def _search(request: HttpRequest) -> tuple[Search, list[str]]:
    """With what could not be understood, in words: a wrong day must not look as if nothing had been found."""
    given = {name: request.GET.get(name, "").strip()[:150] for name in ("who", "action", "kind", "key", "revision", "since", "until")}
    faults = []
    for name in ("since", "until"):
        if given[name] and _day(given[name]) is None:
            faults.append(str(_("“%(text)s” is no day. Write it like 2026-11-30.") % {"text": given[name]}))
            given[name] = ""
    if given["revision"] and _number(given["revision"]) is None:
        faults.append(str(_("“%(text)s” is no revision's number.") % {"text": given["revision"]}))
        given["revision"] = ""
    return Search(**given), faults


def _found(search: Search) -> QuerySet[AuditEntry]:
    entries = AuditEntry.objects.all()
    for field, value in (("who__icontains", search.who), ("action", search.action), ("kind", search.kind), ("key__icontains", search.key)):
        if value:
            entries = entries.filter(**{field: value})
    if search.revision:
        entries = entries.filter(revision=_number(search.revision))
    since, until = _day(search.since), _day(search.until)
    if since is not None:
        entries = entries.filter(at__gte=_midnight(since))
    if until is not None:
        entries = entries.filter(at__lt=_midnight(until + timedelta(days=1)))
    return entries


def _rows(search: Search) -> Iterator[Sequence[object]]:
    last: int | None = None
    while True:
        entries = _found(search)
        batch = list((entries if last is None else entries.filter(id__lt=last)).order_by("-id")[:EXPORT_BATCH])
        for entry in batch:
            values = {name: getattr(entry, name) for name in COLUMNS}
            values["at"] = entry.at.astimezone(timezone.utc).isoformat(timespec="milliseconds")
            yield [values[name] for name in COLUMNS]
        if len(batch) < EXPORT_BATCH:
            return
        last = batch[-1].pk


def _shown(entry: AuditEntry) -> dict[str, Any]:
    places = differing(entry.before, entry.after)
    return {
        "entry": entry,
        "action": ACTIONS.get(entry.action, entry.action),
        "kind": KINDS.get(entry.kind, entry.kind),
        "places": places[:PLACES_IN_LIST],
        "more": max(len(places) - PLACES_IN_LIST, 0),
        "count": len(places),
    }


def codes() -> list[str]:
    return list(AuditEntry.objects.order_by("action").values_list("action", flat=True).distinct())


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdecimal() and len(text) <= 18 else None


def _day(text: str) -> date | None:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return None
    return day if 1970 <= day.year < 3000 else None


def _midnight(day: date) -> datetime:
    return here.make_aware(datetime.combine(day, time.min))


urlpatterns = [
    path("audit/", audit_log, name="tasks-audit"),
    path("audit/export.csv", audit_csv, name="tasks-audit-csv"),
    path("audit/<int:number>/", audit_entry, name="tasks-audit-entry"),
]
