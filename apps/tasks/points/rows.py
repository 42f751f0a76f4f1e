"""All SQL on `grant_outbox`, seen from the relay: what is due, claiming, settling. The figures and lists of the pages are in `figures`.

The DBSvr inserts rows in a write's own transaction; nobody here inserts or deletes (`sweep` deletes old ones). A change is an UPDATE by
primary key on the condition that the row is still as it was seen, so of two relays one wins. Rows are found by (state, due_ms), never by
"greater than the last one": a row whose transaction commits late is found like any other. Moments are the database's, so that relays on
hosts with other clocks agree.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from django.db import connections, transaction

from apps.tasks.points.moves import Move
from apps.tasks.points.states import OPEN, Grant, State

USERDATA = "userdata"
COLUMNS = "grant_id, uid, version, task_id, period_key, tier, points, total, created_ms, state, attempts, due_ms"
LEASE_ENDED = "the relay that sent it did not say what came of it"
MOST_OF_A_USER = 1_000
"""Rows of one user that are looked at, at a time."""


class Clock:
    """The master's time, carried on by this process's monotonic clock."""

    def __init__(self) -> None:
        with cursor_of_userdata() as cursor:
            before = time.monotonic()
            cursor.execute("SELECT CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED)")
            self._offset_us = int(cursor.fetchone()[0]) - before * 1e6

    def now_us(self) -> int:
        return round(time.monotonic() * 1e6 + self._offset_us)

    def now_ms(self) -> int:
        return self.now_us() // 1000


def due_users(now_ms: int, most: int) -> list[int]:
    """Users with a grant that is due, each once: what was never tried, what failed and what is indeterminate take turns."""
    kinds: tuple[tuple[str, list[int]], ...] = (
        ("state = 0 AND due_ms = 0", []),
        ("state = 0 AND due_ms BETWEEN 1 AND %s", [now_ms]),
        ("state = 4 AND due_ms <= %s", [now_ms]),
    )
    found: list[list[int]] = []
    with cursor_of_userdata() as cursor:
        for condition, values in kinds:
            cursor.execute(f"SELECT uid FROM grant_outbox WHERE {condition} ORDER BY due_ms LIMIT %s", [*values, most])
            found.append([int(uid) for (uid,) in cursor.fetchall()])
    in_turns = itertools.chain.from_iterable(itertools.zip_longest(*found))
    return list(dict.fromkeys(uid for uid in in_turns if uid is not None))[:most]


def unsettled(uids: Sequence[int]) -> dict[int, list[Grant]]:
    """Of each user, the grants that are on their way, in their order."""
    if not uids:
        return {}
    found: dict[int, list[Grant]] = {}
    marks = ", ".join(["%s"] * len(uids))
    with cursor_of_userdata() as cursor:
        cursor.execute(
            f"SELECT {COLUMNS} FROM (SELECT {COLUMNS}, ROW_NUMBER() OVER (PARTITION BY uid ORDER BY version, tier, grant_id) AS place"
            f" FROM grant_outbox WHERE uid IN ({marks}) AND state IN (0, 1, 4)) waiting WHERE place <= %s ORDER BY uid, place",
            [*uids, MOST_OF_A_USER],
        )
        for row in cursor.fetchall():
            grant = grant_of(row)
            found.setdefault(grant.uid, []).append(grant)
    return found


def claim(grants: Iterable[Grant], lease_ends_ms: int) -> list[Grant]:
    """Mark as sent those that are still as they were seen, and return them as they are now. One short transaction, in the order of keys."""
    claimed = []
    with transaction.atomic(using=USERDATA), cursor_of_userdata() as cursor:
        for grant in sorted(grants):
            cursor.execute(
                "UPDATE grant_outbox SET state = 1, attempts = attempts + 1, due_ms = %s"
                " WHERE grant_id = %s AND state = %s AND attempts = %s AND due_ms = %s",
                [lease_ends_ms, grant.grant_id, grant.state, grant.attempts, grant.due_ms],
            )
            if cursor.rowcount:
                claimed.append(grant._replace(state=State.SENT, attempts=grant.attempts + 1, due_ms=lease_ends_ms))
    return claimed


def settle(moves: Iterable[tuple[Grant, Move]]) -> list[tuple[Grant, Move]]:
    """Write what came of claimed grants; those that were still ours. Another relay has the rest: our lease had ended."""
    written = []
    with transaction.atomic(using=USERDATA), cursor_of_userdata() as cursor:
        for grant, move in sorted(moves):
            cursor.execute(
                "UPDATE grant_outbox SET state = %s, due_ms = %s, settled_ms = %s, error = %s"
                " WHERE grant_id = %s AND state = 1 AND attempts = %s AND due_ms = %s",
                [move.state, move.due_ms, move.settled_ms, move.error, grant.grant_id, grant.attempts, grant.due_ms],
            )
            if cursor.rowcount:
                written.append((grant, move))
    return written


def end_leases(now_ms: int, most: int = 1_000) -> int:
    """What was sent, and nobody said what came of it: indeterminate, and due."""
    with cursor_of_userdata() as cursor:
        cursor.execute("SELECT grant_id, due_ms FROM grant_outbox WHERE state = 1 AND due_ms <= %s LIMIT %s", [now_ms, most])
        rows = sorted(cursor.fetchall())
    if not rows:
        return 0
    ended = 0
    with transaction.atomic(using=USERDATA), cursor_of_userdata() as cursor:
        for grant_id, due_ms in rows:
            cursor.execute(
                "UPDATE grant_outbox SET state = 4, due_ms = %s, error = %s WHERE grant_id = %s AND state = 1 AND due_ms = %s",
                [now_ms, LEASE_ENDED, grant_id, due_ms],
            )
            ended += int(cursor.rowcount)
    return ended


def keep_out_of_sight(first: Grant, now_ms: int, until_ms: int, most: int = 2_000) -> int:
    """What waits behind a user's first grant: no relay is to find it before. It may go earlier, as soon as the first one is settled."""
    with cursor_of_userdata() as cursor:
        cursor.execute(
            "UPDATE grant_outbox SET due_ms = %s WHERE uid = %s AND state = 0 AND due_ms <= %s AND grant_id <> %s LIMIT %s",
            [until_ms, first.uid, now_ms, first.grant_id, most],
        )
        return int(cursor.rowcount)


