"""The programs that make load: redis-benchmark on the DBSvr, mariadb-slap straight on the master. Both are written in C."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from signal import SIGKILL
from typing import NamedTuple

from bench.direct import FIRST_UID, READ_SQL, UPDATE_STATE_SQL, UPSERT_TASK_SQL, USERS
from deploy.local.private_stack import PrivateStack
from deploy.local.server_process import dies_with_parent, find_program

WITHIN_S = 120
RANDOM_UID = "1__rand_int__"
"""redis-benchmark puts twelve random digits, below USERS, for each `__rand_int__`."""


class Load(NamedTuple):
    """Requests a second, and latencies over the run."""

    per_s: float
    mean_ms: float
    p99_ms: float | None


def redis_benchmark(stack: PrivateStack, *command: str, clients: int, requests: int, pipeline: int = 1) -> Load:
    said = _run([*_redis_benchmark(stack, clients), "-n", str(requests), "-P", str(pipeline), *command])
    return read_redis_benchmark(said)


def read_redis_benchmark(said: str) -> Load:
    """Its closing summary: throughput, then `avg min p50 p95 p99 max` of the latency in milliseconds."""
    throughput = re.search(r"throughput summary: ([\d.]+)", said)
    latency = re.search(r"avg\s+min\s+p50\s+p95\s+p99\s+max\s*\n\s*([\d.]+)\s+[\d.]+\s+[\d.]+\s+[\d.]+\s+([\d.]+)", said)
    if throughput is None or latency is None:
        raise RuntimeError(f"redis-benchmark printed no summary:\n{said}")
    return Load(float(throughput[1]), float(latency[1]), float(latency[2]))


@contextmanager
def flood(stack: PrivateStack, *command: str, clients: int) -> Iterator[None]:
    """The same command over and over, for as long as the block lasts."""
    command_line = [*_redis_benchmark(stack, clients), "-n", "1000000000", "-q", *command]
    process = subprocess.Popen([*dies_with_parent(SIGKILL), *command_line], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
        if process.poll() is not None:
            raise RuntimeError(f"{' '.join(command_line)} ended by itself with {process.returncode}: there was no flood")
    finally:
        process.kill()
        process.wait()


def _redis_benchmark(stack: PrivateStack, clients: int) -> list[str]:
    return [find_program("redis-benchmark"), "-p", str(stack.front_port), "-c", str(clients), "-r", str(USERS)]


def slap_reads(stack: PrivateStack, clients: int, queries: int) -> Load:
    """Single users by primary key, with their tasks, over TCP: the statement that one TASK.GET needs. 200 users in turn."""
    uids = [FIRST_UID + 7919 * number % USERS for number in range(200)]
    return _slap(stack, clients, queries, ";".join(READ_SQL.format(uid=uid) for uid in uids))


def slap_reads_of(stack: PrivateStack, many: int, clients: int, queries: int) -> Load:
    """As many users by one statement, `IN (…)`; counted in users a second."""
    statements = []
    for first in range(50):
        uids = ",".join(str(FIRST_UID + 7919 * (first * many + number) % USERS) for number in range(many))
        statements.append(READ_SQL.replace("= {uid}", f"IN ({uids})"))
    load = _slap(stack, clients, queries, ";".join(statements))
    return load._replace(per_s=load.per_s * many)


def slap_writes(stack: PrivateStack, clients: int, transactions: int) -> Load:
    """Random users: event insert, task upsert, state update in one transaction under READ COMMITTED; counted in transactions."""
    statements = [
        f"INSERT INTO applied_event VALUES (@uid := {FIRST_UID} + FLOOR(RAND() * {USERS}), UUID(), '[]', UTC_DATE())",
        UPSERT_TASK_SQL.format(uid="@uid"),
        UPDATE_STATE_SQL.format(uid="@uid"),
        "COMMIT",
    ]
    load = _slap(
        stack,
        clients,
        transactions * len(statements),
        ";".join(statements),
        "--init-command=SET SESSION autocommit = 0, SESSION tx_isolation = 'READ-COMMITTED'",
    )
    return load._replace(per_s=load.per_s / len(statements), mean_ms=load.mean_ms * len(statements))


def _slap(stack: PrivateStack, clients: int, queries: int, statements: str, *options: str) -> Load:
    account = stack.configuration().databases.accounts.workers
    said = _run(
        [
            find_program("mariadb-slap"),
            "--no-defaults",
            "--host=127.0.0.1",
            f"--port={stack.master.port}",
            f"--user={account.user}",
            f"--password={account.password}",
            "--no-drop",
            "--create-schema=tasksys_user",
            "--delimiter=;",
            f"--query={statements}",
            f"--concurrency={clients}",
            f"--number-of-queries={queries}",
            *options,
        ]
    )
    return read_slap(said, clients, queries)


def read_slap(said: str, clients: int, queries: int) -> Load:
    """It says only how long everything took; each client always has one query under way."""
    seconds = re.search(r"Average number of seconds to run all queries: ([\d.]+)", said)
    if seconds is None:
        raise RuntimeError(f"mariadb-slap printed no summary:\n{said}")
    elapsed = float(seconds[1])
    return Load(queries / elapsed, 1000 * elapsed * clients / queries, None)


def _run(command: Sequence[str]) -> str:
    result = subprocess.run(command, capture_output=True, text=True, timeout=WITHIN_S, check=False)
    if result.returncode != 0 or "ERROR" in result.stderr:
        raise RuntimeError(f"{command[0]} failed:\n{result.stdout[-1000:]}{result.stderr[-1000:]}")
    return result.stdout
