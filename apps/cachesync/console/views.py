"""The page Cache: every node with its figures; add, drain, use again and remove, each with a confirmation.

Who may see the console sees the page; a change needs the permission for it. A change is written to the log with who made it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import get_language, gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from apps.cachesync import registry, summary
from apps.cachesync.console.present import present
from apps.cachesync.models import CacheNode
from apps.cachesync.task_interface import NOWHERE
from apps.dbsvr.console import live
from apps.dbsvr.console.access import operators_page
from workers.protocol import NODE_NAME

log = logging.getLogger(__name__)

VIOLATIONS = 20


class NewNode(forms.Form):
    name = forms.CharField(label=_("Name"), max_length=31, help_text=_("Small letters, digits and hyphens. It is for good."))
    url = forms.CharField(label=_("Address"), max_length=255, help_text="redis://host:6379/0")

    def clean_name(self) -> str:
        name = str(self.cleaned_data["name"])
        if not NODE_NAME.match(name) or name == NOWHERE:
            raise forms.ValidationError(gettext("A node cannot be named so."))
        return name

    def clean_url(self) -> str:
        url = str(self.cleaned_data["url"])
        if not url.startswith(("redis://", "rediss://")):
            raise forms.ValidationError(gettext("An address begins with redis:// or rediss://."))
        return url


class Change(NamedTuple):
    act: Callable[[str], None]
    permission: str
    question: Any
    consequence: Any
    button: Any


CHANGES = {
    "drain": Change(
        registry.drain,
        "cachesync.change_cachenode",
        _("Drain cache node %(name)s?"),
        _("Its users move to the other nodes within seconds and are read from the databases once. Nobody sees old data."),
        _("Drain"),
    ),
    "use": Change(
        registry.use_again,
        "cachesync.change_cachenode",
        _("Use cache node %(name)s again?"),
        _("It is emptied first, and its share of the users comes back to it."),
        _("Use again"),
    ),
    "remove": Change(
        registry.remove,
        "cachesync.delete_cachenode",
        _("Remove cache node %(name)s?"),
        _("It is purged no more. Stop its Redis afterwards. A node of that name can be added again and is emptied then."),
        _("Remove"),
    ),
}


def _page(request: HttpRequest, template: str, context: dict[str, Any], status: int = 200) -> HttpResponse:
    now = time.time()
    found = live.look(now)
    shown = live.render(found, live.instance_named(None))
    return render(request, template, {"now": shown, "age_s": round(found.age_s, 1), **context}, status=status)


@never_cache
@require_safe
@operators_page
def nodes(request: HttpRequest) -> HttpResponse:
    return _nodes(request, NewNode())


def _nodes(request: HttpRequest, form: NewNode, status: int = 200) -> HttpResponse:
    now = time.time()
    rows = present(summary.details(now), now, timezone.get_current_timezone(), get_language() or "en")
    may = {
        "add": request.user.has_perm("cachesync.add_cachenode"),
        "change": request.user.has_perm("cachesync.change_cachenode"),
        "remove": request.user.has_perm("cachesync.delete_cachenode"),
    }
    context = {"nodes": rows, "may": may, "form": form, "violations": summary.newest_violations(VIOLATIONS)}
    return _page(request, "console/cache.html", {**context, "minutes": summary.COUNTED_MINUTES}, status)


@require_POST
@operators_page
def add(request: HttpRequest) -> HttpResponse:
    if not request.user.has_perm("cachesync.add_cachenode"):
        raise PermissionDenied
    form = NewNode(request.POST)
    if form.is_valid():
        try:
            registry.add(form.cleaned_data["name"], form.cleaned_data["url"])
        except registry.NotNow:
            form.add_error(None, gettext("There is a node of that name or address already."))
        else:
            _note(request, "add", form.cleaned_data["name"])
            messages.success(request, gettext("The node joins: it is emptied, and used in some seconds."))
            return HttpResponseRedirect(reverse("cache:nodes"))
    return _nodes(request, form, status=400)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@operators_page
def change(request: HttpRequest, name: str, change: str) -> HttpResponse:
    """Asks first; a POST does it."""
    wanted = CHANGES.get(change)
    if wanted is None or not CacheNode.objects.filter(name=name).exists():
        raise Http404
    if not request.user.has_perm(wanted.permission):
        raise PermissionDenied
    if request.method == "POST":
        try:
            wanted.act(name)
        except registry.NotNow:
            messages.error(request, gettext("That cannot be done now: the node has changed, or was drained only seconds ago."))
        else:
            _note(request, change, name)
        return HttpResponseRedirect(reverse("cache:nodes"))
    context = {"question": wanted.question % {"name": name}, "consequence": wanted.consequence, "button": wanted.button}
    return _page(request, "console/confirm.html", context)


def _note(request: HttpRequest, what: str, name: str) -> None:
    log.warning("cache node changed by an operator", extra={"what": what, "node": name, "operator": request.user.get_username()})
