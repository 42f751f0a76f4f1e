"""What tests of a pair share: its users, clients that go on through an incident, and how soon they had answers again."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import redis

from deploy.local.private_stack import PrivateStack
from tests.consistency.clients import INTERFACE, Load, Run, final_states
from tests.consistency.history import Operation, judge
from tests.stack.pair_client import PairClient
from tests.stack.segments import OF_A
from tests.stack.task_client import TaskClient
from tests.stack.waiting import eventually
from workers.protocol import DBSvrError

LEASE_S = 2.0
LATE = 3
"""Deadlines of the tests are so many times those that are promised: the machine has other things to do."""
PAIR: dict[str, Any] = {"instances": ("a", "b"), "hold_ms": 1_000, "give_back_after_ms": 1_000}


def kill(stack: PrivateStack, instance: str) -> float:
    for process in stack.dbsvrs[instance].processes:
        process.kill()
    return time.monotonic()


def start(stack: PrivateStack, instance: str) -> float:
    for process in stack.dbsvrs[instance].processes:
        process.start()
    return time.monotonic()


def written(client: TaskClient | PairClient, uid: int, event_id: str) -> Any:
    """The answer; None when there was none that is worth waiting for."""
    try:
        return client.finish(uid, event_id)
    except DBSvrError as error:
        if not error.retryable:
            raise
    except redis.RedisError:
        pass  # its front is not there
    return None


def is_of_a(uid: int) -> bool:
    return uid <= OF_A


def run_through(stack: PrivateStack, incident: Callable[[], None], clients: int = 8, write_share: float = 0.3) -> list[Operation]:
    """Clients like logic nodes work, the incident happens in their midst; nothing is lost, doubled or stale. What they did and saw."""
    load = Load(clients=clients, users=200, write_share=write_share, operations=3_000, seed=21, timeout_s=4.0, via=INTERFACE)
    run = Run(stack, load).start()
    eventually(lambda: len(run.history) > 500)
    with run.going_on():
        incident()
    history = run.wait()
    stack.wait_until_serving(60)
    eventually(lambda: all(stack.stats(name)["users"]["in_flight"] == 0 for name in stack.dbsvrs), within_s=20)
    violations = judge(history, final_states(stack))
    assert not violations, str(violations[0])
    return history


def print_figures(title: str, **seconds: float) -> None:
    """For `pytest -s`: what was measured, on this machine, as busy as it is."""
    print(f"\n{title}: " + ", ".join(f"{name} {1000 * value:.0f} ms" for name, value in seconds.items()))
