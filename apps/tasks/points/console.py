"""The delivery of points as the console judges it: what a relay counted last."""

from __future__ import annotations

import time

from django.conf import settings

from apps.dbsvr.points_rules import PointsNow
from apps.tasks.points.provider import provider
from apps.tasks.points.states import State


def points_now() -> PointsNow | None:
    """None where no points system is configured: then waiting is what grants are meant to do."""
    if not settings.CONFIGURATION.points.url:
        return None
    row = provider()
    figures = row.figures or {}
    counts = figures.get("counts", {})
    return PointsNow(
        looked_at=time.time(),
        counted_at=figures.get("at"),
        dead=counts.get(State.DEAD.word, 0),
        waiting=counts.get(State.PENDING.word, 0) + counts.get(State.SENT.word, 0) + counts.get(State.INDETERMINATE.word, 0),
        indeterminate=counts.get(State.INDETERMINATE.word, 0),
        oldest_at=figures.get("oldest_at"),
        paused=row.paused,
    )
