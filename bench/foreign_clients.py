"""The programs that make load: redis-benchmark on the DBSvr, mariadb-slap straight on the master."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from typing import NamedTuple

from deploy.local.private_stack import PrivateStack

FIRST_UID = 10**12
USERS = 10_000
WITHIN_S = 240


class Load(NamedTuple):
    """`per_s` requests a second, `p50_ms` of the latency."""

    per_s: float
    p50_ms: float


def redis_benchmark(stack: PrivateStack, *command: str, clients: int, requests: int, pipeline: int = 1) -> Load:
    """`__rand_int__` in the command becomes twelve random digits, below USERS."""
    said = _run(
        [
            "redis-benchmark",
            "-p",
            str(stack.front_port),
            "-c",
            str(clients),
            "-n",
            str(requests),
            "-P",
            str(pipeline),
            "-r",
            str(USERS),
            *command,
        ]
    )
    throughput = re.search(r"throughput summary: ([\d.]+)", said)
    latency = re.search(r"avg\s+min\s+p50.*\n\s+[\d.]+\s+[\d.]+\s+([\d.]+)", said)
    if throughput is None or latency is None:
        raise RuntimeError(f"redis-benchmark {command} printed no summary:\n{said}")
    return Load(float(throughput[1]), float(latency[1]))


def mariadb_slap(stack: PrivateStack, clients: int, queries: int) -> Load:
    """Single users by primary key, with their tasks, over TCP: the statement that one TASK.GET needs."""
    account = stack.configuration().databases.accounts.reading
    statements = ";".join(
        "SELECT s.uid, s.version, s.points, t.task_id, t.period_key, t.progress, t.state, t.completed_at, t.claimed_at, t.revision"
        f" FROM user_state s LEFT JOIN user_task t ON t.uid = s.uid WHERE s.uid = {FIRST_UID + 7919 * number % USERS}"
        for number in range(200)
    )
    said = _run(
        [
            "mariadb-slap",
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
        ]
    )
    seconds = re.search(r"Average number of seconds to run all queries: ([\d.]+)", said)
    if seconds is None:
        raise RuntimeError(f"mariadb-slap printed no summary:\n{said}")
    elapsed = float(seconds[1])
    return Load(queries / elapsed, 1000 * elapsed * clients / queries)


def _run(command: Sequence[str]) -> str:
    result = subprocess.run(command, capture_output=True, text=True, timeout=WITHIN_S, check=False)
    if result.returncode != 0 or "ERROR" in result.stderr:
        raise RuntimeError(f"{command[0]} failed:\n{result.stdout[-1000:]}{result.stderr[-1000:]}")
    return result.stdout
