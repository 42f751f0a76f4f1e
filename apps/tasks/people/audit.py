"""What people do to accounts, written into the audit log: logins, failed ones, locks, roles and permissions."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import Group, User
from django.http import HttpRequest

from apps.tasks.models import AuditEntry
from apps.tasks.publishing.audit import name_of
from tasksys_site.client_address import client_address

ACCOUNT, GROUP = "account", "group"
LOGIN, LOGIN_FAILED, LOCKED, UNLOCKED, LOGOUT = "login", "login_failed", "locked", "unlocked", "logout"
PASSWORD, RIGHTS, DELETED = "password", "rights", "account_deleted"


def note(action: str, key: str, *, who: str = "", kind: str = ACCOUNT, request: HttpRequest | None = None, **more: Any) -> None:
    """One entry. `key` is the account or group that it is about; `who` did it, by default the one who is logged in.

    A failed login has no actor that `publishing.audit` could name: what somebody typed stands for him.
    """
    user = getattr(request, "user", None)
    actor = user if user is not None and user.is_authenticated else None
    address = client_address(request) if request is not None else ""
    AuditEntry.objects.create(who=(who or name_of(actor))[:150], action=action, kind=kind, key=key[:64], address=address, **more)


def rights_of(account: User | Group) -> dict[str, Any]:
    """What decides what an account or a group may do, to be compared and kept."""
    if isinstance(account, Group):
        return {"permissions": _names(account.permissions)}
    return {
        "active": account.is_active,
        "staff": account.is_staff,
        "superuser": account.is_superuser,
        "roles": sorted(account.groups.values_list("name", flat=True)),
        "permissions": _names(account.user_permissions),
    }


def note_rights(account: User | Group, before: dict[str, Any] | None, request: HttpRequest | None = None, who: str = "") -> None:
    """The entry of a change, when there is one."""
    after = rights_of(account)
    if before != after:
        kind, name = (GROUP, account.name) if isinstance(account, Group) else (ACCOUNT, account.get_username())
        note(RIGHTS, name, kind=kind, before=before, after=after, request=request, who=who)


def _names(permissions: Any) -> list[str]:
    return sorted(f"{app}.{codename}" for app, codename in permissions.values_list("content_type__app_label", "codename"))
