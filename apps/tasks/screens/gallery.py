"""The gallery of tasks to begin with: what each would mean, and the way to its form, filled in."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.urls import path, reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from apps.tasks.config.documents import Configuration
from apps.tasks.config.meaning import say_task
from apps.tasks.screens.frame import EDIT, screen, show
from apps.tasks.screens.gallery_tasks import TEMPLATES
from apps.tasks.screens.task_pages import fresh_task
from apps.tasks.screens.workplace import Workplace


@require_safe
@screen(EDIT)
def gallery(request: HttpRequest) -> HttpResponse:
    cards = [
        {
            "title": template.title,
            "meaning": say_task(template.fill(fresh_task()), Configuration()),
            "address": f"{reverse('tasks-task-new')}?template={name}",
        }
        for name, template in TEMPLATES.items()
    ]
    return show(request, "gallery.html", _("Begin with a template"), banner=Workplace(request).banner(), cards=cards)


urlpatterns = [path("templates/", gallery, name="tasks-templates")]
