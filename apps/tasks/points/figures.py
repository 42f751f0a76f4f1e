"""What the pages show of the grants: counts, ages, rate, last answers, lists. Bounded queries, whatever the table holds."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any, NamedTuple

from django.db.models import Max, Sum

from apps.tasks.models import PointsDrain
from apps.tasks.points.rows import cursor_of_userdata
from apps.tasks.points.states import State

COUNTED_TO = 100_000
"""Of each state; more is shown as more."""
SHOWN_STATES = (State.PENDING, State.SENT, State.INDETERMINATE, State.DEAD, State.REJECTED)
RATE_OVER_S = 60
DRAINS_SHOWN = 10
LIST_ROWS = 50


@dataclass(frozen=True)
class Figures:
    """`at`: epoch seconds, of the database."""

    at: float
    counts: dict[str, int]
    """By the state's word; COUNTED_TO stands for that many or more."""
    oldest_at: float | None
    """When the oldest grant was made that is on its way; None: none is."""


def collect() -> Figures:
    counts: dict[str, int] = {}
    with cursor_of_userdata() as cursor:
        for state in SHOWN_STATES:
            cursor.execute("SELECT COUNT(*) FROM (SELECT 1 FROM grant_outbox WHERE state = %s LIMIT %s) some", [state, COUNTED_TO])
            counts[state.word] = int(cursor.fetchone()[0])
        cursor.execute(
            "SELECT MIN(created_ms), UNIX_TIMESTAMP(SYSDATE(3)) FROM"
            " (SELECT created_ms FROM grant_outbox WHERE state IN (0, 1, 4) LIMIT %s) some",
            [COUNTED_TO],
        )
        oldest_ms, now = cursor.fetchone()
    return Figures(float(now), counts, None if oldest_ms is None else int(oldest_ms) / 1000)


class Delivery(NamedTuple):
    """The last minute, and the last seconds in which something was sent."""

    rate_per_s: float
    slowest_ms: int | None
    confirmed: int
    drains: list[PointsDrain]


def delivery() -> Delivery:
    since = datetime.fromtimestamp(time.time() - RATE_OVER_S, timezone.utc)
    lately = PointsDrain.objects.filter(at__gte=since).aggregate(sent=Sum("sent"), slowest=Max("slowest_ms"), confirmed=Sum("confirmed"))
    drains = list(PointsDrain.objects.order_by("-at", "-id")[:DRAINS_SHOWN])
    return Delivery((lately["sent"] or 0) / RATE_OVER_S, lately["slowest"], lately["confirmed"] or 0, drains)


def delete_old_drains(now: datetime) -> None:
    PointsDrain.objects.filter(at__lt=now - timedelta(days=1)).delete()


class ListedGrant(NamedTuple):
    grant_id: str
    uid: int
    task_id: int
    period_key: str
    tier: int
    points: int
    total: int
    created_ms: int
    state: State
    attempts: int
    due_ms: int
    settled_ms: int | None
    error: str

    @property
    def created_at(self) -> datetime:
        return _moment(self.created_ms)

    @property
    def settled_at(self) -> datetime | None:
        return None if self.settled_ms is None else _moment(self.settled_ms)

    @property
    def due_at(self) -> datetime | None:
        """Not before; None where it may go, or is settled."""
        return _moment(self.due_ms) if self.due_ms else None


def listed(uid: int | None = None, state: State | None = None, after: Sequence[Any] = (), most: int = LIST_ROWS) -> list[ListedGrant]:
    """Newest first of a user, or of one state, or of all; `after` is (created_ms, grant_id) of the last one that was shown."""
    conditions, values = ["1 = 1"], []
    # Named, because for a short list by time the server would rather read millions of confirmed ones to find three that are dead.
    is_rare = state in SHOWN_STATES
    index = "grant_outbox_uid" if uid is not None else "grant_outbox_due" if is_rare else "grant_outbox_created"
    if uid is not None:
        conditions.append("uid = %s")
        values.append(uid)
    if state is not None:
        conditions.append("state = %s")
        values.append(int(state))
    if after:
        conditions.append("(created_ms < %s OR (created_ms = %s AND grant_id < %s))")
        values += [after[0], after[0], after[1]]
    columns = ", ".join(ListedGrant._fields)
    with cursor_of_userdata() as cursor:
        cursor.execute(
            f"SELECT {columns} FROM grant_outbox USE INDEX ({index}) WHERE {' AND '.join(conditions)}"
            " ORDER BY created_ms DESC, grant_id DESC LIMIT %s",
            [*values, most],
        )
        return [ListedGrant(*row)._replace(state=State(row[8])) for row in cursor.fetchall()]


def _moment(at_ms: int) -> datetime:
    return datetime.fromtimestamp(at_ms / 1000, timezone.utc)
