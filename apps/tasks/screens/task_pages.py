"""A task's page: its form, what it means, what is wrong with it. Saving puts it into the operator's draft.

The same POST serves a browser without scripts and htmx: buttons that change rows answer with the whole page, of which htmx takes the
part; `look` answers with the meaning alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import msgspec
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from apps.tasks.config.change_words import say_difference
from apps.tasks.config.differences import differences_of
from apps.tasks.config.documents import TASK, Period, Task
from apps.tasks.config.meaning import say_task
from apps.tasks.config.words import say_fault
from apps.tasks.models import Task as LiveTask
from apps.tasks.people.access import require
from apps.tasks.publishing import drafts
from apps.tasks.publishing.errors import NotOpen, Stale
from apps.tasks.screens.form_marks import SEEN, edition_to_save, marks, posted_number
from apps.tasks.screens.frame import EDIT, LOOK, screen, show
from apps.tasks.screens.gallery_tasks import TEMPLATES
from apps.tasks.screens.previews import previews_of
from apps.tasks.screens.row_sets import Posted
from apps.tasks.screens.task_conversion import fields_of
from apps.tasks.screens.task_editor import TaskEditor, changed_by_button
from apps.tasks.screens.task_form import TaskForm
from apps.tasks.screens.workplace import Workplace

CODES_SUGGESTED = 20


def fresh_task() -> Task:
    """What a new task begins with: from the next full hour on, days as the operator counts them."""
    next_hour = timezone.now().replace(minute=0, second=0, microsecond=0) + timedelta(hours=1)
    return Task(code="", starts_at=next_hour, period=Period(zone=timezone.get_current_timezone_name()))


@screen(EDIT)
@require_http_methods(["GET", "HEAD", "POST"])
def new_task(request: HttpRequest) -> HttpResponse:
    """A new one, with ?from=CODE a clone (everything but the code), or with ?template=NAME one of the gallery."""
    work = Workplace(request)
    origin, template = request.GET.get("from", ""), request.GET.get("template", "")
    task = fresh_task()
    if template in TEMPLATES:
        task = TEMPLATES[template].fill(task)
    if origin:
        if origin not in work.configuration.tasks:
            raise Http404(origin)
        task = msgspec.structs.replace(work.configuration.tasks[origin], code="", switched_off=False, archived=False)
    return _answer(request, work, task, is_new=True, title=_("Clone of %(code)s") % {"code": origin} if origin else _("New task"))


@screen(LOOK)
@require_http_methods(["GET", "HEAD", "POST"])
def one_task(request: HttpRequest, code: str) -> HttpResponse:
    work = Workplace(request)
    task = work.configuration.tasks.get(code)
    if task is None:
        if code not in work.live.tasks:
            raise Http404(code)
        task = work.live.tasks[code]
    if request.method == "POST":
        require(request, EDIT)
    return _answer(request, work, task, is_new=False, title=name_of(task))


def _answer(request: HttpRequest, work: Workplace, task: Task, is_new: bool, title: str) -> HttpResponse:
    if request.method != "POST":
        return _page(request, work, TaskEditor(task, work.configuration, is_new=is_new), title)
    posted: Posted = {name: [str(each) for each in values] for name, values in request.POST.lists()}
    taken = (*work.configuration.tasks, *work.live.tasks)
    changed = changed_by_button(posted)
    if changed is not None:
        return _page(request, work, TaskEditor(task, work.configuration, changed, is_new, judged=False, taken=taken), title)
    editor = TaskEditor(task, work.configuration, posted, is_new, taken=taken)
    if "look" in posted:
        return render(request, "admin/tasks/task_meaning.html", _meaning(editor, work))
    if not editor.is_valid():
        return _page(request, work, editor, title, wrong=True)
    return _save(request, work, editor, title)


def _save(request: HttpRequest, work: Workplace, editor: TaskEditor, title: str) -> HttpResponse:
    task = editor.edited()
    draft = work.draft_to_change()
    edition = edition_to_save(request, draft, TASK, editor.task.code)
    try:
        drafts.save_document(draft, edition, TASK, task, request.user, seen=posted_number(request, SEEN, work.live_number))
    except (Stale, NotOpen) as refusal:
        draft.refresh_from_db()
        if isinstance(refusal, NotOpen):
            lines = [_("This draft was published or discarded meanwhile. Save again to put your change into a new draft.")]
        else:
            lines = [_("This task was changed in the draft after you opened it here. What you see is yours; save again to keep it.")]
            lines += [say_difference(each) for each in differences_of(TASK, editor.task, task)]
        return _page(request, Workplace(request), editor, title, stale=lines)
    messages.success(request, _("Saved in your draft. Users do not see it before it is published."))
    return redirect("tasks-task", task.code)


def _page(
    request: HttpRequest, work: Workplace, editor: TaskEditor, title: str, wrong: bool = False, stale: Sequence[str] = ()
) -> HttpResponse:
    draft = work.draft
    code = editor.task.code
    is_drafted = (TASK, code) in work.changed_keys
    own = (
        [fault for fault in drafts.faults_of(work.configuration, work.live) if (fault.kind, fault.key) == (TASK, code)]
        if draft and is_drafted
        else []
    )
    placed = [(fault.place[2:], say_fault(fault)) for fault in own]
    return show(
        request,
        "task_form.html",
        title,
        banner=work.banner(),
        draft=draft,
        editor=editor,
        action=request.get_full_path(),
        may_edit=work.may_edit,
        why_not=_("You may look but not edit. Editors may."),
        **marks(request, work, TASK, editor.task.code, was_told=bool(stale)),
        zone=timezone.get_current_timezone_name(),
        is_drafted=is_drafted,
        own_faults=[text for _place, text in placed],
        fault_count=len(placed),
        placed=placed,
        wrong=wrong,
        stale=stale,
        has_lists=bool(work.configuration.lists),
        open_parts=open_parts(editor, placed),
        live_task=None if editor.is_new else work.live.tasks.get(code),
        **_meaning(editor, work),
    )


FOLDED = {
    "needs": ("prerequisites", "sequence", "position", "exclusive_group"),
    "caps": ("caps_per_user", "caps_per_period", "caps_total", "caps_points_budget"),
    "release": ("release_percentage_bp", "release_salt", "release_allow", "release_deny"),
    "order": ("category", "weight", "tags", "icon", "switched_off", "archived"),
}
"""Parts of the form that are folded away while everything in them is as in a plain task."""


def open_parts(editor: TaskEditor, placed: Sequence[tuple[tuple[str, ...], str]]) -> set[str]:
    plain = TaskForm(initial=fields_of(Task(code="", starts_at=editor.task.starts_at)))
    wrong = {name for place, _text in placed for name in (place[0] if place else "", "_".join(place))}
    wrong |= set(editor.form.errors) if editor.form.is_bound and editor.judged else set()

    def is_touched(name: str) -> bool:
        if name == "prerequisites":
            return bool(editor.prerequisites.forms)
        return name in wrong or str(editor.form[name].value() or "") != str(plain[name].value() or "")

    return {part for part, names in FOLDED.items() if any(is_touched(name) for name in names)}


def _meaning(editor: TaskEditor, work: Workplace) -> dict[str, Any]:
    """What the task means as it stands in the form, typed or shown."""
    task = editor.task
    if editor.form.is_bound:
        if not editor.is_valid():
            return {"meaning": [], "unclear": _("It is not complete yet."), "previews": []}
        task = editor.edited()
    elif editor.is_new and not task.texts:
        return {"meaning": [], "previews": []}
    return {"meaning": say_task(task, work.configuration), "previews": previews_of(task)}


@screen(LOOK)
@require_safe
def task_codes(request: HttpRequest) -> HttpResponse:
    """Codes to choose a prerequisite from, for what is typed: options of a datalist."""
    typed = next((value for name, value in request.GET.items() if name.startswith("prerequisites-") and name.endswith("-task")), "")
    found = (
        LiveTask.objects.filter(archived=False, code__icontains=typed[:64]).order_by("code").values_list("code", "name")[:CODES_SUGGESTED]
    )
    return render(request, "admin/tasks/task_codes.html", {"codes": found})


def name_of(task: Task) -> str:
    """In the first language that it has, as the pages' languages go; else its code."""
    return next((text.name for text in task.texts.values() if text.name), task.code)


urlpatterns = [
    path("new-task/", new_task, name="tasks-task-new"),
    path("task-codes/", task_codes, name="tasks-task-codes"),
    path("task/<slug:code>/", one_task, name="tasks-task"),
]
