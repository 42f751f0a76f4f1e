"""The list of published tasks: state, traffic, completion, warnings, and which of them the operator's draft changes.

One page is one query for its rows and one for their figures, whatever the number of tasks. Tasks that are only in the draft stand
above the list: they have no row yet.
"""

from __future__ import annotations

from typing import Any

import msgspec
from django.contrib import admin, messages
from django.contrib.admin.views.main import ChangeList
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext
from unfold.admin import ModelAdmin
from unfold.decorators import action, display

from apps.tasks.config.documents import TASK
from apps.tasks.models import Task
from apps.tasks.moments import say_moment, zone_name
from apps.tasks.people.roles import CHANGE_DRAFT
from apps.tasks.publishing import drafts
from apps.tasks.publishing.errors import Refusal
from apps.tasks.publishing.words import say_refusal
from apps.tasks.screens.task_figures import figures_of, nearly_used_up, quiet_tasks
from apps.tasks.screens.task_warnings import (
    CAP_NEAR,
    CAP_REACHED,
    ENDS_SOON,
    NO_TRAFFIC,
    SOON,
    STARTS_SOON,
    Figures,
    warnings_of,
)
from apps.tasks.screens.workplace import Workplace
from apps.tasks.task_state import TaskState, state_of, tasks_in

TASKS_A_PAGE = 50
MOST_NEW = 20

WARNING_WORDS = {
    CAP_REACHED: _("cap reached"),
    CAP_NEAR: _("a cap used to 80 %"),
    NO_TRAFFIC: _("no traffic for 7 days"),
    ENDS_SOON: _("ends within 7 days"),
    STARTS_SOON: _("starts within 7 days"),
}


class StateFilter(admin.SimpleListFilter):
    """Archived tasks stand in no list, unless they are asked for."""

    title = _("state")
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return list(TaskState.choices)

    def queryset(self, request: HttpRequest, queryset: QuerySet[Task]) -> QuerySet[Task]:
        if self.value() in TaskState.values:
            return queryset.filter(tasks_in(TaskState(self.value()), timezone.now()))
        return queryset.filter(archived=False)


class WarningFilter(admin.SimpleListFilter):
    title = _("warning")
    parameter_name = "warning"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [(code, WARNING_WORDS[code]) for code in (STARTS_SOON, ENDS_SOON, NO_TRAFFIC, CAP_NEAR)]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Task]) -> QuerySet[Task]:
        now = timezone.now()
        match self.value():
            case "starts_soon":
                return queryset.filter(tasks_in(TaskState.UPCOMING, now), starts_at__lte=now + SOON)
            case "ends_soon":
                return queryset.filter(tasks_in(TaskState.LIVE, now), ends_at__lte=now + SOON)
            case "no_traffic":
                return queryset.filter(quiet_tasks(now))
            case "cap_near":
                return queryset.filter(nearly_used_up(now))
        return queryset


class CategoryFilter(admin.SimpleListFilter):
    title = _("category")
    parameter_name = "category"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        names = Task.objects.exclude(category="").order_by("category").values_list("category", flat=True).distinct()
        return [(name, name) for name in names[:50]]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Task]) -> QuerySet[Task]:
        return queryset.filter(category=self.value()) if self.value() else queryset


