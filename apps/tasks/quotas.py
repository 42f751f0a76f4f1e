"""What all users together have used of caps, as this process saw it last: about a second old, and *unknown* when it could not be read.

For showing alone, and for refusing early what has nothing left: the write counts exactly, under lock. One small query a second for each
process, and none while no live task has a cap that all users share.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterable
from datetime import datetime, timedelta, timezone
from typing import NamedTuple

from django.db import Error, connections

from apps.tasks.evaluation.bundle import Bundle, LiveTask, clock_in
from apps.tasks.evaluation.standing import POINTS, TOTAL, Quotas
from apps.tasks.live_bundle import live_bundle
from apps.tasks.watch import watch

log = logging.getLogger(__name__)

LOOK_EVERY_S = 0.9
"""The watch looks twice as often; this makes it every second look."""
KNOWN_FOR_S = 5.0
NEIGHBOURS = (timedelta(0), -timedelta(days=1), timedelta(days=1))
"""Whose quotas are read beside the present period's: events may be late, and users' own zones lie apart."""


class _Seen(NamedTuple):
    used: Quotas
    at: float


class QuotaLook:
    """`known` waits for nothing; `look` is called by the watch's thread."""

    def __init__(self) -> None:
        self._seen: _Seen | None = None
        self._looked_at = 0.0
        self._is_failing = False

    def known(self) -> Quotas | None:
        """None: not known, or too old to be said."""
        seen = self._seen
        return seen.used if seen is not None and time.monotonic() - seen.at < KNOWN_FOR_S else None

    def look(self) -> None:
        bundle, began = live_bundle.known, time.monotonic()
        if bundle is None or began - self._looked_at < LOOK_EVERY_S:
            return
        self._looked_at = began
        capped = capped_tasks(bundle)
        if not capped:
            self._seen = None  # nobody asks for it
            return
        try:
            self._seen = _Seen(_read(quota_keys(bundle, capped, datetime.now(timezone.utc))), began)
        except Error as error:
            if not self._is_failing:
                log.warning("what is used of caps cannot be read; it counts as unknown", extra={"error": error})
            self._is_failing = True
        else:
            self._is_failing = False


def capped_tasks(bundle: Bundle) -> list[LiveTask]:
    """Those with a cap that all users share."""
    return [task for task in bundle.tasks if task.has_caps and _shared(task)]


def quota_keys(bundle: Bundle, tasks: Iterable[LiveTask], now: datetime) -> set[tuple[int, str]]:
    """Under which keys the tasks' quotas may be asked for now."""
    found: set[tuple[int, str]] = set()
    for task in tasks:
        found |= {(task.number, TOTAL), (task.number, POINTS)}
        for rules in (task.in_use, *task.kept):
            document = bundle.periods[rules.slot]
            clock = rules.clock or clock_in(document, document.fallback_zone)
            found |= {(task.number, clock.period_at(now + apart).key) for apart in NEIGHBOURS}
    return found


def _shared(task: LiveTask) -> bool:
    caps = task.document.caps
    return any(cap is not None for cap in (caps.total, caps.per_period, caps.points_budget))


def _read(keys: set[tuple[int, str]]) -> dict[tuple[int, str], int]:
    numbers, names = sorted({number for number, _key in keys}), sorted({key for _number, key in keys})
    connection = connections["userdata"]
    connection.close_if_unusable_or_obsolete()
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT task_id, period_key, used FROM task_quota WHERE task_id IN %s AND period_key IN %s", [tuple(numbers), tuple(names)]
        )
        return {(task, key): used for task, key, used in cursor.fetchall()}


quota_look = QuotaLook()
watch.register_chore(quota_look.look)


def quotas() -> Quotas | None:
    """What is used of caps, as `evaluate` takes it; None: unknown."""
    if watch.pid != os.getpid():
        watch.start()
    return quota_look.known()
