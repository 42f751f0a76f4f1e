"""The audit log: who did what, with the state before and after. Rows are written in the transaction of the deed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from apps.tasks.keys import KnownKey
from apps.tasks.models import AuditEntry
from apps.tasks.publishing.many_rows import as_json, insert_rows
from tasksys_site.client_address import client_address

Actor = AbstractBaseUser | KnownKey | AnonymousUser | None
"""Who does it: an operator, a program by its API key, or (None) the system itself."""

SYSTEM = "system"
FIELDS = ("at", "who", "action", "kind", "key", "before", "after", "draft", "revision", "note", "address")

_address: ContextVar[str] = ContextVar("address", default="")


def name_of(actor: Actor) -> str:
    """As the log keeps it: it outlives the account."""
    match actor:
        case None:
            return SYSTEM
        case KnownKey():
            return f"key:{actor.name}"[:150]
        case _:
            return str(actor.get_username())


def account_of(actor: Actor) -> Any:
    """The operator's account; None for a program and the system."""
    return actor if isinstance(actor, AbstractBaseUser) else None


def record(
    actor: Actor,
    action: str,
    kind: str = "",
    key: str = "",
    before: Any = None,
    after: Any = None,
    draft: int | None = None,
    revision: int | None = None,
    note: str = "",
) -> None:
    """Write one row."""
    AuditEntry.objects.create(
        who=name_of(actor),
        action=action,
        kind=kind,
        key=key,
        before=before,
        after=after,
        draft=draft,
        revision=revision,
        note=note[:1000],
        address=_address.get(),
    )


def record_documents(
    actor: Actor,
    action: str,
    changes: Iterable[tuple[str, str, Any, Any]],
    draft: int | None = None,
    revision: int | None = None,
    note: str = "",
) -> None:
    """Write a row for each document: kind, key, before, after."""
    shared = (draft, revision, note[:1000], _address.get())
    first = (timezone.now(), name_of(actor), action)
    insert_rows(AuditEntry, FIELDS, ((*first, kind, key, as_json(before), as_json(after), *shared) for kind, key, before, after in changes))


@contextmanager
def asked_from(address: str) -> Iterator[None]:
    """Rows that are written inside carry this address."""
    token = _address.set(address[:64])
    try:
        yield
    finally:
        _address.reset(token)


class RememberAddress:
    """Middleware: what a request has recorded carries the address that it came from."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        with asked_from(client_address(request)):
            return self._get_response(request)
