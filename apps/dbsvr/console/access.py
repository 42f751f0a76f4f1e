"""Who may see the console: operators, that is staff. A page leads to the login; a poll is told 401 and stays where it is.

Accounts and sessions live on the master. While it is away nobody can be looked up, and just then an operator must see the light. So
each page leaves a signed mark beside the session's cookie; during an outage, and only then, it lets this browser see the light.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable

from django.conf import settings
from django.contrib.auth.decorators import user_passes_test
from django.core import signing
from django.db import DatabaseError, connections
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render

from apps.dbsvr.console.outage import outage

View = Callable[..., HttpResponse]

MARK = "tasksys_watcher"
MARK_LASTS_S = 12 * 3600
SALT = "apps.dbsvr.console.watcher"


def _is_operator(user: object) -> bool:
    return bool(getattr(user, "is_active", False) and getattr(user, "is_staff", False))


def _session_digest(request: HttpRequest) -> str:
    return hashlib.sha256(request.COOKIES.get(settings.SESSION_COOKIE_NAME, "").encode()).hexdigest()


def leave_mark(request: HttpRequest, answer: HttpResponse) -> None:
    """Bound to the session: who logs out, or in as somebody else, has none."""
    mark = signing.dumps(_session_digest(request), salt=SALT)
    answer.set_cookie(
        MARK, mark, max_age=MARK_LASTS_S, path="/console/", httponly=True, samesite="Strict", secure=settings.SESSION_COOKIE_SECURE
    )


def has_mark(request: HttpRequest) -> bool:
    try:
        found = signing.loads(request.COOKIES.get(MARK, ""), salt=SALT, max_age=MARK_LASTS_S)
    except signing.BadSignature:
        return False
    return found == _session_digest(request)


def _tried(view: View, request: HttpRequest, *args: object, **named: object) -> HttpResponse | None:
    """The view's answer, or None when the database does not let it give one."""
    if not outage.may_try():
        return None
    try:
        if outage.is_so():
            connections["default"].ensure_connection()
            outage.ended()
        return view(request, *args, **named)
    except DatabaseError:
        outage.began()
        connections["default"].close()
        return None


def operators_page(view: View) -> View:
    guarded: View = user_passes_test(_is_operator, login_url="admin:login")(view)

    @functools.wraps(view)
    def answer(request: HttpRequest, *args: object, **named: object) -> HttpResponse:
        found = _tried(guarded, request, *args, **named)
        if found is None:
            return _away(request)
        if found.status_code == 200:
            leave_mark(request, found)
        return found

    return answer


def _away(request: HttpRequest) -> HttpResponse:
    """The one page that needs no database."""
    from apps.dbsvr.console import live

    shown = live.render(live.look(), live.instance_named(None)) if has_mark(request) else None
    return render(request, "console/away.html", {"now": shown}, status=503)


def operators_poll(when_away: View | None = None) -> Callable[[View], View]:
    """For what scripts ask: a redirect to the login form would be followed and taken for an answer. `when_away` needs no database."""

    def guard(view: View) -> View:
        def checked(request: HttpRequest, *args: object, **named: object) -> HttpResponse:
            if not _is_operator(request.user):
                return JsonResponse({"error": "logged_out"}, status=401)
            return view(request, *args, **named)

        @functools.wraps(view)
        def answer(request: HttpRequest, *args: object, **named: object) -> HttpResponse:
            found = _tried(checked, request, *args, **named)
            if found is not None:
                return found
            if when_away is None or not has_mark(request):
                return JsonResponse({"error": "database_away"}, status=503)
            return when_away(request, *args, **named)

        return answer

    return guard
