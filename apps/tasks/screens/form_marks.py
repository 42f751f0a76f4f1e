"""What a form was filled in upon: the draft's edition, the live revision, the document itself. Hidden fields carry it there and back.

A form that comes back with what was typed keeps its marks, or it would overwrite what was changed since; only who was told of
another's change in the draft goes on from there.
"""

from __future__ import annotations

import hashlib
from typing import Any

from django.http import HttpRequest

from apps.tasks.config.documents import Document, encode, key_of
from apps.tasks.models import Draft
from apps.tasks.screens.workplace import Workplace

EDITION, SEEN, SHOWN = "edition", "seen", "shown"
NEW = "new"


def marks(request: HttpRequest, work: Workplace, document: Document, was_told: bool = False) -> dict[str, Any]:
    """For the template."""
    now = {EDITION: work.draft.edition if work.draft else 0, SEEN: work.live_number, SHOWN: mark_of(document)}
    if request.method != "POST":
        return now
    kept: dict[str, Any] = {SEEN: posted_number(request, SEEN, now[SEEN])}
    if not was_told:
        kept |= {EDITION: posted_number(request, EDITION, 0), SHOWN: request.POST.get(SHOWN, "")}
    return now | kept


def edition_to_save(request: HttpRequest, draft: Draft, document: Document) -> int:
    """The edition that the form has seen; the present one, when the draft has changed but this document in it has not. `document`: as
    it stands in the draft now."""
    if request.POST.get(SHOWN) == mark_of(document):
        return draft.edition
    return posted_number(request, EDITION, 0)


def mark_of(document: Document) -> str:
    """A new document has no key yet, and nobody else can have changed it."""
    return hashlib.sha256(encode(document)).hexdigest()[:16] if key_of(document) else NEW


def posted_number(request: HttpRequest, name: str, otherwise: int) -> int:
    text = request.POST.get(name, "")
    return int(text) if text.isdecimal() else otherwise
