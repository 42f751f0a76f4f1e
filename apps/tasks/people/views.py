"""An operator's own pages: his settings, his password, the language he chooses in passing."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse, reverse_lazy
from django.utils import timezone, translation
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods
from django.views.i18n import LANGUAGE_QUERY_PARAMETER, set_language

from apps.tasks.people.audit import PASSWORD, note
from apps.tasks.people.forms import OperatorSettingsForm
from apps.tasks.people.zone_and_language import put_into_cookies, remember, settings_of


def account_links(request: HttpRequest) -> list[dict[str, Any]]:
    """The theme's menu of the one who is logged in."""
    links = [{"title": gettext_lazy("My settings"), "link": reverse_lazy("operator-settings")}]
    if request.user.is_authenticated and request.user.has_usable_password():
        links.append({"title": gettext_lazy("Change password"), "link": reverse_lazy("admin:password_change")})
    return links


@require_http_methods(["GET", "HEAD", "POST"])
def operator_settings(request: HttpRequest) -> HttpResponse:
    """Zone and language; in force with the next page. Whoever is logged in has his own and sees no other's."""
    kept = settings_of(request.user)
    form = OperatorSettingsForm(request.POST or None, instance=kept)
    if request.method == "POST" and form.is_valid():
        kept = remember(request.user, time_zone=form.cleaned_data["time_zone"], language=form.cleaned_data["language"])
        with translation.override(kept.language or translation.get_language()):
            messages.success(request, _("Saved."))
        answer = HttpResponseRedirect(reverse("operator-settings"))
        put_into_cookies(answer, kept)
        return answer
    context = {**admin.site.each_context(request), "title": _("My settings"), "form": form, "now": timezone.now()}
    return render(request, "admin/operator_settings.html", context)


def change_own_password(request: HttpRequest) -> HttpResponse:
    """The admin's page; a change is noted."""
    answer = admin.site.password_change(request)
    if request.method == "POST" and answer.status_code == 302 and request.user.is_authenticated:
        note(PASSWORD, request.user.get_username(), request=request)
    return answer


def choose_language(request: HttpRequest) -> HttpResponse:
    """Django's view, which sets the cookie; who is logged in finds his choice again at his next login."""
    answer = set_language(request)
    language = request.POST.get(LANGUAGE_QUERY_PARAMETER, "")
    if request.method == "POST" and translation.check_for_language(language):
        try:
            if request.user.is_authenticated:
                remember(request.user, language=language)
        except DatabaseError:
            pass  # in an outage the cookie alone must do
    return answer
