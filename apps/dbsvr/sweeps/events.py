"""Event ids that nobody may send again: the only SQL that deletes rows of `applied_event`.

A repetition of an event is refused by the API when the event's own moment is older than `dbsvr.event_retention_days`, and a row's day is
that on which it was applied, which is no earlier than that moment (a day of spare time is left for clocks). So a row that goes here is of
an event that would be refused.

There is no index by day: the table is walked along its primary key (docs/decisions/0021).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import date
from typing import Any

from django.db import connections

from apps.dbsvr.sweeps.clocks import clocks
from apps.dbsvr.sweeps.rounds import Piece
from apps.dbsvr.sweeps.schedule import first_day_kept

NAME = "applied_event"


class AppliedEvents:
    name = NAME

    def __init__(self, retention_days: int) -> None:
        self._retention_days = retention_days

    def first_day_kept(self) -> date:
        with connections["userdata"].cursor() as cursor:
            return first_day_kept(clocks(cursor), self._retention_days)

    def look(self, cursor: str, before: date, rows: int) -> Piece:
        uid, event_id = json.loads(cursor) if cursor else (0, "")
        with connections["userdata"].cursor() as database:
            database.execute(
                "SELECT uid, event_id, day FROM applied_event FORCE INDEX (PRIMARY)"
                " WHERE uid > %s OR (uid = %s AND event_id > %s) ORDER BY uid, event_id LIMIT %s",
                [uid, uid, event_id, rows],
            )
            found = database.fetchall()
        return Piece(
            looked=len(found),
            doomed=[(uid, event_id) for uid, event_id, day in found if day < before],
            end=json.dumps(found[-1][:2]) if len(found) == rows else "",
            oldest=min((day for _uid, _event_id, day in found if day >= before), default=None),
        )

    def delete(self, keys: Sequence[tuple[Any, ...]], before: date) -> int:
        """The day is looked at again: an event of today may have taken the id of an old one meanwhile."""
        # An OR of whole keys, and no other way to them allowed: whatever the table's statistics say, no other row is touched.
        condition = " OR ".join(["(uid = %s AND event_id = %s)"] * len(keys))
        with connections["userdata"].cursor() as cursor:
            cursor.execute(
                f"DELETE e FROM applied_event e FORCE INDEX (PRIMARY) WHERE ({condition}) AND day < %s",
                [*(value for key in keys for value in key), before],
            )
            return int(cursor.rowcount)
