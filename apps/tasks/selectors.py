"""What is read of user data beside the snapshot, and of what is kept of it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from django.db import close_old_connections, connections

from apps.tasks.points.sweep import kept_since


def event_is_known(uid: int, event_id: str) -> bool:
    """Whether the event was applied to the user already: asked of the master, where every acknowledged write is."""
    close_old_connections()
    with connections["userdata"].cursor() as cursor:
        cursor.execute("SELECT 1 FROM applied_event WHERE uid = %s AND event_id = %s", [uid, event_id])
        return cursor.fetchone() is not None


def known_events(asked: Sequence[tuple[int, str]]) -> set[tuple[int, str]]:
    """Which of these (uid, event id) were applied already; nothing is asked for none."""
    if not asked:
        return set()
    close_old_connections()
    with connections["userdata"].cursor() as cursor:
        cursor.execute("SELECT uid, event_id FROM applied_event WHERE (uid, event_id) IN %s", [tuple(asked)])
        return {(uid, event_id) for uid, event_id in cursor.fetchall()}


def grants_kept_since(task: int) -> datetime | None:
    """Grants of this task that were made from then on are there; None: none was ever deleted. Asked each time: it is seldom needed."""
    close_old_connections()
    return kept_since(task)
