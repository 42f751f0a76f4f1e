"""What a form was filled in upon: the draft's edition, the live revision, the draft's own change of the document. Hidden fields carry it.

A form that comes back with what was typed keeps its marks, or it would overwrite what was changed since; only who was told of
another's change in the draft goes on from there. A change of the live document is no matter here: it is merged, or a conflict.
"""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec
from django.http import HttpRequest

from apps.tasks.models import Draft
from apps.tasks.screens.workplace import Workplace

EDITION, SEEN, SHOWN = "edition", "seen", "shown"
UNCHANGED = "unchanged"
"""The draft does not change the document (yet)."""


def marks(request: HttpRequest, work: Workplace, kind: str, key: str, was_told: bool = False) -> dict[str, Any]:
    """For the template."""
    draft = work.draft
    now = {EDITION: draft.edition if draft else 0, SEEN: work.live_number, SHOWN: _mark(draft, kind, key)}
    if request.method != "POST":
        return now
    kept: dict[str, Any] = {SEEN: posted_number(request, SEEN, work.live_number)}
    if not was_told:
        kept |= {EDITION: posted_number(request, EDITION, 0), SHOWN: request.POST.get(SHOWN, "")}
    return now | kept


def edition_to_save(request: HttpRequest, draft: Draft, kind: str, key: str) -> int:
    """The edition that the form has seen; the present one, when the draft has changed but this document in it has not."""
    if request.POST.get(SHOWN) == _mark(draft, kind, key):
        return draft.edition
    return posted_number(request, EDITION, 0)


def _mark(draft: Draft | None, kind: str, key: str) -> str:
    item = draft.items.filter(kind=kind, key=key).first() if draft is not None and key else None
    if item is None:
        return UNCHANGED
    return hashlib.sha256(msgspec.json.encode([item.base, item.document], order="sorted")).hexdigest()[:16]


def posted_number(request: HttpRequest, name: str, otherwise: int) -> int:
    text = request.POST.get(name, "")
    return int(text) if text.isdecimal() else otherwise
