"""Incidents of the kernel's message queues."""

from __future__ import annotations

import json
from collections.abc import Callable

import sysv_ipc

from deploy.local.private_stack import PrivateStack
from tests.stack.asking import Asked
from tests.stack.load import run_through
from tests.stack.task_client import TaskClient, change
from tests.stack.waiting import eventually
from workers.messages import encode_ticket

MakeStack = Callable[..., PrivateStack]


def test_queue_removed_from_outside(make_stack: MakeStack) -> None:
    stack = make_stack()

    def incident() -> None:
        for offset in range(3):
            sysv_ipc.MessageQueue(stack.queue_key + offset).remove()

    run_through(stack, incident)


def test_leftovers_of_a_crashed_run_in_the_queues_are_never_executed(make_stack: MakeStack) -> None:
    stack = make_stack(deadline_ms=30_000)
    stack.master_worker.freeze()
    Asked(stack, "TASK.FINISH", 7, "node-1", "old", json.dumps([change()]))
    eventually(lambda: (stats := stack.stats()) and stats["queues"]["finish"]["depth"] == 1)
    stack.front.kill()
    stack.master_worker.kill()

    stack.front.start()
    eventually(lambda: stack.stats() is not None)
    sysv_ipc.MessageQueue(stack.queue_key).send(encode_ticket(1, 1, 1, 7, 0, 2**62), True, 1)
    sysv_ipc.MessageQueue(stack.queue_key + 1).send(b"x", True, 1)
    stack.master_worker.start()
    stack.wait_until_serving()

    client = TaskClient(stack)
    assert client.finish(7).base_version == 0, "what the dead front had queued was executed"
    assert client.get(7).version == 1
