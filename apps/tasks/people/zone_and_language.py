"""In which zone and language an operator reads: kept with his account, carried by cookies.

A login puts what is kept into two cookies; from then on a page needs no look into the database for it, which is as well: the console
speaks to its operator in an outage too. The language's cookie is Django's own, so LocaleMiddleware does the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from apps.tasks.models import OperatorSettings
from apps.tasks.moments import zone_name

ZONE_COOKIE = "tasksys_zone"
A_YEAR_S = 365 * 24 * 3600


def settings_of(user: object) -> OperatorSettings:
    """What is kept of this operator; one that is not saved yet, with nothing in it, when nothing is."""
    return OperatorSettings.objects.filter(user=user).first() or OperatorSettings(user=user)


def remember(user: object, *, time_zone: str | None = None, language: str | None = None) -> OperatorSettings:
    """Keep what is given; what is not given stays."""
    given = {name: value for name, value in (("time_zone", time_zone), ("language", language)) if value is not None}
    kept, _is_new = OperatorSettings.objects.update_or_create(user=user, defaults=given)
    return kept


def put_into_cookies(answer: HttpResponse, kept: OperatorSettings) -> None:
    """An empty zone takes the cookie away; an empty language leaves what the browser has chosen."""
    if kept.time_zone:
        _set(answer, ZONE_COOKIE, kept.time_zone)
    else:
        answer.delete_cookie(ZONE_COOKIE, samesite="Lax")
    if kept.language:
        _set(answer, settings.LANGUAGE_COOKIE_NAME, kept.language)


def _set(answer: HttpResponse, name: str, value: str) -> None:
    answer.set_cookie(name, value, max_age=A_YEAR_S, httponly=True, samesite="Lax", secure=settings.SESSION_COOKIE_SECURE)


@lru_cache(maxsize=256)
def zone_named(name: str) -> ZoneInfo | None:
    """What a cookie names: None for what is no zone."""
    try:
        return ZoneInfo(name) if 0 < len(name) <= 64 else None
    except (ValueError, OSError, ZoneInfoNotFoundError):
        return None


class ZoneOfOperator:
    """Activates the zone of the cookie for the page, and sets both cookies after a login. Asks no database."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        named = request.COOKIES.get(ZONE_COOKIE)
        zone = zone_named(named) if named else None
        if zone is None:  # programs, for instance: nothing to be done for them
            answer = self._get_response(request)
        else:
            # Threads are used again, so it must not stay active.
            with timezone.override(zone):
                answer = self._get_response(request)
        kept = getattr(request, "reads_by", None)
        if kept is not None:
            put_into_cookies(answer, kept)
        return answer


def zone_of_page(request: HttpRequest) -> dict[str, str]:
    """For templates: the name of the zone in which this page says its times."""
    return {"zone_name": zone_name()}
