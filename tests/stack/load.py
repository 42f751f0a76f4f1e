"""Clients at work while something happens: in the end nothing is lost, doubled or stale."""

from __future__ import annotations

from collections.abc import Callable

from deploy.local.private_stack import PrivateStack
from tests.consistency.clients import Load, Run, final_states
from tests.consistency.history import judge
from tests.stack.waiting import eventually


def run_through(stack: PrivateStack, incident: Callable[[], None], operations: int = 6_000) -> None:
    """Clients work, the incident happens in their midst, and in the end nothing is lost, doubled or stale."""
    run = Run(stack, Load(clients=8, users=100, operations=operations, seed=21)).start()
    eventually(lambda: len(run.history) > operations // 6)
    incident()
    history = run.wait()
    stack.wait_until_serving()
    violations = judge(history, final_states(stack))
    assert not violations, str(violations[0])
