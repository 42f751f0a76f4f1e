"""The few pages that belong to no app: the way in, and whether this process lives."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, HttpResponseServerError
from django.shortcuts import redirect, render
from django.templatetags.static import static
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """Where a newcomer starts: console, admin, API."""
    return render(request, "home.html")


@require_safe
def favicon(request: HttpRequest) -> HttpResponse:
    """For pages that name no icon of their own, like a refusal: the browser looks here."""
    return redirect(static("console/icon-ok.svg"))


@never_cache
@require_safe
def healthz(request: HttpRequest) -> HttpResponse:
    """This web process answers, and says which published tasks it uses, and how it finds the profile system. It asks nobody: whether the
    databases answer is the console's to say."""
    from apps.tasks.live_bundle import live_bundle
    from apps.tasks.profiles import state_in_words

    text = f"ok\npublished tasks: {live_bundle.state}\nprofile system: {state_in_words()}\n"
    return HttpResponse(text, content_type="text/plain; charset=utf-8")


def server_error(request: HttpRequest) -> HttpResponse:
    """The last resort, for people and for programs."""
    if request.path_info.startswith("/api/"):
        from apps.tasks.api.problems import internal_problem

        return internal_problem()
    return HttpResponseServerError(
        b"Something went wrong here. It has been written to the log.\n", content_type="text/plain; charset=utf-8"
    )
