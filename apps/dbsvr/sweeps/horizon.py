"""From when on rows are surely there: what a request asks before it relies on them.

A sweep commits its day before it deletes, and its day is a whole day behind what configured processes ask for; so what was heard within
the last minute is good enough. It decides only where processes do not agree about how long rows are kept: one was started with another
`event_retention_days`, or it was raised, and what the longer time would need has gone.
"""

from __future__ import annotations

import time
from datetime import datetime, timezone
from datetime import time as time_of_day

from django.db import close_old_connections

from apps.dbsvr.sweeps.models import Sweep
from apps.dbsvr.sweeps.schedule import SPARE

ASK_EVERY_S = 60.0


class Horizon:
    """Of one table. Threads share it: what is kept is one value."""

    def __init__(self, table: str) -> None:
        self._table = table
        self._known: tuple[float, datetime | None] | None = None

    def kept_since(self) -> datetime | None:
        """Rows of what happened from then on are there; None: nothing was ever deleted. The database's errors come through."""
        known, now = self._known, time.monotonic()
        if known is None or now - known[0] >= ASK_EVERY_S:
            close_old_connections()
            day = Sweep.objects.filter(pk=self._table).values_list("gone_before", flat=True).first()
            since = None if day is None else datetime.combine(day, time_of_day.min, timezone.utc) + SPARE
            known = self._known = now, since
        return known[1]
