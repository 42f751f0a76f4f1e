"""All SQL on user data: what the workers read and write, and in which order.

Leans on `database.Connection`. The order of statements in a write transaction is part of the protocol's proof (see
docs/protocol.md); the callers decide what is in a batch.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import datetime, timezone
from math import ceil
from typing import NamedTuple, TypeAlias

from workers.database import Connection, DatabaseGone, DatabaseUnfit, TryAgain, fence, in_packets, raising
from workers.grants import Grant
from workers.known_snapshots import KnownSnapshots, Versioned
from workers.messages import SegmentRow
from workers.protocol import IN_PROGRESS
from workers.quotas import QuotaKey
from workers.segment_rows import fence_owned, lock_owned
from workers.snapshots import open_snapshots
from workers.stored_results import answered
from workers.timelines import Found, Known, Timeline, is_outdated, timeline_of
from workers.traffic import Row
from workers.trails import ANY
from workers.users import STATES, Record, User

STATEMENT_BYTES = 256 * 1024
Quote: TypeAlias = "Callable[[str | bytes], bytes]"


EPOCH_OVER, TICK_LOCKED = "epoch over", "tick locked"


class Superseded(Exception):
    """Another worker has claimed this instance: this one must never commit again."""


class Claim(NamedTuple):
    """A worker's right to write for its instance, the fresh tick with which it took it, and the timeline that it goes on or begins."""

    timeline: Timeline
    tick: int
    epoch: int
    server_id: int


class AppliedEvent(NamedTuple):
    """`result` as `stored_results` makes it."""

    uid: int
    event_id: str
    result: bytes


def read_snapshots(
    connection: Connection, instance: str, uids: Collection[int], known: KnownSnapshots
) -> tuple[int, int, dict[int, bytes]]:
    """Generation, tick and the open snapshots of these users, each as it was at that tick or later: a statement that showed the tick, or a
    later one, has also shown him, or that his version is the known one (INV 5).

    (0, 0, {}) where the database has no row of this instance. An unknown user is version 0 without tasks.
    """
    now = time.monotonic()
    found = known.find(uids, now)
    if not known.is_worth_asking(len(found), len(uids)):
        return _read_and_keep(connection, instance, uids, known, now, found)
    numbers = ",".join(map(str, found))
    rows = connection.query(
        f"SELECT d.generation, d.tick, s.uid, s.version FROM db_info d LEFT JOIN user_state s ON s.uid IN ({numbers})"
        f" WHERE d.instance = '{instance}'"
    )
    generation, tick = _shown(rows)
    if generation != known.generation:
        return _read_and_keep(connection, instance, uids, known, now, {})
    versions = {row[2]: row[3] for row in rows}
    snapshots = {uid: snapshot for uid, (version, snapshot) in found.items() if versions.get(b"%d" % uid, b"0") == version}
    known.note_unchanged(len(snapshots), len(found))
    if len(snapshots) < len(uids):
        rest = [uid for uid in uids if uid not in snapshots]
        later_generation, later_tick, more = _read_and_keep(connection, instance, rest, known, now, {})
        if later_generation != generation:
            return _read_and_keep(connection, instance, uids, known, now, {})
        tick = min(tick, later_tick)
        snapshots |= more
    return generation, tick, snapshots


def _read_and_keep(
    connection: Connection,
    instance: str,
    uids: Collection[int],
    known: KnownSnapshots,
    now: float,
    found: Mapping[int, Versioned],
) -> tuple[int, int, dict[int, bytes]]:
    """All whole. `found`: what was known of them."""
    generation, tick, snapshots = _read_whole(connection, instance, uids)
    if found and snapshots:
        known.note_unchanged(sum(snapshots[uid][0] == version for uid, (version, _) in found.items()), len(found))
    known.keep(generation, snapshots, now)
    return generation, tick, _without_versions(snapshots)


def lock_snapshots(connection: Connection, instance: str, uids: Collection[int]) -> tuple[int, dict[int, bytes]]:
    """As `read_snapshots`, tick and snapshots, by locking rows: TryAgain while a write of one of these users is about to be committed."""
    _, tick, snapshots = _read_whole(connection, instance, uids, " LOCK IN SHARE MODE")
    return tick, _without_versions(snapshots)


