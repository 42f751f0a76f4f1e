"""Reads: TASK.GET and TASK.MGET beside the same reads straight from the master."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from statistics import fmean

from bench import direct
from bench.baseline import Baseline
from bench.direct import FIRST_UID, USERS
from bench.foreign_clients import RANDOM_UID, redis_benchmark, slap_reads, slap_reads_of
from bench.measures import Measure
from bench.progress import say
from bench.together import run_together
from deploy.local.private_stack import PrivateStack

GET = ("TASK.GET", RANDOM_UID, "node-1")
MANY = 50
MGET = ("TASK.MGET", "node-1", *[RANDOM_UID] * MANY)
SECONDS = 2.0
"""About, for each figure: how many requests that are is found out first, or a busy machine would measure for minutes."""
AT_MOST = 80_000
THREADS = 16
THREADS_S = 2.0


def measure(stack: PrivateStack) -> Iterator[Measure]:
    requests = requests_for(slap_reads(stack, 50, 10_000).per_s, SECONDS, AT_MOST)
    say(f"reads: 50 clients, {requests:,} requests")
    by_50 = Baseline(lambda: slap_reads(stack, 50, requests).per_s)
    what = "mariadb-slap, 50 clients"
    ours, theirs = by_50.around(lambda: redis_benchmark(stack, *GET, clients=50, requests=requests))
    yield Measure("TASK.GET, 50 clients", ours.per_s, "/s", theirs, what, bar=1.0, aim=1.3)
    ours, theirs = by_50.around(lambda: redis_benchmark(stack, *GET, clients=50, requests=2 * requests, pipeline=8))
    yield Measure("TASK.GET, pipeline of 8, 50 clients", ours.per_s, "/s", theirs, what, bar=2, aim=3)
    ours, theirs = by_50.around(lambda: redis_benchmark(stack, *MGET, clients=50, requests=4 * requests // MANY))
    users_per_s = ours.per_s * MANY
    yield Measure(f"TASK.MGET of {MANY}, 50 clients, users", users_per_s, "/s", theirs, what, bar=4, aim=6)
    in_lists = slap_reads_of(stack, MANY, 50, 4 * requests // MANY)
    yield Measure(
        f"TASK.MGET of {MANY} beside IN ({MANY}), users", users_per_s, "/s", [in_lists.per_s], f"{what}, {MANY} users a statement"
    )

    say("reads: 200 clients")
    by_200 = Baseline(lambda: slap_reads(stack, 200, requests).per_s)
    ours, theirs = by_200.around(lambda: redis_benchmark(stack, *GET, clients=200, requests=requests))
    yield Measure("TASK.GET, 200 clients", ours.per_s, "/s", theirs, "mariadb-slap, 200 clients", bar=1.2, aim=1.6)

    say("reads: one client")
    alone = Baseline(lambda: slap_reads(stack, 1, 5_000).mean_ms)
    ours, direct_ms = alone.around(lambda: redis_benchmark(stack, *GET, clients=1, requests=5_000))
    yield Measure("one client: added latency, mean", ours.mean_ms - fmean(direct_ms), "ms", bar=0.4, aim=0.2, at_most=True)
    yield Measure("one client: latency, mean", ours.mean_ms, "ms", direct_ms, "mariadb-slap, 1 client")

    say(f"reads: {THREADS} Python threads")
    by_threads = Baseline(lambda: direct.reads_per_s(stack, THREADS, THREADS_S))
    threads_per_s, theirs = by_threads.around(lambda: _gets_per_s(stack))
    yield Measure(f"TASK.GET, {THREADS} Python threads", threads_per_s, "/s", theirs, f"{THREADS} Python threads straight to the master")


def requests_for(per_s: float, seconds: float, at_most: int) -> int:
    """A round number that takes about so long at that speed."""
    return max(1_000, min(at_most, int(per_s * seconds) // 1_000 * 1_000))


def _gets_per_s(stack: PrivateStack) -> float:
    until = time.monotonic() + THREADS_S
    counts = [0] * THREADS

    def ask(number: int) -> None:
        rnd = random.Random(number)
        with stack.client() as client:
            while time.monotonic() < until:
                client.execute_command("TASK.GET", FIRST_UID + rnd.randrange(USERS), "node-1")
                counts[number] += 1

    began_at = time.monotonic()
    run_together(ask, THREADS)
    return sum(counts) / (time.monotonic() - began_at)
