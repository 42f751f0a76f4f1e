"""All SQL on `cache_purge`, seen from the logic side: what is unfinished, one row for the writer's own node, closing by id.

master_db_svr makes the rows in the write's own transaction. A row of uid 0 means "flush the node".
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from django.db import connections, transaction

from apps.cachesync.nodes import Stale

USERDATA = "userdata"
EVERY_NODE = "*"
FLUSH = 0
"""The uid of a row that asks for a flush."""


class Row(NamedTuple):
    id: int
    uid: int
    generation: int
    version: int
    node: str

    @property
    def stale(self) -> Stale:
        return Stale(self.uid, self.generation, self.version)


class Unfinished(NamedTuple):
    """What a node has before it: the ids of the oldest and of the newest row, and whether one asks for a flush."""

    oldest: int
    newest: int
    flush: bool = False


def unfinished() -> dict[str, Unfinished]:
    """One small query: two index entries a node, and the flushes."""
    found: dict[str, Unfinished] = {}
    with _cursor() as cursor:
        cursor.execute(
            "SELECT node, MIN(id), MAX(id) FROM cache_purge GROUP BY node UNION ALL SELECT node, 0, 0 FROM cache_purge WHERE uid = 0"
        )
        for node, oldest, newest in cursor.fetchall():
            known = found.get(node)
            if newest:
                found[node] = Unfinished(oldest, newest, known is not None and known.flush)
            else:
                found[node] = known._replace(flush=True) if known else Unfinished(0, 0, flush=True)
    return found


def of_node(node: str, limit: int) -> list[Row]:
    """The oldest rows of a node; a flush before all others."""
    with _cursor() as cursor:
        cursor.execute("SELECT id, uid, generation, version, node FROM cache_purge WHERE uid = 0 AND node = %s", [node])
        rows = cursor.fetchall()
        cursor.execute("SELECT id, uid, generation, version, node FROM cache_purge WHERE node = %s ORDER BY id LIMIT %s", [node, limit])
        return [Row(*row) for row in dict.fromkeys((*rows, *cursor.fetchall()))]


def of_user(uid: int) -> list[Row]:
    with _cursor() as cursor:
        cursor.execute("SELECT id, uid, generation, version, node FROM cache_purge WHERE uid = %s", [uid])
        return [Row(*row) for row in cursor.fetchall()]


def insert(stale: Stale, node: str) -> None:
    with _cursor() as cursor:
        _insert(cursor, [(stale, node)])


def _insert(cursor: Any, rows: Iterable[tuple[Stale, str]]) -> None:
    now_ms = int(time.time() * 1000)
    cursor.executemany(
        "INSERT INTO cache_purge (uid, generation, version, node, created_ms) VALUES (%s, %s, %s, %s, %s)",
        [(*stale, node, now_ms) for stale, node in rows],
    )


def close(ids: Sequence[int]) -> int:
    """Delete rows whose purge is confirmed. Somebody else may have closed some of them."""
    if not ids:
        return 0
    with _cursor() as cursor:
        cursor.execute(f"DELETE FROM cache_purge WHERE id IN ({','.join(map(str, map(int, ids)))})")
        return int(cursor.rowcount)


def close_for_all(ids: Sequence[int], unconfirmed: Iterable[str], generation: int) -> None:
    """Close rows of every node. Each node that did not confirm is to be flushed instead, before anybody uses it again.

    A row of its own for each of those would look young again, and its node would be used until that has aged (INV 11).
    """
    with transaction.atomic(using=USERDATA), _cursor() as cursor:
        _insert(cursor, [(Stale(FLUSH, generation, 0), node) for node in unconfirmed])
        cursor.execute(f"DELETE FROM cache_purge WHERE id IN ({','.join(map(str, map(int, ids)))})")


def count(node: str, at_most: int) -> int:
    with _cursor() as cursor:
        cursor.execute("SELECT COUNT(*) FROM (SELECT id FROM cache_purge WHERE node = %s LIMIT %s) some", [node, at_most])
        return int(cursor.fetchone()[0])


def waiting() -> dict[str, tuple[int, int]]:
    """For the console: of each node the number of rows, and when the oldest was made (epoch ms)."""
    with _cursor() as cursor:
        cursor.execute("SELECT node, COUNT(*), MIN(created_ms) FROM cache_purge GROUP BY node")
        return {node: (int(rows), int(oldest)) for node, rows, oldest in cursor.fetchall()}


@contextmanager
def _cursor() -> Iterator[Any]:
    with connections[USERDATA].cursor() as cursor:
        yield cursor
