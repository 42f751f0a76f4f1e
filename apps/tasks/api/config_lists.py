"""Lists that grow, page by page: revisions and drafts, the newest first.

A page ends with a cursor, which says where the next one begins: behind the last item that was seen, whatever has come in before it
meanwhile. So nothing is shown twice and nothing is left out. What a cursor is made of is nobody's business but this module's.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from apps.tasks.api.problems import Problem
from apps.tasks.models import Draft, Revision

MOST_ITEMS = 200
ITEMS = 50


class ListedRevision(msgspec.Struct, frozen=True):
    revision: int
    published_at: datetime
    published_by: str
    origin: str
    reason: str
    changes: int
    rolls_back_to: int | None


class ListedDraft(msgspec.Struct, frozen=True):
    draft: int
    title: str
    state: str
    edition: int
    base_revision: int
    opened_by: str
    created_at: datetime
    changed_at: datetime
    publish_at: datetime | None


class RevisionPage(msgspec.Struct, frozen=True):
    items: list[ListedRevision]
    next_cursor: str | None


class DraftPage(msgspec.Struct, frozen=True):
    items: list[ListedDraft]
    next_cursor: str | None


def revision_page(query: Mapping[str, str]) -> RevisionPage:
    rows, next_cursor = _page(Revision.objects.all(), query)
    return RevisionPage(
        [
            ListedRevision(it.number, it.published_at, it.published_by, it.origin, it.reason, it.change_count, it.rolls_back_to)
            for it in rows
        ],
        next_cursor,
    )


def draft_page(query: Mapping[str, str]) -> DraftPage:
    rows, next_cursor = _page(Draft.objects.all(), query)
    return DraftPage(
        [
            ListedDraft(it.pk, it.title, it.state, it.edition, it.base_revision, it.opened_by, it.created_at, it.changed_at, it.publish_at)
            for it in rows
        ],
        next_cursor,
    )


def _page(rows: QuerySet[Any], query: Mapping[str, str]) -> tuple[list[Any], str | None]:
    limit = _read_limit(query.get("limit"))
    before = _read_cursor(query.get("cursor"))
    if before is not None:
        rows = rows.filter(pk__lt=before)
    found = list(rows.order_by("-pk")[: limit + 1])  # one more says whether there are more
    return found[:limit], str(found[limit - 1].pk) if len(found) > limit else None


def _read_limit(text: str | None) -> int:
    if text is None:
        return ITEMS
    if not (text.isascii() and text.isdigit() and len(text) <= 9) or not 1 <= int(text) <= MOST_ITEMS:
        raise Problem("bad_request", _("limit must be a number from 1 to %(most)d.") % {"most": MOST_ITEMS}, "query/limit")
    return int(text)


def _read_cursor(text: str | None) -> int | None:
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= 9):
        raise Problem("bad_request", _("cursor must be the next_cursor of the page before."), "query/cursor")
    return int(text)
