"""Who may see the console: operators, that is staff. A page leads to the login; a poll is told 401 and stays where it is."""

from __future__ import annotations

import functools
from collections.abc import Callable

from django.contrib.auth.decorators import user_passes_test
from django.http import HttpRequest, HttpResponse, JsonResponse

View = Callable[..., HttpResponse]


def _is_operator(user: object) -> bool:
    return bool(getattr(user, "is_active", False) and getattr(user, "is_staff", False))


operators_page = user_passes_test(_is_operator, login_url="admin:login")


def operators_poll(view: View) -> View:
    """For what scripts ask: a redirect to the login form would be followed and taken for an answer."""

    @functools.wraps(view)
    def answer(request: HttpRequest, *args: object, **named: object) -> HttpResponse:
        if not _is_operator(request.user):
            return JsonResponse({"error": "logged_out"}, status=401)
        return view(request, *args, **named)

    return answer
