"""The same work straight on the databases: what a service would do that has no DBSvr.

One connection a thread. The statements stand here once, so that every comparison means the same by "the same read".
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from random import Random

import MySQLdb

from bench.together import run_together
from deploy.local.private_stack import PrivateStack

FIRST_UID = 10**12
USERS = 10_000
"""Loaded with three tasks each before anything is measured."""

READ_SQL = (
    "SELECT s.uid, s.version, s.points, t.task_id, t.period_key, t.progress, t.state, t.completed_at, t.claimed_at, t.revision, t.granted"
    " FROM user_state s LEFT JOIN user_task t ON t.uid = s.uid WHERE s.uid = {uid}"
)
INSERT_EVENT_SQL = "INSERT INTO applied_event (uid, event_id, result, day) VALUES ({uid}, {event_id}, '[]', UTC_DATE())"
UPSERT_TASK_SQL = (
    "INSERT INTO user_task (uid, task_id, period_key, progress, state, revision) VALUES ({uid}, 1, 'once', 1, 0, 0)"
    " ON DUPLICATE KEY UPDATE progress = progress + 1"
)
# last_insert_id() carries the new version back without a round trip of its own.
UPDATE_STATE_SQL = "UPDATE user_state SET version = last_insert_id(version + 1) WHERE uid = {uid}"
DEADLOCK = 1213
READ_TIMEOUT_S = 30


def connect(address: tuple[str, int], user: str, password: str) -> MySQLdb.Connection:
    """Autocommit: a read must not be answered from the snapshot of an earlier one."""
    host, port = address
    return MySQLdb.connect(
        host=host,
        port=port,
        user=user,
        password=password,
        database="tasksys_user",
        autocommit=True,
        connect_timeout=5,
        read_timeout=READ_TIMEOUT_S,
    )


def connect_as_worker(stack: PrivateStack, port: int) -> MySQLdb.Connection:
    """Not from several threads at once: the stack's configuration is found through the environment."""
    account = stack.configuration().databases.accounts.workers
    return connect(("127.0.0.1", port), account.user, account.password)


def read_version(connection: MySQLdb.Connection, uid: int) -> int:
    """The whole read, of which the judge needs the version; 0 for an unknown user."""
    cursor = connection.cursor()
    cursor.execute(READ_SQL.format(uid=uid))
    rows = cursor.fetchall()
    return int(rows[0][1]) if rows else 0


def write_event(connection: MySQLdb.Connection, uid: int, event_id: str) -> int:
    """The new version. One transaction, repeated after a deadlock; `event_id` is ours and needs no quoting."""
    while True:
        cursor = connection.cursor()
        try:
            if connection.get_autocommit():  # else a statement begins one by itself, a round trip less
                cursor.execute("BEGIN")
            cursor.execute(INSERT_EVENT_SQL.format(uid=uid, event_id=f"'{event_id}'"))
            cursor.execute(UPSERT_TASK_SQL.format(uid=uid))
            cursor.execute(UPDATE_STATE_SQL.format(uid=uid))
            version = int(cursor.lastrowid)
            connection.commit()
        except MySQLdb.OperationalError as error:
            connection.rollback()
            if error.args[0] != DEADLOCK:
                raise
        else:
            return version


def reads_per_s(stack: PrivateStack, threads: int, seconds: float) -> float:
    """Single users by primary key, each thread over a connection of its own."""

    def read_one(connection: MySQLdb.Connection, rnd: Random) -> None:
        read_version(connection, FIRST_UID + rnd.randrange(USERS))

    return _rate(stack, threads, seconds, read_one)


def writes_per_s(stack: PrivateStack, threads: int, seconds: float) -> float:
    """Event insert, task upsert, state update in one transaction under READ COMMITTED, deadlocks repeated."""
    salt = f"d{time.monotonic_ns():x}"

    def write_one(connection: MySQLdb.Connection, rnd: Random) -> None:
        write_event(connection, FIRST_UID + rnd.randrange(USERS), f"{salt}-{rnd.getrandbits(60):x}")

    return _rate(stack, threads, seconds, write_one, autocommit=False)


def _rate(
    stack: PrivateStack,
    threads: int,
    seconds: float,
    do_one: Callable[[MySQLdb.Connection, Random], None],
    autocommit: bool = True,
) -> float:
    """How many a second by all threads; connecting does not count."""
    with ExitStack() as opened:
        connections = [opened.enter_context(closing(connect_as_worker(stack, stack.master.port))) for _ in range(threads)]
        for connection in connections:
            connection.autocommit(autocommit)
            connection.cursor().execute("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
        counts = [0] * threads
        began_at = time.monotonic()

        def repeat(number: int) -> None:
            rnd = Random(number)
            while time.monotonic() < began_at + seconds:
                do_one(connections[number], rnd)
                counts[number] += 1

        run_together(repeat, threads)
        return sum(counts) / (time.monotonic() - began_at)