class TaskChangeList(ChangeList):
    """The page's rows know the figures of their tasks, and what the draft does to them."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        self.result_list = list(self.result_list)
        figures = figures_of([task.pk for task in self.result_list])
        changed = {key for kind, key in Workplace(request).changed_keys if kind == TASK}
        for task in self.result_list:
            task.figures = None if figures is None else figures.get(task.pk, Figures(0, 0, 0))
            task.is_in_draft = task.code in changed

    def url_for_result(self, result: Task) -> str:
        return reverse("tasks-task", args=[result.code])


class TaskAdmin(ModelAdmin):  # type: ignore[misc]
    """To look at, search and filter: tasks are changed in drafts, on pages of their own."""

    list_display = ("shown_name", "shown_state", "shown_warnings", "shown_window", "shown_traffic", "points")
    list_filter = (StateFilter, WarningFilter, CategoryFilter, "period")
    list_per_page = TASKS_A_PAGE
    list_max_show_all = TASKS_A_PAGE
    show_full_result_count = False
    search_fields = ("code", "name", "texts__name", "category")
    search_help_text = _("Search by code, name in any language, or category")
    list_before_template = "admin/tasks/list_head.html"
    actions = ("archive_in_draft", "switch_off_in_draft")

    class Media:
        css = {"all": ("tasks/pages.css", "tasks/editing.css")}

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return TaskChangeList

    def get_queryset(self, request: HttpRequest) -> QuerySet[Task]:
        queryset: QuerySet[Task] = super().get_queryset(request).defer("document")
        return queryset

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        work = Workplace(request)
        own = {
            "banner": work.banner(),
            "new_tasks": self._only_in_draft(work),
            "may_edit": request.user.has_perm(CHANGE_DRAFT),
            "zone": zone_name(),
            "title": _("Tasks"),
        }
        answer: HttpResponse = super().changelist_view(request, {**own, **(extra_context or {})})
        return answer

    def _only_in_draft(self, work: Workplace) -> list[dict[str, Any]]:
        if work.draft is None:
            return []
        items = work.draft.items.filter(kind=TASK, base__isnull=True).order_by("key")[:MOST_NEW]
        return [{"code": item.key, "name": _name_in(item.document)} for item in items if item.document]

    @display(description=_("task"), ordering="name", header=True)
    def shown_name(self, task: Task) -> list[str]:
        return [task.name or task.code, task.code]

    @display(
        description=_("state"),
        label={
            TaskState.LIVE: "success",
            TaskState.UPCOMING: "info",
            TaskState.ENDED: "default",
            TaskState.OFF: "warning",
            TaskState.ARCHIVED: "default",
        },
    )
    def shown_state(self, task: Task) -> tuple[str, Any]:
        state = state_of(task, timezone.now())
        return state, state.label

    @display(description=_("to notice"))
    def shown_warnings(self, task: Any) -> SafeString | str:
        words = [(code, WARNING_WORDS[code]) for code in warnings_of(task, task.figures, timezone.now())]
        marks = [("draft", _("changed in the draft"))] if task.is_in_draft else []
        return format_html_join("", '<span class="tk-mark tk-{}">{}</span>', [*marks, *words]) or "–"

    @display(description=_("window"), ordering="starts_at")
    def shown_window(self, task: Task) -> SafeString:
        starts, period = say_moment(task.starts_at, with_zone=False), task.get_period_display()  # type: ignore[attr-defined]
        if task.ends_at is None:
            window = _("from %(start)s, no end") % {"start": starts}
        else:
            window = _("%(start)s to %(end)s") % {"start": starts, "end": say_moment(task.ends_at, with_zone=False)}
        return format_html('<span class="tk-window">{}</span><br><span class="tk-period">{}</span>', window, period)

    @display(description=_("7 days"))
    def shown_traffic(self, task: Any) -> SafeString | str:
        figures: Figures | None = task.figures
        if figures is None:
            return format_html('<abbr title="{}">?</abbr>', _("It is not known: no DBSvr has counted yet."))
        started = _("%(count)s started") % {"count": f"{figures.started:,}"}
        if not figures.started:
            return format_html("{}<br>{}", started, _("%(count)s completed") % {"count": f"{figures.completed:,}"})
        share = {"count": f"{figures.completed:,}", "percent": f"{100 * figures.completed / figures.started:.0f}"}
        return format_html("{}<br>{}", started, _("%(count)s completed (%(percent)s %%)") % share)

    @action(description=_("Archive in my draft"), permissions=["edit_draft"])
    def archive_in_draft(self, request: HttpRequest, queryset: QuerySet[Task]) -> None:
        self._change_in_draft(request, queryset, archived=True)

    @action(description=_("Switch off in my draft"), permissions=["edit_draft"])
    def switch_off_in_draft(self, request: HttpRequest, queryset: QuerySet[Task]) -> None:
        self._change_in_draft(request, queryset, switched_off=True)

    def _change_in_draft(self, request: HttpRequest, queryset: QuerySet[Task], **fields: Any) -> None:
        """All of them or none; the audit log has a row for each."""
        work = Workplace(request)
        tasks = {
            code: work.configuration.tasks[code] for code in queryset.values_list("code", flat=True) if code in work.configuration.tasks
        }
        changes = {(TASK, code): msgspec.structs.replace(task, **fields) for code, task in tasks.items()}
        draft = work.draft_to_change()
        try:
            drafts.save_documents(draft, draft.edition, changes, request.user, seen=work.live_number)
        except Refusal as refusal:
            messages.error(request, say_refusal(refusal))
            return
        said = ngettext(
            "%(count)d task is changed in your draft. Users do not see it before it is published.",
            "%(count)d tasks are changed in your draft. Users do not see it before it is published.",
            len(changes),
        )
        messages.success(request, said % {"count": len(changes)})

    def has_edit_draft_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.has_perm(CHANGE_DRAFT))

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Task | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Task | None = None) -> bool:
        return False


def _name_in(document: dict[str, Any]) -> str:
    texts = document.get("texts") or {}
    return next((text.get("name", "") for text in texts.values() if text.get("name")), document.get("code", ""))
