"""The calendar: which tasks run when, and which of them together. Live, or as a draft would make it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from typing import Any
from urllib.parse import urlencode

from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.urls import path
from django.utils import timezone
from django.utils.translation import get_language, gettext_lazy
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from apps.tasks.config.documents import TASK, USER_ZONE, from_plain
from apps.tasks.config.documents import Task as TaskDocument
from apps.tasks.models import Draft, Task
from apps.tasks.models.drafts import OPEN_STATES
from apps.tasks.screens.calendar_layout import Days, Span, clashes_of, lay_out, months_of, running, weeks_of
from apps.tasks.screens.change_sentences import address_of
from apps.tasks.screens.frame import LOOK, screen, show
from apps.tasks.screens.workplace import editor_of

WEEKS = (4, 8, 13, 26)
MOST_DRAFTS = 100
MOST_SPANS = 300
"""More bars than this nobody can read: then the page says so, and filters help."""
FIRST_DAY, LAST_DAY = date(2000, 1, 1), date(2999, 12, 31)
UPCOMING, LIVE, ENDED, OFF = "upcoming", "live", "ended", "off"
STATE_WORDS = {
    UPCOMING: gettext_lazy("upcoming"),
    LIVE: gettext_lazy("live"),
    ENDED: gettext_lazy("ended"),
    OFF: gettext_lazy("switched off"),
}


@dataclass(frozen=True, slots=True)
class Asked:
    """What the address says, made sensible: a wrong value is as none."""

    first: date
    weeks: int
    category: str
    zone: str
    draft: Draft | None

    def address(self, **changes: Any) -> str:
        asked = replace(self, **changes)
        pairs = {"from": asked.first.isoformat(), "weeks": asked.weeks, "category": asked.category, "zone": asked.zone}
        pairs["draft"] = asked.draft.pk if asked.draft else ""
        return "?" + urlencode({name: value for name, value in pairs.items() if value != ""})


@require_safe
@screen(LOOK)
def calendar(request: HttpRequest) -> HttpResponse:
    zone = timezone.get_current_timezone()
    now = timezone.now()
    today = now.astimezone(zone).date()
    asked = _asked(request, today)
    days = Days(asked.first, asked.weeks * 7, zone)
    spans, count = _spans(asked, days, now)
    week_sizes = weeks_of(days)
    counts = running(spans, days)
    step = timedelta(weeks=max(asked.weeks // 2, 1))
    return show(
        request,
        "calendar.html",
        str(_("Calendar")),
        asked=asked,
        groups=lay_out(spans, days, today),
        spans=sorted(spans, key=lambda span: (span.starts_at, span.code)),
        count=count,
        left_out=count - len(spans),
        clashes=clashes_of(spans),
        days=days,
        day_range=range(days.count),
        months=months_of(days),
        weeks=[(first, size, first <= today < first + timedelta(days=7)) for first, size in week_sizes],
        weeks_shown=asked.weeks,
        loads=_loads(counts, week_sizes, asked.weeks),
        busiest=max(counts, default=0),
        busiest_day=days.first + timedelta(days=counts.index(max(counts))) if any(counts) else None,
        week_choices=WEEKS,
        categories=list(
            Task.objects.filter(archived=False).exclude(category="").order_by("category").values_list("category", flat=True).distinct()
        ),
        zones=list(Task.objects.filter(archived=False).order_by("time_zone").values_list("time_zone", flat=True).distinct()),
        users_zone=USER_ZONE,
        drafts=[(draft, editor_of(draft)) for draft in Draft.objects.filter(state__in=OPEN_STATES).select_related("editor")[:MOST_DRAFTS]],
        editor=editor_of(asked.draft) if asked.draft else "",
        earlier=asked.address(first=max(asked.first - step, FIRST_DAY)),
        later=asked.address(first=min(asked.first + step, LAST_DAY)),
        present=asked.address(first=_week_before(today)),
        without_filter=asked.address(category="", zone=""),
        time_zone=timezone.get_current_timezone_name(),
    )


def _week_before(today: date) -> date:
    return today - timedelta(days=today.weekday() + 7)


def _asked(request: HttpRequest, today: date) -> Asked:
    given = request.GET
    try:
        first = min(max(date.fromisoformat(given.get("from", "")), FIRST_DAY), LAST_DAY)
    except ValueError:
        first = _week_before(today)
    weeks = given.get("weeks", "")
    draft = given.get("draft", "")
    return Asked(
        first=first,
        weeks=int(weeks) if weeks in {str(each) for each in WEEKS} else 8,
        category=given.get("category", ""),
        zone=given.get("zone", ""),
        draft=Draft.objects.filter(pk=draft, state__in=OPEN_STATES).first() if draft.isdecimal() and len(draft) < 10 else None,
    )


def _spans(asked: Asked, days: Days, now: datetime) -> tuple[list[Span], int]:
    """Those that run on the days shown, at most MOST_SPANS, and how many there are."""
    begin = datetime.combine(days.first, time.min, days.zone)
    end = datetime.combine(days.last + timedelta(days=1), time.min, days.zone)
    changed = _changed_tasks(asked.draft)
    fresh = [span for span in _draft_spans(changed, now) if _is_asked_for(span, asked, begin, end)]
    live = Task.objects.filter(archived=False, starts_at__lt=end).filter(Q(ends_at__isnull=True) | Q(ends_at__gt=begin))
    if asked.category:
        live = live.filter(category=asked.category)
    if asked.zone:
        live = live.filter(time_zone=asked.zone)
    codes = [code for code in live.order_by("starts_at", "code").values_list("code", flat=True) if code not in changed]
    shown = Task.objects.filter(code__in=codes[: max(MOST_SPANS - len(fresh), 0)])
    columns = ("code", "name", "category", "time_zone", "starts_at", "ends_at", "switched_off", "document__exclusive_group")
    spans = [
        Span(code, name or code, category, task_zone, starts_at, ends_at, state_at(now, starts_at, ends_at, off), group or "")
        for code, name, category, task_zone, starts_at, ends_at, off, group in shown.values_list(*columns)
    ]
    found = [*fresh, *spans][:MOST_SPANS]
    named = [replace(span, state_word=str(STATE_WORDS[span.state]), address=address_of(TASK, span.code)) for span in found]
    return named, len(codes) + len(fresh)


def _changed_tasks(draft: Draft | None) -> dict[str, tuple[dict[str, Any] | None, bool]]:
    """By code: the task's document, and whether it is new."""
    if draft is None:
        return {}
    items = draft.items.filter(kind=TASK).annotate(is_new=Q(base__isnull=True))
    return {key: (document, is_new) for key, document, is_new in items.values_list("key", "document", "is_new")}


