"""Clients at work while something happens: in the end nothing is lost, doubled or stale."""

from __future__ import annotations

from collections.abc import Callable

from deploy.local.private_stack import PrivateStack
from tests.consistency.clients import Load, Run, final_states
from tests.consistency.history import Operation, judge
from tests.stack.waiting import eventually


def run_through(stack: PrivateStack, incident: Callable[[], None], operations: int = 6_000, timeout_s: float = 4.0) -> list[Operation]:
    """Clients work, the incident happens in their midst, and in the end nothing is lost, doubled or stale. What they did and saw.

    They go on until the incident is over, however long it takes. `timeout_s` is how long a client waits for an answer.
    """
    load = Load(clients=8, users=100, operations=operations, seed=21, timeout_s=timeout_s)
    run = Run(stack, load).start()
    eventually(lambda: len(run.history) > operations // 6)
    with run.going_on():
        incident()
    history = run.wait()
    stack.wait_until_serving()
    eventually(lambda: stack.stats()["users"]["in_flight"] == 0, within_s=20)
    violations = judge(history, final_states(stack))
    assert not violations, str(violations[0])
    return history
