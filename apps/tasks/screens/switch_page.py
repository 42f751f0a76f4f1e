"""The kill switch: a live task off, or on again, at once and without a review. It asks for a reason and says what happens."""

from __future__ import annotations

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import path
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from apps.tasks.config.words import say_fault
from apps.tasks.people.roles import KILL_TASK
from apps.tasks.publishing import publish
from apps.tasks.publishing.errors import Invalid, Refusal
from apps.tasks.publishing.words import say_refusal
from apps.tasks.screens import widgets
from apps.tasks.screens.frame import screen, show
from apps.tasks.screens.task_pages import name_of
from apps.tasks.screens.workplace import Workplace


class ReasonForm(forms.Form):
    reason = forms.CharField(
        label=gettext_lazy("Why"),
        max_length=1000,
        widget=widgets.LongText(),
        help_text=gettext_lazy("It stands in the history of revisions."),
        error_messages={"required": gettext_lazy("Say why: the reason stands in the history.")},
    )


@screen(KILL_TASK)
@require_http_methods(["GET", "HEAD", "POST"])
def switch_task(request: HttpRequest, code: str) -> HttpResponse:
    work = Workplace(request)
    task = work.live.tasks.get(code)
    if task is None:
        raise Http404(code)
    off = not task.switched_off
    form = ReasonForm(request.POST or None, use_required_attribute=False)
    faults: list[str] = []
    if request.method == "POST" and form.is_valid():
        # The page said what it was going to do: a task that somebody else has switched meanwhile is not switched back.
        off = request.POST.get("to") == "off"
        try:
            revision = publish.switch(code, off, request.user, form.cleaned_data["reason"])
        except Invalid as refusal:
            messages.error(request, say_refusal(refusal))
            faults = [say_fault(fault) for fault in refusal.faults]
        except Refusal as refusal:
            messages.error(request, say_refusal(refusal))
        else:
            said = (
                _("“%(code)s” is switched off, as revision %(number)d.") if off else _("“%(code)s” is switched on, as revision %(number)d.")
            )
            messages.success(request, said % {"code": code, "number": revision.number})
            return redirect("tasks-task", code)
    title = _("Switch off %(name)s") if off else _("Switch on %(name)s")
    return show(request, "switch.html", title % {"name": name_of(task)}, banner=work.banner(), task=task, off=off, form=form, faults=faults)


urlpatterns = [path("task/<slug:code>/switch/", switch_task, name="tasks-task-switch")]