def _draft_spans(changed: dict[str, tuple[dict[str, Any] | None, bool]], now: datetime) -> Iterable[Span]:
    for document, is_new in changed.values():
        if document is None or document.get("archived"):
            continue
        task = from_plain(TASK, document)
        assert isinstance(task, TaskDocument)
        yield Span(
            code=task.code,
            name=name_of(task),
            category=task.category,
            zone=task.period.zone,
            starts_at=task.starts_at,
            ends_at=task.ends_at,
            state=state_at(now, task.starts_at, task.ends_at, task.switched_off),
            exclusive_group=task.exclusive_group,
            change="new" if is_new else "changed",
        )


def _is_asked_for(span: Span, asked: Asked, begin: datetime, end: datetime) -> bool:
    in_time = span.starts_at < end and (span.ends_at is None or span.ends_at > begin)
    return in_time and asked.category in ("", span.category) and asked.zone in ("", span.zone)


def name_of(task: TaskDocument) -> str:
    """In the reader's language, else in any."""
    texts = task.texts
    language = get_language() or ""
    text = texts.get(language) or next((texts[each] for each in texts if each.split("-")[0] == language.split("-")[0]), None)
    text = text or next(iter(texts.values()), None)
    return text.name if text and text.name else task.code


def state_at(now: datetime, starts_at: datetime, ends_at: datetime | None, off: bool) -> str:
    if ends_at is not None and ends_at <= now:
        return ENDED
    if off:
        return OFF
    return LIVE if starts_at <= now else UPCOMING


def _loads(counts: list[int], weeks: list[tuple[date, int]], shown_weeks: int) -> list[dict[str, Any]]:
    """How many run together: each day by itself where days are wide enough, else each week's most."""
    busiest = max(counts, default=0) or 1
    sizes = [1] * len(counts) if shown_weeks <= WEEKS[0] else [size for _first, size in weeks]
    loads, column = [], 0
    for size in sizes:
        most = max(counts[column : column + size])
        loads.append({"count": most, "days": size, "level": 0 if not most else 1 + (3 * (most - 1)) // busiest})
        column += size
    return loads


urlpatterns = [path("calendar/", calendar, name="tasks-calendar")]
