"""Durable writes: TASK.FINISH beside threads that do the same straight on the master."""

from __future__ import annotations

import time
from collections.abc import Iterator

from bench import direct
from bench.baseline import Baseline
from bench.foreign_clients import RANDOM_UID, redis_benchmark, slap_writes
from bench.measures import Measure
from bench.progress import say
from bench.reads import requests_for
from deploy.local.private_stack import PrivateStack

CHANGES = '[{"task":1,"period":"once","op":"add","value":1}]'
DIRECT_THREADS = 16
DIRECT_S = 3.0
SECONDS = 2.0
AT_MOST = 60_000


def measure(stack: PrivateStack) -> Iterator[Measure]:
    directly = Baseline(lambda: direct.writes_per_s(stack, DIRECT_THREADS, DIRECT_S))
    direct_per_s = direct.writes_per_s(stack, DIRECT_THREADS, 1.0)
    for clients, bar, aim in ((50, 2.5, 4), (200, 5, 8)):
        requests = requests_for(bar * direct_per_s, SECONDS, AT_MOST)
        say(f"writes: {clients} clients, {requests:,} requests")
        ours, theirs = directly.around(lambda: redis_benchmark(stack, *finish(), clients=clients, requests=requests))  # noqa: B023  # at once
        what = f"{DIRECT_THREADS} threads straight to the master"
        yield Measure(f"TASK.FINISH, {clients} clients", ours.per_s, "/s", theirs, what, bar, aim)
        say(f"writes: {clients} C clients straight to the master")
        slap = slap_writes(stack, clients, requests_for(direct_per_s, SECONDS, AT_MOST))
        yield Measure(f"TASK.FINISH, {clients} clients beside as many", ours.per_s, "/s", [slap.per_s], f"mariadb-slap, {clients} clients")


def finish() -> tuple[str, ...]:
    """With event ids that no earlier call used: a repeated event changes nothing, and would be no durable write."""
    return ("TASK.FINISH", RANDOM_UID, "node-1", f"{time.monotonic_ns():x}-__rand_int__-__rand_int__-__rand_int__", CHANGES)