def _read_whole(connection: Connection, instance: str, uids: Collection[int], locking: str = "") -> tuple[int, int, dict[int, Versioned]]:
    numbers = ",".join(map(str, uids))
    rows = connection.query(
        "SELECT d.generation, d.tick, s.uid, s.version, s.points,"
        " t.task_id, t.period_key, t.progress, t.state, t.completed_at, t.claimed_at, t.revision, t.granted"
        f" FROM db_info d LEFT JOIN user_state s ON s.uid IN ({numbers}) LEFT JOIN user_task t ON t.uid = s.uid"
        f" WHERE d.instance = '{instance}'{locking}"
    )
    generation, tick = _shown(rows)
    return generation, tick, open_snapshots(rows, b"%d" % generation, uids) if rows else {}


def _without_versions(snapshots: dict[int, Versioned]) -> dict[int, bytes]:
    return {uid: snapshot for uid, (_, snapshot) in snapshots.items()}


def _shown(rows: tuple[tuple[bytes | None, ...], ...]) -> tuple[int, int]:
    """Generation and tick, with which each row begins; (0, 0) where the instance has no row."""
    return (int(rows[0][0] or 0), int(rows[0][1] or 0)) if rows else (0, 0)


def read_tick(connection: Connection, instance: str) -> tuple[int, int]:
    """(generation, tick) as this database shows them; (0, 0) where it has no row of this instance yet."""
    return _shown(connection.query(f"SELECT generation, tick FROM db_info WHERE instance = '{instance}'"))


def find_instance(connection: Connection, instance: str, lock: bool = False) -> Found | None:
    """What this database says of the instance; None where it has no row of it yet."""
    rows = connection.execute(
        "SELECT generation, tick, fork_tick, server_id, @@GLOBAL.server_id FROM db_info WHERE instance = %s"
        + (" FOR UPDATE" if lock else ""),
        (instance,),
    )
    if not rows:
        return None
    generation, tick, fork_tick, recorded, here = rows[0]
    ((newest,),) = connection.execute("SELECT COALESCE(MAX(generation), 0) FROM db_info WHERE server_id = %s", (here,))
    return Found(generation, tick, fork_tick, recorded, here, newest)


def server_id(connection: Connection) -> int:
    """The number by which this server is known in its replication."""
    return int(connection.query("SELECT @@GLOBAL.server_id")[0][0] or 0)


def claim_instance(connection: Connection, instance: str, known: Known) -> Claim:
    """Supersede every earlier worker of this instance and commit a fresh tick (INV 3), in a new generation if there was a break.

    Waits for the row lock of a predecessor that is still in a transaction; the server ends an idle one.
    """
    connection.execute(
        "INSERT IGNORE INTO db_info (instance, generation, fork_tick, tick, wall_us, worker_epoch) VALUES (%s, 1, 0, 1, %s, 0)",
        (instance, _wall_us()),
    )
    connection.execute("BEGIN")
    found = find_instance(connection, instance, lock=True)
    assert found is not None, "its row was just made"
    if is_outdated(found, known):
        connection.execute("ROLLBACK")
        raise DatabaseUnfit(f"{connection.endpoint} is a former master, of generation {found.generation}; we have seen {known.generation}")
    timeline = timeline_of(found, known)
    connection.execute(
        "UPDATE db_info SET worker_epoch = worker_epoch + 1, tick = tick + 1, wall_us = %s, generation = %s, fork_tick = %s, server_id = %s"
        " WHERE instance = %s",
        (_wall_us(), timeline.generation, timeline.fork_tick, found.server_id, instance),
    )
    ((tick, epoch),) = connection.execute("SELECT tick, worker_epoch FROM db_info WHERE instance = %s", (instance,))
    if timeline.generation != found.generation:
        flush_nodes(connection, timeline.generation)
    connection.execute("COMMIT")
    return Claim(timeline, tick, epoch, found.server_id)


