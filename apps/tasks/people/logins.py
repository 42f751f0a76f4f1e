"""What a login does besides: an entry in the audit log, and the operator's zone and language come along.

Signals of Django and of django-axes, so whatever way the login took.
"""

from __future__ import annotations

from typing import Any

from axes.signals import user_locked_out
from django.contrib.auth.signals import user_logged_in, user_logged_out, user_login_failed
from django.http import HttpRequest

from apps.tasks.people.audit import LOCKED, LOGIN, LOGIN_FAILED, LOGOUT, note
from apps.tasks.people.zone_and_language import settings_of


def connect() -> None:
    user_logged_in.connect(_logged_in, dispatch_uid="people-logged-in")
    user_logged_out.connect(_logged_out, dispatch_uid="people-logged-out")
    user_login_failed.connect(_failed, dispatch_uid="people-login-failed")
    user_locked_out.connect(_locked, dispatch_uid="people-locked")


def _logged_in(sender: Any, request: HttpRequest, user: Any, **_unused: Any) -> None:
    request.reads_by = settings_of(user)  # type: ignore[attr-defined]  # the middleware puts it into cookies
    note(LOGIN, user.get_username(), who=user.get_username(), request=request)


def _logged_out(sender: Any, request: HttpRequest, user: Any, **_unused: Any) -> None:
    if user is not None:  # somebody whose session had ended already
        note(LOGOUT, user.get_username(), who=user.get_username(), request=request)


def _failed(sender: Any, credentials: dict[str, Any], request: HttpRequest | None = None, **_unused: Any) -> None:
    if request is not None and not _was_locked_before(request):
        name = str(credentials.get("username") or "")
        note(LOGIN_FAILED, name, who=name or "?", request=request)


def _locked(sender: Any, request: HttpRequest, username: str | None, **_unused: Any) -> None:
    if not _was_locked_before(request):  # it is this failure that locks it
        note(LOCKED, username or "", who=username or "?", request=request)


def _was_locked_before(request: HttpRequest) -> bool:
    """A try at a locked account is refused and not counted. It is not noted either: such tries could fill the log."""
    return bool(getattr(request, "axes_locked_out", False)) and getattr(request, "axes_failures_since_start", None) is None
