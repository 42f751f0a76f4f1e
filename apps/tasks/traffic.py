"""How often tasks were begun and completed, for lists: read from what the DBSvrs have counted.

Figures to look at: about a second old, by days in UTC, and a DBSvr that is killed loses its last second. Kept for about a hundred days.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from typing import Any

from django.db import connections

AT_ONCE = 1_000
"""Tasks asked for by one statement."""


@dataclass(frozen=True, slots=True)
class Traffic:
    """Of one task. `today`: this day (UTC); `recent`: the days asked for, today included. Started: users' periods begun."""

    started_today: int = 0
    completed_today: int = 0
    started_recent: int = 0
    completed_recent: int = 0
    by_day: tuple[tuple[date, int, int], ...] = ()
    """(day, started, completed), oldest first; days without any are left out."""

    @property
    def completion(self) -> float | None:
        """Completed of those begun in the days asked for, at most 1; None when nobody has begun."""
        return min(1.0, self.completed_recent / self.started_recent) if self.started_recent else None


NONE = Traffic()


def traffic_of(numbers: Iterable[int], days: int = 7, now: datetime | None = None) -> dict[int, Traffic]:
    """Of each of these tasks; those without any are NONE. Raises django.db.Error."""
    wanted = sorted(set(numbers))
    today = (now or datetime.now(timezone.utc)).astimezone(timezone.utc).date()
    found: dict[int, list[tuple[date, int, int]]] = {}
    for start in range(0, len(wanted), AT_ONCE):
        for task, day, started, completed in _rows(today, days, wanted[start : start + AT_ONCE]):
            found.setdefault(task, []).append((day, started, completed))
    return {number: _traffic(found[number], today) if number in found else NONE for number in wanted}


def traffic_of_all(days: int = 7, now: datetime | None = None) -> Mapping[int, Traffic]:
    """Of every task that has any: to sort and filter whole lists by it. Raises django.db.Error."""
    today = (now or datetime.now(timezone.utc)).astimezone(timezone.utc).date()
    found: dict[int, list[tuple[date, int, int]]] = {}
    for task, day, started, completed in _rows(today, days, None):
        found.setdefault(task, []).append((day, started, completed))
    return {number: _traffic(rows, today) for number, rows in found.items()}


def _rows(today: date, days: int, numbers: list[int] | None) -> list[tuple[int, date, int, int]]:
    # The days one by one: then each is a range of the primary key.
    last_days = [today - timedelta(days=back) for back in range(days)]
    parameters: list[Any] = [last_days]
    condition = ""
    if numbers is not None:
        condition = " AND task_id IN %s"
        parameters.append(numbers)
    with connections["userdata"].cursor() as cursor:
        cursor.execute(
            "SELECT task_id, day, CAST(SUM(started) AS SIGNED), CAST(SUM(completed) AS SIGNED) FROM task_traffic"
            f" WHERE day IN %s{condition} GROUP BY day, task_id ORDER BY day, task_id",
            parameters,
        )
        return list(cursor.fetchall())


def _traffic(rows: list[tuple[date, int, int]], today: date) -> Traffic:
    of_today = [(started, completed) for day, started, completed in rows if day == today]
    return Traffic(
        started_today=sum(started for started, _ in of_today),
        completed_today=sum(completed for _, completed in of_today),
        started_recent=sum(started for _, started, _ in rows),
        completed_recent=sum(completed for _, _, completed in rows),
        by_day=tuple(rows),
    )
