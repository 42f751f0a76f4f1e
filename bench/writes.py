"""Durable writes: TASK.FINISH beside threads that do the same straight on the master."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from random import Random

import MySQLdb

from bench.foreign_clients import FIRST_UID, USERS, redis_benchmark
from bench.measures import Measure
from deploy.local.private_stack import PrivateStack

FINISH = ("TASK.FINISH", "1__rand_int__", "node-1")
CHANGES = '[{"task":1,"period":"once","op":"add","value":1}]'
DIRECT_THREADS = 16
DIRECT_S = 4.0
DEADLOCK = 1213


def measure(stack: PrivateStack) -> Iterator[Measure]:
    direct = _direct_writes_per_s(stack)
    for clients, requests in ((50, 30_000), (200, 40_000)):
        ours = redis_benchmark(stack, *FINISH, f"w{clients}-__rand_int__", CHANGES, clients=clients, requests=requests)
        what = f"{DIRECT_THREADS} threads straight to the master"
        yield Measure(f"TASK.FINISH, {clients} clients", ours.per_s, "/s", direct, what)


def _direct_writes_per_s(stack: PrivateStack) -> float:
    """Event insert, task upsert, state update in one transaction, READ COMMITTED, deadlocks repeated."""
    account = stack.configuration().databases.accounts.workers
    until = time.monotonic() + DIRECT_S
    counts = [0] * DIRECT_THREADS

    def write(number: int) -> None:
        rnd = Random(number)
        connection = MySQLdb.connect(
            host="127.0.0.1", port=stack.master.port, user=account.user, password=account.password, database="tasksys_user"
        )
        cursor = connection.cursor()
        cursor.execute("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
        while time.monotonic() < until:
            uid, event_id = FIRST_UID + rnd.randrange(USERS), f"d{number}-{rnd.getrandbits(60):x}"
            while not _write_once(connection, uid, event_id):
                pass
            counts[number] += 1
        connection.close()

    started_at = time.monotonic()
    threads = [threading.Thread(target=write, args=(number,)) for number in range(DIRECT_THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts) / (time.monotonic() - started_at)


def _write_once(connection: MySQLdb.Connection, uid: int, event_id: str) -> bool:
    """False for a deadlock: nothing happened."""
    cursor = connection.cursor()
    try:
        cursor.execute("INSERT INTO applied_event (uid, event_id, result, day) VALUES (%s, %s, '[]', UTC_DATE())", (uid, event_id))
        cursor.execute(
            "INSERT INTO user_task VALUES (%s, 1, 'once', 1, 0, NULL, NULL, 0) ON DUPLICATE KEY UPDATE progress = progress + 1", (uid,)
        )
        cursor.execute("UPDATE user_state SET version = version + 1 WHERE uid = %s", (uid,))
        connection.commit()
    except MySQLdb.OperationalError as error:
        connection.rollback()
        if error.args[0] != DEADLOCK:
            raise
        return False
    return True
