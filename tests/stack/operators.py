"""Operators for tests, and the steps of a draft in one call."""

from __future__ import annotations

import itertools
import secrets
from typing import TYPE_CHECKING, Any

from apps.tasks.config.documents import TYPES, Attribute, EventType, Task, UserList, key_of

if TYPE_CHECKING:
    from apps.tasks.models import Draft

_numbers = itertools.count(1)
KIND_OF = {type_: kind for kind, type_ in TYPES.items()}


def operator(name: str = "operator", *permissions: str) -> Any:
    """A new account with these permissions of the app (`publish_draft`); without any, it may do everything."""
    from django.contrib.auth import get_user_model
    from django.contrib.auth.models import Permission

    users = get_user_model().objects
    named = f"{name}-{secrets.token_hex(3)}-{next(_numbers)}"
    if not permissions:
        return users.create_superuser(named, password=None)
    user = users.create_user(named, password=None, is_staff=True)
    user.user_permissions.set(Permission.objects.filter(content_type__app_label="tasks", codename__in=permissions))
    return users.get(pk=user.pk)


def draft_with(user: Any, *documents: Task | Attribute | EventType | UserList, title: str = "") -> Draft:
    """Open, with these documents in it."""
    from apps.tasks.publishing import drafts

    draft = drafts.open_draft(user, title)
    return put(draft, user, *documents)


def put(draft: Draft, user: Any, *documents: Task | Attribute | EventType | UserList) -> Draft:
    from apps.tasks.publishing import drafts

    return drafts.save_documents(draft, draft.edition, {(KIND_OF[type(each)], key_of(each)): each for each in documents}, user)


def approve(draft: Draft, by: Any | None = None) -> Draft:
    """Asked for and approved, by somebody else."""
    from apps.tasks.publishing import review

    review.ask(draft, draft.edition, draft.editor)
    return review.approve(draft, draft.edition, by or operator("reviewer"))
