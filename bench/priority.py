"""Writes go first: what a flood of reads does to a write's latency."""

from __future__ import annotations

import time
from collections.abc import Iterator

from bench.baseline import Baseline
from bench.counters import reads_of
from bench.foreign_clients import flood, redis_benchmark
from bench.measures import Measure
from bench.progress import say
from bench.reads import GET, requests_for
from bench.writes import finish
from deploy.local.private_stack import PrivateStack
from deploy.local.server_process import ServerFailed, wait_until

READERS = 200
WRITERS = 4
SECONDS = 2.0
AT_MOST = 6_000


def measure(stack: PrivateStack) -> Iterator[Measure]:
    say(f"priority: {WRITERS} clients write, alone and while {READERS} flood reads")
    writes = requests_for(redis_benchmark(stack, *finish(), clients=WRITERS, requests=300).per_s, SECONDS, AT_MOST)
    alone = Baseline(lambda: _write_p99_ms(stack, writes))
    (p99_ms, reads_per_s), alone_ms = alone.around(lambda: _under_a_flood(stack, writes))
    yield Measure(f"write p99 while {READERS} clients read", p99_ms, "ms", alone_ms, "alone", bar=5, aim=3, at_most=True)
    yield Measure("reads answered meanwhile", reads_per_s, "/s")


def _write_p99_ms(stack: PrivateStack, writes: int) -> float:
    p99_ms = redis_benchmark(stack, *finish(), clients=WRITERS, requests=writes).p99_ms
    if p99_ms is None:
        raise RuntimeError("redis-benchmark printed no p99")
    return p99_ms


def _under_a_flood(stack: PrivateStack, writes: int) -> tuple[float, float]:
    with flood(stack, *GET, clients=READERS):
        first = reads_of(stack)["total"]
        if not wait_until(lambda: reads_of(stack)["total"] > first + 10 * READERS, 20.0):
            raise ServerFailed("the flood of reads did not begin within 20 s")
        before, began_at = reads_of(stack)["total"], time.monotonic()
        p99_ms = _write_p99_ms(stack, writes)
        return p99_ms, (reads_of(stack)["total"] - before) / (time.monotonic() - began_at)
