"""Reads: TASK.GET and TASK.MGET beside the same reads straight from the master."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator

from bench.foreign_clients import FIRST_UID, USERS, mariadb_slap, redis_benchmark
from bench.measures import Measure
from deploy.local.private_stack import PrivateStack

GET = ("TASK.GET", "1__rand_int__", "node-1")
REQUESTS = 100_000


def measure(stack: PrivateStack) -> Iterator[Measure]:
    direct = {}
    for clients, bar in ((50, 0.8), (200, 0.8)):
        # Ours between two of theirs, so that a machine whose speed drifts favours neither.
        before = mariadb_slap(stack, clients, REQUESTS)
        ours = redis_benchmark(stack, *GET, clients=clients, requests=REQUESTS)
        after = mariadb_slap(stack, clients, REQUESTS)
        direct[clients] = (before.per_s + after.per_s) / 2
        what = f"mariadb-slap, {clients} clients"
        yield Measure(f"TASK.GET, {clients} clients", ours.per_s, "/s", direct[clients], what, bar)
    deep = redis_benchmark(stack, *GET, clients=50, requests=2 * REQUESTS, pipeline=8)
    yield Measure("TASK.GET, pipeline of 8, 50 clients", deep.per_s, "/s", direct[50], "mariadb-slap, 50 clients")
    yield Measure("TASK.MGET of 50, users", _mget_users_per_s(stack), "/s", direct[50], "mariadb-slap, 50 clients")
    alone, alone_direct = redis_benchmark(stack, *GET, clients=1, requests=5_000), mariadb_slap(stack, 1, 5_000)
    added = alone.p50_ms - alone_direct.p50_ms
    yield Measure("one client: added latency", added, "ms")


def _mget_users_per_s(stack: PrivateStack, clients: int = 8, seconds: float = 3.0) -> float:
    until = time.monotonic() + seconds
    counts = [0] * clients

    def ask(number: int) -> None:
        rnd = random.Random(number)
        with stack.client() as client:
            while time.monotonic() < until:
                uids = [FIRST_UID + rnd.randrange(USERS) for _ in range(50)]
                counts[number] += len(client.execute_command("TASK.MGET", "node-1", *uids))

    started_at = time.monotonic()
    threads = [threading.Thread(target=ask, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts) / (time.monotonic() - started_at)
