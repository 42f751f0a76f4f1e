"""Accounts that are locked after failed logins, from which address, and how a lock is lifted.

django-axes counts and refuses (its tables, its rules: see settings); here is what people see of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from axes.models import AccessAttempt
from django.conf import settings
from django.contrib import admin
from django.db.models import Exists, Max, OuterRef, Sum
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone


class Lock(NamedTuple):
    """One account as seen from one address."""

    username: str
    address: str
    failures: int
    until: datetime


def locks(now: datetime | None = None) -> list[Lock]:
    """What is locked now."""
    now = now or timezone.now()
    counted = (
        AccessAttempt.objects.filter(attempt_time__gt=now - settings.AXES_COOLOFF_TIME)
        .values("username", "ip_address")
        .annotate(failures=Sum("failures_since_start"), last=Max("attempt_time"))
        .filter(failures__gte=settings.AXES_FAILURE_LIMIT)
        .order_by("username", "ip_address")
    )
    return [
        Lock(row["username"] or "", row["ip_address"] or "", row["failures"], row["last"] + settings.AXES_COOLOFF_TIME) for row in counted
    ]


def lock_of(username: str) -> Lock | None:
    """The lock of this account that lasts longest. Names are compared without regard to case, as logins are."""
    found = [lock for lock in locks() if lock.username.lower() == username.lower()]
    return max(found, key=lambda lock: lock.until, default=None)


def recent_failures() -> Exists:
    """For a queryset of accounts: whether there may be a lock."""
    since = timezone.now() - settings.AXES_COOLOFF_TIME
    return Exists(AccessAttempt.objects.filter(username=OuterRef("username"), attempt_time__gt=since))


def unlock(username: str) -> int:
    """Lift the locks of an account, from every address; how many counts of failures were dropped."""
    return AccessAttempt.objects.filter(username=username).delete()[0]


def locked_page(request: HttpRequest, answer: HttpResponse | None, credentials: Mapping[str, str] | None) -> HttpResponse:
    """What a login at a locked account is answered. It says the same whether there is such an account or not."""
    minutes = settings.AXES_COOLOFF_TIME.total_seconds() // 60
    context = {**admin.site.each_context(request), "title": "", "minutes": int(minutes), "failures": settings.AXES_FAILURE_LIMIT}
    page = render(request, "admin/locked.html", context, status=429)
    page.headers["Retry-After"] = str(int(settings.AXES_COOLOFF_TIME.total_seconds()))
    page.headers["Cache-Control"] = "no-store"
    return page
