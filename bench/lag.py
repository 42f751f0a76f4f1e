"""A lagging replica at full load: how much of what it may serve it does serve, and that nobody sees anything old."""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Iterator

from bench.counters import reads_of, served_of_safe, shares
from bench.direct import FIRST_UID
from bench.measures import Measure
from bench.progress import say
from bench.replica_lag import make_lag
from bench.together import run_together
from bench.writes import CHANGES
from deploy.local.private_stack import PrivateStack

CLIENTS = 16
USERS = 2_000
SECONDS = 6.0


def measure(stack: PrivateStack) -> Iterator[Measure]:
    for lag_s, write_share in ((1, 0.10), (10, 0.02)):
        name = f"lag {lag_s} s, {write_share:.0%} writes"
        say(f"lag: {name}")
        make_lag(stack, lag_s)
        # Until the lag has built up, what the replica may serve is not what the measure is about.
        _run(stack, write_share, lag_s + 1.0)
        before = reads_of(stack)
        stale = _run(stack, write_share, SECONDS)
        after = reads_of(stack)
        served, safe = (100 * share for share in shares(before, after))
        yield Measure(f"{name}: share of replica-safe reads that it serves", served_of_safe(before, after), "%", bar=95, aim=99)
        yield Measure(f"{name}: share of all reads that it serves", served, "%", [safe], "replica-safe")
        yield Measure(f"{name}: stale reads", stale, "", bar=0, aim=0, at_most=True)
    make_lag(stack, 0)


def _run(stack: PrivateStack, write_share: float, seconds: float) -> int:
    """Clients read and write for so long; how many answers were older than what was known before they were asked for."""
    newest = [0] * USERS
    lock = threading.Lock()
    until = time.monotonic() + seconds
    stale = [0] * CLIENTS

    def ask(number: int) -> None:
        rnd = random.Random(number)
        salt = f"l{time.monotonic_ns():x}"
        with stack.client() as client:
            while time.monotonic() < until:
                user = int(USERS * rnd.random() ** 2)
                with lock:
                    known = newest[user]
                if rnd.random() < write_share:
                    event_id = f"{salt}-{rnd.getrandbits(60):x}"
                    answer = client.execute_command("TASK.FINISH", FIRST_UID + user, "node-1", event_id, CHANGES)
                    version = json.loads(answer)["snapshot"]["version"]
                else:
                    version = json.loads(client.execute_command("TASK.GET", FIRST_UID + user, "node-1"))["version"]
                stale[number] += version < known
                with lock:
                    newest[user] = max(newest[user], version)

    run_together(ask, CLIENTS)
    return sum(stale)
