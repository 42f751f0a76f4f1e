"""A lagging replica: how much of what it may serve it does serve, and that nobody sees anything old."""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Iterator

from bench.foreign_clients import FIRST_UID
from bench.measures import Measure
from deploy.local.private_stack import PrivateStack
from deploy.local.server_process import wait_until

CLIENTS = 16
USERS = 2_000
CHANGES = '[{"task":1,"period":"once","op":"add","value":1}]'


def measure(stack: PrivateStack) -> Iterator[Measure]:
    for lag_s, write_share, seconds in ((1, 0.10, 8.0), (10, 0.02, 8.0)):
        stack.replica.delay(lag_s)
        # Until the lag has built up, what the replica may serve is not what the measure is about.
        _run(stack, write_share, lag_s + 1.0)
        before = _reads(stack)
        stale = _run(stack, write_share, seconds)
        after = _reads(stack)
        safe = after["safe"] - before["safe"]
        served = after["by_server"]["r1"] - before["by_server"]["r1"]
        total = after["total"] - before["total"]
        name = f"lag {lag_s} s, {write_share:.0%} writes"
        yield Measure(f"{name}: share of replica-safe reads it serves", 100 * served / safe, "%", bar=90)
        yield Measure(f"{name}: share of all reads it serves", 100 * served / total, "%", 100 * safe / total, "replica-safe")
        yield Measure(f"{name}: stale reads", stale, "", bar=0, at_most=True)
    stack.replica.delay(0)
    wait_until(lambda: bool((stats := stack.stats()) and stats["replicas"]["r1"]["state"] == "serving"), 30.0)  # type: ignore[index]


def _reads(stack: PrivateStack) -> dict[str, object]:
    return stack.stats()["reads"]  # type: ignore[index,return-value]


def _run(stack: PrivateStack, write_share: float, seconds: float) -> int:
    """Clients read and write for so long; how many answers were older than what was known before they were asked for."""
    newest = [0] * USERS
    lock = threading.Lock()
    until = time.monotonic() + seconds
    stale = [0] * CLIENTS

    def ask(number: int) -> None:
        rnd = random.Random(number)
        with stack.client() as client:
            while time.monotonic() < until:
                user = int(USERS * rnd.random() ** 2)
                with lock:
                    known = newest[user]
                if rnd.random() < write_share:
                    event_id = f"l{rnd.getrandbits(60):x}"
                    answer = client.execute_command("TASK.FINISH", FIRST_UID + user, "node-1", event_id, CHANGES)
                    version = json.loads(answer)["snapshot"]["version"]
                else:
                    version = json.loads(client.execute_command("TASK.GET", FIRST_UID + user, "node-1"))["version"]
                stale[number] += version < known
                with lock:
                    newest[user] = max(newest[user], version)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(stale)