def supersede(grants: Sequence[Grant], now_ms: int) -> int:
    """A newer total stands for them. Only for those that are still pending, as they were seen."""
    if not grants:
        return 0
    changed = 0
    with transaction.atomic(using=USERDATA), cursor_of_userdata() as cursor:
        for grant in sorted(grants):
            cursor.execute(
                "UPDATE grant_outbox SET state = 6, due_ms = 0, settled_ms = %s, error = ''"
                " WHERE grant_id = %s AND state = 0 AND attempts = %s AND due_ms = %s",
                [now_ms, grant.grant_id, grant.attempts, grant.due_ms],
            )
            changed += int(cursor.rowcount)
    return changed


def anything_due(now_ms: int) -> bool:
    """One look at an index; most seconds of most installations end here."""
    with cursor_of_userdata() as cursor:
        cursor.execute(
            "SELECT EXISTS (SELECT 1 FROM grant_outbox WHERE state = 0 AND due_ms <= %s)"
            " OR EXISTS (SELECT 1 FROM grant_outbox WHERE state IN (1, 4) AND due_ms <= %s)",
            [now_ms, now_ms],
        )
        return bool(cursor.fetchone()[0])


def grant_of(row: Sequence[Any]) -> Grant:
    return Grant(*row[:9], state=State(row[9]), attempts=int(row[10]), due_ms=int(row[11]))


@contextmanager
def cursor_of_userdata() -> Iterator[Any]:
    with connections[USERDATA].cursor() as cursor:
        yield cursor


assert OPEN == (0, 1, 4)  # the statements above write them out
