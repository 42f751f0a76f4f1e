"""What the operators' screens beside the admin's own have in common: who may see one, and the admin's dress around it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from django.contrib import admin
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache

from apps.tasks.people.access import NotAllowed

View = Callable[..., HttpResponseBase]

LOOK = "tasks.view_task"
EDIT = "tasks.change_draft"
EXPLAIN = "tasks.explain_user"
AUDIT = "tasks.view_auditentry"


def show(request: HttpRequest, template: str, title: str, status: int = 200, **context: Any) -> HttpResponse:
    """The page in the admin's dress."""
    return render(request, f"admin/tasks/{template}", {**admin.site.each_context(request), "title": title, **context}, status=status)


def screen(permission: str) -> Callable[[View], View]:
    """Staff alone, and with this permission: who is not logged in is led there, who may not is told so."""

    def guard(view: View) -> View:
        @never_cache
        @functools.wraps(view)
        def answer(request: HttpRequest, *args: object, **named: object) -> HttpResponseBase:
            if not admin.site.has_permission(request):
                return redirect_to_login(request.get_full_path(), reverse("admin:login"))
            if not request.user.has_perm(permission):
                raise NotAllowed(permission)
            return view(request, *args, **named)

        return answer

    return guard
