"""Who may what, asked in one place; and the sentence for who may not.

A view asks `require(request, PUBLISH_DRAFT)`. The refusal says what was wanted and which roles have it, as the groups stand now: an
administrator may have changed them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

from django.contrib import admin
from django.contrib.auth.models import Group
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import ResolverMatch
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.tasks.people import roles

View = Callable[..., HttpResponse]

WORDS = {
    roles.VIEW_TASK: gettext_lazy("see tasks"),
    roles.VIEW_DRAFT: gettext_lazy("see drafts"),
    roles.VIEW_REVISION: gettext_lazy("see revisions"),
    roles.VIEW_AUDIT: gettext_lazy("see the audit log"),
    roles.ADD_DRAFT: gettext_lazy("begin a draft"),
    roles.CHANGE_DRAFT: gettext_lazy("edit drafts"),
    roles.DELETE_DRAFT: gettext_lazy("discard drafts"),
    roles.REVIEW_DRAFT: gettext_lazy("review drafts"),
    roles.PUBLISH_DRAFT: gettext_lazy("publish drafts or roll back"),
    roles.KILL_TASK: gettext_lazy("switch a task off at once"),
    roles.EXPLAIN_USER: gettext_lazy("explain a user"),
    roles.VIEW_POINTS: gettext_lazy("see the delivery of points"),
    roles.CHANGE_POINTS: gettext_lazy("pause the delivery of points, or send grants again"),
    roles.REPAIR_REPLICA: gettext_lazy("compare, repair or hold replicas"),
}


class NotAllowed(PermissionDenied):
    """The operator lacks a permission; `needed` names those of which one would do."""

    def __init__(self, *needed: str) -> None:
        super().__init__(f"needs {' or '.join(needed)}")
        self.needed = needed


def require(request: HttpRequest, *needed: str) -> None:
    """NotAllowed unless the operator has one of these permissions."""
    user = request.user
    if not any(user.has_perm(permission) for permission in needed):  # type: ignore[union-attr]
        raise NotAllowed(*needed)


def needs(*needed: str) -> Callable[[View], View]:
    """The same as a decorator, for views that admin_view has already asked for a login."""

    def guard(view: View) -> View:
        @wraps(view)
        def guarded(request: HttpRequest, *args: Any, **named: Any) -> HttpResponse:
            require(request, *needed)
            return view(request, *args, **named)

        return guarded

    return guard


def forbidden_page(request: HttpRequest, exception: BaseException | None = None) -> HttpResponse:
    """handler403: in the admin's dress for operators, plain for others."""
    needed = getattr(exception, "needed", ()) or needed_for(request.resolver_match)
    context: dict[str, Any] = {"refusal": say_refusal(needed), "who_may": say_who_may(needed)}
    if not admin.site.has_permission(request):
        return render(request, "403.html", context, status=403)
    context |= {**admin.site.each_context(request), "title": _("Not allowed")}
    return render(request, "admin/403.html", context, status=403)


def say_refusal(needed: Iterable[str]) -> str:
    what = next((WORDS[permission] for permission in needed if permission in WORDS), None)
    return _("You may not %(what)s.") % {"what": what} if what is not None else _("You may not do this.")


def say_who_may(needed: Iterable[str]) -> str:
    names = groups_with(needed)
    if not names:
        return _("An administrator may.")
    return _("Who may: the roles %(roles)s, and administrators. An administrator can give you one of them.") % {"roles": ", ".join(names)}


def groups_with(needed: Iterable[str]) -> list[str]:
    """The names of the groups that have one of these permissions, as they stand now."""
    names: set[str] = set()
    for permission in needed:
        app, _dot, codename = permission.partition(".")
        found = Group.objects.filter(permissions__codename=codename, permissions__content_type__app_label=app)
        names.update(found.values_list("name", flat=True))
    order = list(roles.ROLES)
    return sorted(names, key=lambda name: (order.index(name) if name in order else len(order), name))


def needed_for(match: ResolverMatch | None) -> tuple[str, ...]:
    """What the admin's own pages ask for, from their names: app_model_changelist, _add, _change, _delete, _history."""
    parts = ((match.url_name or "") if match else "").split("_")
    if match is None or match.app_name != "admin" or len(parts) < 3:
        return ()
    app, model, page = parts[0], "_".join(parts[1:-1]), parts[-1]
    verbs = {
        "changelist": ("view", "change"),
        "history": ("view", "change"),
        "add": ("add",),
        "change": ("view", "change"),
        "delete": ("delete",),
    }
    return tuple(f"{app}.{verb}_{model}" for verb in verbs.get(page, ()))
