"""The rows of `segment_owner`: who owns which users. All SQL on that table.

The order of things is part of the proof (docs/protocol.md): a write transaction reads its segments by a locking read after its
tick is taken, and a change of owner is an UPDATE of the same rows, so that each waits for the other.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from tasksys_site.configuration import Segment
from workers.database import Connection, fence
from workers.messages import SegmentRow

_COLUMNS = "segment, first_uid, last_uid, home, owner, epoch, lease_ms"


OWNED_OTHERWISE = "owned otherwise"


class Look(NamedTuple):
    """One look at the whole: the rows, how long ago each changed its owner (ms, by the master's clock), every DBSvr's tick, and the
    highest generation that one of them has recorded for this server."""

    rows: list[SegmentRow]
    unchanged_ms: dict[str, int]
    ticks: dict[str, int]
    generation: int


def fill(connection: Connection, segments: Iterable[Segment], lease_ms: int) -> None:
    """Make the rows of the configuration where there is no row at all. Epoch 0: nobody has owned it before its home."""
    if connection.execute("SELECT 1 FROM segment_owner LIMIT 1"):
        return  # without a lock: the other DBSvr holds these rows in each of its transactions
    connection.execute("BEGIN")
    if not connection.execute("SELECT 1 FROM segment_owner LIMIT 1 FOR UPDATE"):
        for it in segments:
            connection.execute(
                f"INSERT IGNORE INTO segment_owner ({_COLUMNS}, changed_at) VALUES (%s, %s, %s, %s, %s, 0, %s, '2000-01-01')",
                (it.name, it.first, it.last, it.home, it.home, lease_ms),
            )
    connection.execute("COMMIT")


def replace(connection: Connection, segments: Iterable[Segment], lease_ms: int) -> None:
    """Let the rows be those of the configuration. Every segment gets an epoch above all before, so that its owner takes it anew.

    A lease never becomes shorter: who owned the users before may count on the longer one still.
    """
    connection.execute("BEGIN")
    before = connection.execute("SELECT epoch, lease_ms FROM segment_owner FOR UPDATE")
    epoch = max((int(row[0]) for row in before), default=0) + 1
    lease_ms = max([lease_ms, *(int(row[1]) for row in before)])
    connection.execute("DELETE FROM segment_owner")
    for it in segments:
        connection.execute(
            f"INSERT INTO segment_owner ({_COLUMNS}, changed_at) VALUES (%s, %s, %s, %s, %s, %s, %s, NOW(3))",
            (it.name, it.first, it.last, it.home, it.home, epoch, lease_ms),
        )
    connection.execute("COMMIT")


def look(connection: Connection) -> Look:
    rows, infos = connection.rows_of_all(
        [
            f"SELECT {_COLUMNS}, TIMESTAMPDIFF(MICROSECOND, changed_at, NOW(3)) DIV 1000 FROM segment_owner ORDER BY first_uid",
            "SELECT instance, tick, IF(server_id = @@GLOBAL.server_id, generation, 0) FROM db_info",
        ]
    )
    return Look(
        [SegmentRow(*row[:7]) for row in rows],
        {row[0]: int(row[7]) for row in rows},
        {instance: tick for instance, tick, _ in infos},
        max((int(generation) for _, _, generation in infos), default=0),
    )


def lock_owned(instance: str) -> str:
    """The statement for the segments that the instance owns, held so until the transaction ends. A plain SELECT would not do: the new
    owner's writes were overwritten (INV 12)."""
    return f"SELECT {_COLUMNS} FROM segment_owner WHERE owner = '{instance}' LOCK IN SHARE MODE"


def fence_owned(instance: str, owned: Iterable[SegmentRow]) -> tuple[bytes, bytes]:
    """Two statements for a block, which lock what `lock_owned` locks, and end the block with OWNED_OTHERWISE where that is not exactly
    `owned`. A change of owner raises the epoch, so name and epoch say all."""
    expected = ",".join(f"{row.segment}:{row.epoch}" for row in sorted(owned, key=lambda row: row.segment))
    return (
        b"SELECT GROUP_CONCAT(segment, ':', epoch ORDER BY segment) INTO @owned FROM segment_owner"
        b" WHERE owner = '%b' LOCK IN SHARE MODE" % instance.encode(),
        fence(b"NOT @owned <=> '%b'" % expected.encode(), OWNED_OTHERWISE),
    )


def change_owner(connection: Connection, row: SegmentRow, owner: str, home: str, lease_ms: int, hold_ms: int = 0) -> bool:
    """Let `owner` have the segment that `row` describes; False when it has changed since, or not `hold_ms` have passed since its last
    change. TryAgain while a transaction of the present owner is open: nobody waits for it here, with writes of his own to do."""
    changed, _ = connection.execute_counting(
        "UPDATE segment_owner SET owner = %s, home = %s, epoch = epoch + 1,"
        " lease_ms = GREATEST(lease_ms, %s), changed_at = NOW(3)"
        " WHERE segment = %s AND owner = %s AND epoch = %s AND changed_at <= NOW(3) - INTERVAL %s MICROSECOND",
        (owner, home, lease_ms, row.segment, row.owner, row.epoch, hold_ms * 1000),
    )
    return changed == 1
