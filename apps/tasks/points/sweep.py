"""Grants that nobody needs any more: the only SQL of the logic side that deletes rows of `grant_outbox`.

A grant goes when it and its outcome are older than `points.keep_days`. It is kept
- while it is not settled, and when it is dead or rejected: somebody may send it again;
- while its task takes points back: a revert looks for it, and the record would be earned anew if what it gave were not found;
- as a taking back, while the grant that it took is there: else that could be taken a second time.
A task may begin to take points back later. So it is written down how far its grants were swept (`SweptTask`) before the first one goes,
and a revert takes back only what is surely there (`kept_since`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import date, datetime, time, timedelta, timezone
from typing import Any, NamedTuple

from django.utils import timezone as clock

from apps.dbsvr.sweeps.clocks import clocks
from apps.dbsvr.sweeps.models import Sweep
from apps.dbsvr.sweeps.rounds import Piece
from apps.dbsvr.sweeps.schedule import first_day_kept
from apps.tasks.models import Revision, SweptTask, Task
from apps.tasks.points.rows import cursor_of_userdata
from apps.tasks.points.states import State

NAME = "grant_outbox"
BACK = "~back"
SETTLED_FOR_GOOD = (State.CONFIRMED, State.SUPERSEDED)
SURELY_PUBLISHED = timedelta(hours=1)
"""After this every logic node works with a revision."""


class OldGrant(NamedTuple):
    grant_id: str
    created_ms: int
    task: int
    state: int
    settled_ms: int | None

    def is_over(self, before_ms: int) -> bool:
        return self.state in SETTLED_FOR_GOOD and (self.settled_ms or self.created_ms) < before_ms


def doomed(grants: Iterable[OldGrant], swept_tasks: frozenset[int], before_ms: int, there: frozenset[str]) -> list[str]:
    """Ids of those that go. `there`: of the grants that these take back, those that have a row. Pure."""
    going = {it.grant_id: it for it in grants if it.task in swept_tasks and it.is_over(before_ms)}

    def goes(grant_id: str) -> bool:
        taken = grant_id.removesuffix(BACK)
        return taken == grant_id or taken not in there or taken in going

    return [grant_id for grant_id in going if goes(grant_id)]


class Grants:
    name = NAME

    def __init__(self, keep_days: int) -> None:
        self._keep_days = keep_days
        self._written_down: dict[int, date] = {}

    def first_day_kept(self) -> date | None:
        if not self._keep_days:
            return None
        with cursor_of_userdata() as cursor:
            return first_day_kept(clocks(cursor), self._keep_days)

    def look(self, cursor: str, before: date, rows: int) -> Piece:
        """The oldest first, by an index of their moments: there is no need to walk over the young ones."""
        created_ms, grant_id = json.loads(cursor) if cursor else (0, "")
        before_ms = milliseconds(before)
        with cursor_of_userdata() as database:
            database.execute(
                "SELECT grant_id, created_ms, task_id, state, settled_ms FROM grant_outbox FORCE INDEX (grant_outbox_created)"
                " WHERE created_ms < %s AND (created_ms > %s OR (created_ms = %s AND grant_id > %s))"
                " ORDER BY created_ms, grant_id LIMIT %s",
                [before_ms, created_ms, created_ms, grant_id, rows],
            )
            found = [OldGrant(*row) for row in database.fetchall()]
        over = [it for it in found if it.is_over(before_ms)]
        gone = frozenset(doomed(over, self._swept({it.task for it in over}, before), before_ms, _there(over)))
        kept = [it.created_ms for it in found if it.grant_id not in gone]
        return Piece(
            looked=len(found),
            doomed=[(it.grant_id,) for it in over if it.grant_id in gone],
            end=json.dumps([found[-1].created_ms, found[-1].grant_id]) if len(found) == rows else "",
            oldest=datetime.fromtimestamp(min(kept) / 1000, timezone.utc).date() if kept else None,
        )

    def delete(self, keys: Sequence[tuple[Any, ...]], before: date) -> int:
        marks = ", ".join(["%s"] * len(keys))
        with cursor_of_userdata() as cursor:
            cursor.execute(
                f"DELETE g FROM grant_outbox g FORCE INDEX (PRIMARY) WHERE grant_id IN ({marks}) AND state IN (2, 6)",
                [grant_id for (grant_id,) in keys],
            )
            return int(cursor.rowcount)

    def _swept(self, tasks: set[int], before: date) -> frozenset[int]:
        """Of these tasks, those that do not take points back; it is written down that their grants go."""
        swept = tasks - _taking_back(tasks)
        new = [number for number in swept if self._written_down.get(number) != before]
        for row in SweptTask.objects.filter(pk__in=new, gone_before__gte=before):
            self._written_down[row.task] = before
        SweptTask.objects.bulk_create(
            [SweptTask(task=number, gone_before=before) for number in new if self._written_down.get(number) != before],
            update_conflicts=True,
            update_fields=["gone_before"],
        )
        self._written_down.update(dict.fromkeys(new, before))
        # Asked after it is written down: who has begun to take back meanwhile has either seen that, or is seen here.
        return frozenset(swept - _taking_back(swept))


def kept_since(task: int) -> datetime | None:
    """Grants of this task that were made from then on are there; None: none was ever deleted."""
    day = SweptTask.objects.filter(pk=task).values_list("gone_before", flat=True).first()
    return None if day is None else datetime.combine(day, time.min, timezone.utc)


def gone_before() -> date | None:
    """Grants of earlier days may be gone, whosever they are."""
    return Sweep.objects.filter(pk=NAME).values_list("gone_before", flat=True).first()


def milliseconds(day: date) -> int:
    return round(datetime.combine(day, time.min, timezone.utc).timestamp() * 1000)


def _taking_back(tasks: set[int]) -> set[int]:
    """Those that take points back, or have done so until a moment ago: a logic node may not have heard."""
    if not tasks:
        return set()
    lately = Revision.objects.filter(published_at__gt=clock.now() - SURELY_PUBLISHED).values_list("number", flat=True)
    known = Task.objects.filter(pk__in=tasks)
    taking = known.filter(document__revert_takes_back=True)
    return {*taking.values_list("pk", flat=True), *known.filter(revision__in=list(lately)).values_list("pk", flat=True)}


def _there(grants: Iterable[OldGrant]) -> frozenset[str]:
    taken = [it.grant_id.removesuffix(BACK) for it in grants if it.grant_id.endswith(BACK)]
    if not taken:
        return frozenset()
    with cursor_of_userdata() as cursor:
        cursor.execute(f"SELECT grant_id FROM grant_outbox WHERE grant_id IN ({', '.join(['%s'] * len(taken))})", taken)
        return frozenset(grant_id for (grant_id,) in cursor.fetchall())
