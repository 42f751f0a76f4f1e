"""When a round begins, and from which day on rows are kept. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime, time, timedelta, timezone

TRY_AGAIN_AFTER = timedelta(minutes=10)
"""After an error that somebody has to mend."""
SPARE = timedelta(days=1)
"""Longer than a clock may be wrong and a write may take, with the five minutes by which an event may be dated ahead."""


def is_due(at: str, now: datetime, began_at: datetime | None) -> bool:
    """Whether a new round is to begin: one a day, from `at` (HH:MM, UTC) on; "": never."""
    if not at:
        return False
    today = datetime.combine(now.astimezone(timezone.utc).date(), time.fromisoformat(at), timezone.utc)
    last = today if today <= now else today - timedelta(days=1)
    return began_at is None or began_at < last


def may_try(now: datetime, failed_at: datetime | None) -> bool:
    return failed_at is None or now - failed_at >= TRY_AGAIN_AFTER


def first_day_kept(clocks_s: Iterable[float], days: int) -> date:
    """Rows are kept whose day has not ended `days` and SPARE ago.

    Of several clocks (epoch seconds) the one that is behind counts: one that has jumped ahead must not delete what is needed.
    """
    now = datetime.fromtimestamp(min(clocks_s), timezone.utc)
    return (now - timedelta(days=days) - SPARE).date()