def flush_nodes(connection: Connection, generation: int) -> None:
    """Copies of an older generation may show what the database has lost: every cache node is to be emptied before it is used again."""
    connection.execute(
        "INSERT INTO cache_purge (uid, generation, version, node, created_ms) VALUES (0, %s, 0, %s, %s)",
        (generation, ANY, _wall_us() // 1000),
    )


def adopt_master(connection: Connection, seen: int) -> int:
    """Begin a new generation here, above `seen` and all that stand here, for every instance; the generation.

    What the database lacks is given up. A worker that writes to it now finds out with its next transaction, and begins anew.
    """
    connection.execute("BEGIN")
    rows = connection.execute("SELECT generation FROM db_info FOR UPDATE")
    generation = 1 + max([seen, *(int(each) for (each,) in rows)])
    connection.execute(
        "UPDATE db_info SET generation = %s, fork_tick = tick, tick = tick + 1, wall_us = %s, server_id = @@GLOBAL.server_id",
        (generation, _wall_us()),
    )
    flush_nodes(connection, generation)
    connection.execute("COMMIT")
    return generation


def wait_for_no_row(connection: Connection) -> None:
    """A write transaction of this connection that meets a lock is told at once: TryAgain. Its tick's row it waits for all the same."""
    if connection.is_mariadb:
        connection.execute("SET SESSION innodb_lock_wait_timeout = 0")


def take_tick(connection: Connection, instance: str, epoch: int, generation: int) -> int:
    """Bump the tick by itself, or within a transaction that is open; the tick.

    Raises Superseded; DatabaseUnfit when an operator has begun a new generation. Who holds that row for longer is a successor.
    """
    try:
        matched, tick = connection.execute_counting(_bump(connection, instance, epoch, generation).decode())
    except TryAgain as error:
        raise DatabaseGone(f"the row of instance {instance} stays locked: {error}") from error
    if matched != 1:
        connection.execute("ROLLBACK")
        raise why_fenced(connection, instance, epoch, generation)
    return tick


def _bump(connection: Connection, instance: str, epoch: int, generation: int) -> bytes:
    """The row may be that of our own transaction before, until it has ended."""
    patience = b"SET STATEMENT innodb_lock_wait_timeout = 3 FOR " if connection.is_mariadb else b""
    return (
        b"%bUPDATE db_info SET tick = LAST_INSERT_ID(tick + 1), wall_us = %d WHERE instance = %b AND worker_epoch = %d AND generation = %d"
        % (
            patience,
            _wall_us(),
            connection.quote(instance),
            epoch,
            generation,
        )
    )


def why_fenced(connection: Connection, instance: str, epoch: int, generation: int) -> Superseded | DatabaseUnfit:
    """Why no row of `db_info` was found for this epoch and generation. Outside of a transaction."""
    if connection.execute("SELECT 1 FROM db_info WHERE instance = %s AND worker_epoch = %s", (instance, epoch)):
        return DatabaseUnfit(f"generation {generation} of instance {instance} is over")
    return Superseded(f"epoch {epoch} of instance {instance} is over")


def begin(connection: Connection) -> None:
    connection.execute("BEGIN")


def lock_quotas(connection: Connection, keys: Collection[QuotaKey], patience_s: float) -> dict[QuotaKey, int]:
    """What is used of each of these, and nobody else may change it until this transaction ends.

    The only rows that DBSvrs share. All take them in the order of their keys, and then nothing but what is their own, so none waits for
    one that waits for it. The INSERT locks what is there already, too; the SELECT begins after it, and so sees the last commit. (As a
    locking read it might meet rows that are not asked for, out of order: a small table is read as a whole.)

    Raises TryAgain when that takes longer than `patience_s`.
    """
    places = [(task, connection.quote(key)) for task, key in sorted(keys)]
    patience = b""
    if connection.is_mariadb:  # a lock wait is counted in whole seconds, a statement's time is not
        patience = b"SET STATEMENT innodb_lock_wait_timeout = %d, max_statement_time = %.3f FOR " % (ceil(patience_s), patience_s)
    locking = b"INSERT INTO task_quota (task_id, period_key, used) VALUES %b ON DUPLICATE KEY UPDATE used = used" % b",".join(
        [b"(%d,%b,0)" % place for place in places]
    )
    reading = b"SELECT task_id, period_key, used FROM task_quota WHERE " + b" OR ".join(
        [b"(task_id = %d AND period_key = %b)" % place for place in places]
    )
    (found,) = connection.rows_of_all([(patience + locking).decode(), reading.decode()])
    return {(task, key): used for task, key, used in found}


def saving_quotas(quote: Quote, used: dict[QuotaKey, int]) -> Iterator[bytes]:
    """The statements for those that were locked."""
    yield from _in_statements(
        b"INSERT INTO task_quota (task_id, period_key, used) VALUES ",
        (b"(%d,%b,%d)" % (task, quote(key), count) for (task, key), count in sorted(used.items())),
        b" ON DUPLICATE KEY UPDATE used = VALUES(used)",
    )


def add_traffic(connection: Connection, instance: str, rows: Iterable[Row], oldest_day: str | None) -> None:
    """Within a beat: add to the instance's counts, and forget what is older than `oldest_day`. TryAgain while the table is locked."""
    quoted = connection.quote(instance)
    adding = _in_statements(
        (b"SET STATEMENT lock_wait_timeout = 0 FOR " if connection.is_mariadb else b"")
        + b"INSERT INTO task_traffic (day, task_id, instance, started, completed) VALUES ",
        (b"('%b',%d,%b,%d,%d)" % (row.day.encode(), row.task, quoted, row.started, row.completed) for row in rows),
        b" ON DUPLICATE KEY UPDATE started = started + VALUES(started), completed = completed + VALUES(completed)",
    )
    forgetting = b"DELETE FROM task_traffic WHERE day < '%b' AND instance = %b LIMIT 5000"
    connection.execute_all((*adding, *([forgetting % (oldest_day.encode(), quoted)] if oldest_day else [])))


def day_of(now_ms: int) -> str:
    return datetime.fromtimestamp(now_ms / 1000, timezone.utc).date().isoformat()


def commit(connection: Connection) -> None:
    connection.execute("COMMIT")


def roll_back(connection: Connection) -> None:
    connection.execute("ROLLBACK")


class Loaded(NamedTuple):
    """What a write transaction begins with that has to read: the segments that are ours while it lasts, and the users as they are
    (unknown ones with version 0)."""

    owned: list[SegmentRow]
    users: dict[int, User]


def load(connection: Connection, instance: str, uids: Collection[int], begins: bool = True) -> Loaded:
    """In one round trip, which opens the transaction if it `begins`. Ownership comes first, by a locking read: who has lost it must not
    apply anything (INV 12)."""
    users = {uid: User(uid) for uid in uids}
    statements = ["BEGIN"] if begins else []
    statements.append(lock_owned(instance))
    if users:
        statements.append(
            "SELECT s.uid, s.version, s.points, s.born_version, t.task_id, t.period_key,"
            " t.progress, t.state, t.completed_at, t.claimed_at, t.revision, t.granted, t.taken_back, t.members"
            f" FROM user_state s LEFT JOIN user_task t ON t.uid = s.uid WHERE s.uid IN ({','.join(map(str, users))})"
        )
    owned, *read = connection.rows_of_all(statements)
    for uid, version, points, born_version, task, period, progress, state, *columns in read[0] if read else ():
        user = users[uid]
        user.version, user.points, user.born_version = version, points, born_version
        if task is not None:
            user.tasks[task, period] = record = Record(progress, STATES[state], *columns)
            if record.members is not None:
                user.member_bytes += len(record.members)
    return Loaded([SegmentRow(*row) for row in owned], users)


def load_events(connection: Connection, events: Iterable[tuple[int, str]]) -> dict[tuple[int, str], bytes]:
    """The results, as they are answered, of those of these (uid, event id) that were applied before."""
    pairs = list(events)
    # An OR of pairs, not a row IN: the optimizer makes one range of each.
    condition = " OR ".join(["(uid = %s AND event_id = %s)"] * len(pairs))
    rows = connection.execute(
        f"SELECT uid, event_id, result FROM applied_event WHERE {condition}", [value for pair in pairs for value in pair]
    )
    return {(uid, event_id): answered(result.encode()) for uid, event_id, result in rows}


def locked_users(connection: Connection, uids: Iterable[int]) -> set[int]:
    """Those of these users of whom somebody else holds a row now. Outside of a transaction; waits for nobody.

    Rows that a transaction has made, and not committed, are not seen.
    """
    numbers = ",".join(map(str, uids))
    asked = [f"SELECT uid FROM {table} WHERE uid IN ({numbers})" for table in ("user_state", "user_task")]
    free = [f"{statement} FOR UPDATE SKIP LOCKED" for statement in asked]
    states, tasks, free_states, free_tasks = connection.rows_of_all([*asked, *free])
    held = Counter(states) + Counter(tasks)
    held -= Counter(free_states) + Counter(free_tasks)
    return {uid for (uid,) in held}


def load_grants(connection: Connection, uid: int, tasks: Collection[int]) -> list[Grant]:
    """What these tasks have given the user, and taken back, in that order."""
    rows = connection.rows(
        "SELECT grant_id, uid, version, task_id, period_key, tier, points, total, revision FROM grant_outbox"
        f" WHERE uid = {uid} AND task_id IN ({','.join(map(str, tasks))}) ORDER BY version, tier"
    )
    return [Grant(*row) for row in rows]


class Purge(NamedTuple):
    """A copy of this user on this cache node (ANY: on every node) is to be removed if it is older than the version."""

    uid: int
    version: int
    node: str


def saving(
    quote: Quote, generation: int, users: Collection[User], events: Iterable[AppliedEvent], purges: Iterable[Purge], now_ms: int
) -> Iterator[bytes]:
    """The statements that write back what was applied: event ids, cleared tasks, touched records, versions, grants, the copies to purge.

    Duplicate is raised where one of the events is known: the transaction is still open then, and is to be rolled back.
    """
    yield from _saving(quote, sorted(users, key=lambda user: user.uid), events, now_ms)
    yield from _purging(quote, generation, purges, now_ms)


def send_transaction(
    connection: Connection,
    instance: str,
    epoch: int,
    generation: int,
    owned: Collection[SegmentRow] | None,
    saving: Iterable[bytes],
    uids: Collection[int],
) -> None:
    """Send a write transaction as a block, up to its COMMIT, and do not wait for it: `receive_transaction` does, once the connection can be
    read.

    `owned`: it begins here, and is for exactly these segments. None: it was begun by `load`, which has locked what is ours.

    COMMIT goes with all the rest, because the database itself asks what must be true: a block that a frozen server finds later ends
    before its COMMIT where the epoch is over by then, or a segment has another owner (docs/protocol.md, INV 3 and 12). The tick comes last:
    its row is locked until the end of the COMMIT, so ticks rise in the order of commits, and the next transaction can be made meanwhile.
    """
    opening = (b"START TRANSACTION", *fence_owned(instance, owned)) if owned is not None else ()
    bump = (
        b"BEGIN DECLARE EXIT HANDLER FOR 1205 %b" % raising(TICK_LOCKED),
        _bump(connection, instance, epoch, generation),
        fence(b"ROW_COUNT() <> 1", EPOCH_OVER),
        b"END",
    )
    numbers = b",".join([b"%d" % uid for uid in uids])
    asking = (b"SELECT LAST_INSERT_ID()", b"SELECT DISTINCT uid, node FROM cache_purge WHERE uid IN (%b)" % numbers)
    *parts, last = in_packets((*opening, *saving, b";".join((*bump, b"COMMIT", *asking))))
    for part in parts:
        connection.run_block(part)
    connection.send_block(last)


def write_all(connection: Connection, saving: Iterable[bytes]) -> None:
    """Write what goes before quotas are locked, and wait for it. It may begin the transaction, as `send_transaction` does."""
    for part in in_packets(saving):
        connection.run_block(part)


def receive_transaction(connection: Connection) -> tuple[int, dict[int, list[str]]]:
    """Wait for the end of a write transaction; its tick, and for its users the cache nodes with a purge that is not done.

    Raises Fenced with OWNED_OTHERWISE, EPOCH_OVER (see `why_fenced`) or TICK_LOCKED, and what a statement was refused for. It is to be
    rolled back then.
    """
    ((tick,),), rows = connection.receive_block()
    purges: dict[int, list[str]] = {}
    for uid, node in rows:
        purges.setdefault(uid, []).append(node)
    return tick, purges


def _saving(quote: Quote, users: list[User], events: Iterable[AppliedEvent], now_ms: int) -> Iterator[bytes]:
    """The statements, in their order: the event ids first, since whether they are new decides about all the rest."""
    day = day_of(now_ms).encode()
    yield from _in_statements(
        b"INSERT INTO applied_event (uid, event_id, result, day) VALUES ",
        (b"(%d,%b,%b,'%b')" % (event.uid, quote(event.event_id), quote(event.result), day) for event in events),
    )
    cleared = [b"%d" % user.uid for user in users if user.cleared]
    if cleared:
        yield b"DELETE FROM user_task WHERE uid IN (%b)" % b",".join(cleared)
        yield b"DELETE FROM grant_outbox WHERE uid IN (%b)" % b",".join(cleared)
    yield from _in_statements(
        b"INSERT INTO user_state (uid, version, points, updated_at, born_version) VALUES ",
        (b"(%d,%d,%d,%d,%d)" % (user.uid, user.version, user.points, now_ms, user.born_version) for user in users),
        b" ON DUPLICATE KEY UPDATE version = VALUES(version), points = VALUES(points), updated_at = VALUES(updated_at),"
        b" born_version = VALUES(born_version)",
    )
    yield from _in_statements(
        b"INSERT INTO user_task"
        b" (uid, task_id, period_key, progress, state, completed_at, claimed_at, revision, granted, taken_back, members) VALUES ",
        (_task_row(quote, user, key) for user in users for key in sorted(user.touched)),
        b" ON DUPLICATE KEY UPDATE progress = VALUES(progress), state = VALUES(state), completed_at = VALUES(completed_at),"
        b" claimed_at = VALUES(claimed_at), revision = VALUES(revision), granted = VALUES(granted), taken_back = VALUES(taken_back),"
        b" members = VALUES(members)",
    )
    yield from _in_statements(
        b"INSERT INTO grant_outbox (grant_id, uid, version, task_id, period_key, tier, points, total, revision, created_ms) VALUES ",
        (_grant_row(quote, grant, now_ms) for user in users for grant in user.grants),
    )


def _purging(quote: Quote, generation: int, purges: Iterable[Purge], now_ms: int) -> Iterator[bytes]:
    yield from _in_statements(
        b"INSERT INTO cache_purge (uid, generation, version, node, created_ms) VALUES ",
        (b"(%d,%d,%d,%b,%d)" % (it.uid, generation, it.version, quote(it.node), now_ms) for it in purges),
    )


def purge_copy(connection: Connection, generation: int, uid: int, node: str) -> None:
    """A purge row by itself, for what the user is now."""
    connection.execute(
        "INSERT INTO cache_purge (uid, generation, version, node, created_ms)"
        " SELECT uid, %s, version, %s, %s FROM user_state WHERE uid = %s",
        (generation, node, _wall_us() // 1000, uid),
    )


def _task_row(quote: Quote, user: User, key: tuple[int, str]) -> bytes:
    record = user.tasks[key]
    if record.state == IN_PROGRESS and not record.granted and not record.taken_back and record.members is None:
        return b"(%d,%d,%b,%d,0,NULL,NULL,%d,0,0,NULL)" % (user.uid, key[0], quote(key[1]), record.progress, record.revision)
    return b"(%d,%d,%b,%d,%d,%b,%b,%d,%d,%d,%b)" % (
        user.uid,
        key[0],
        quote(key[1]),
        record.progress,
        STATES.index(record.state),
        b"NULL" if record.completed_at is None else b"%d" % record.completed_at,
        b"NULL" if record.claimed_at is None else b"%d" % record.claimed_at,
        record.revision,
        record.granted,
        record.taken_back,
        b"NULL" if record.members is None else b"x'%b'" % record.members.hex().encode(),
    )


def _grant_row(quote: Quote, grant: Grant, now_ms: int) -> bytes:
    name, uid, version, task, period, tier, points, total, revision = grant
    return b"(%b,%d,%d,%d,%b,%d,%d,%d,%d,%d)" % (
        quote(name),
        uid,
        version,
        task,
        quote(period),
        tier,
        points,
        total,
        revision,
        now_ms,
    )


def _in_statements(head: bytes, rows: Iterable[bytes], tail: bytes = b"") -> Iterator[bytes]:
    """Many rows in few statements, each of about STATEMENT_BYTES at the most. None for no rows."""
    some: list[bytes] = []
    size = 0
    for row in rows:
        some.append(row)
        size += len(row)
        if size >= STATEMENT_BYTES:
            yield head + b",".join(some) + tail
            some, size = [], 0
    if some:
        yield head + b",".join(some) + tail


def _wall_us() -> int:
    return time.time_ns() // 1000
