"""Incidents of the kernel's message queues."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
import sysv_ipc

from deploy.local.private_stack import PrivateStack
from tests.stack.asking import Asked
from tests.stack.load import run_through
from tests.stack.task_client import TaskClient, change
from tests.stack.waiting import eventually
from tests.stack.wire import Wire
from workers.lanes import LANE_BYTES
from workers.messages import MOST_USERS, encode_ticket, ticket_bytes

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
    sysv_ipc.MessageQueue(stack.queue_key).send(encode_ticket(1, 1, 1, 0, 2**62, [7]), True, 1)
    sysv_ipc.MessageQueue(stack.queue_key + 1).send(b"x", True, 1)
    stack.master_worker.start()
    stack.wait_until_serving()

    client = TaskClient(stack)
    assert client.finish(7).base_version == 0, "what the dead front had queued was executed"
    assert client.get(7).version == 1


def test_queue_full_nothing_is_lost_and_order_is_kept(make_stack: MakeStack) -> None:
    """Five times what a stock queue holds waits in each queue: the rest stands in line at the front, in its order."""
    stack = make_stack(deadline_ms=60_000, age_limit_ms=50_000)
    watcher = TaskClient(stack)
    for worker in (stack.master_worker, stack.replica_worker):
        worker.freeze()
    count = 2_000
    writer, reader = Wire(stack, timeout_s=60), Wire(stack, timeout_s=60)
    body = json.dumps([change()])
    for number in range(count):
        writer.ask("TASK.FINISH", "7", "node-1", f"e{number}", body)
        reader.ask("TASK.GET", str(1_000 + number), "node-1")
    for queue in ("finish", "query"):
        eventually(lambda queue=queue: sum(watcher.stats()["queues"][queue][where] for where in ("depth", "backlog")) == count)
        # A stock queue of 16 KiB holds no more: reads in groups (their lane has half of it), writes one a ticket.
        most = MOST_USERS * (LANE_BYTES // ticket_bytes(1, MOST_USERS) + 1) if queue == "query" else 2 * LANE_BYTES // ticket_bytes(1, 1)
        assert watcher.stats()["queues"][queue]["depth"] <= most
    for worker in (stack.replica_worker, stack.master_worker):
        worker.thaw()

    progress = [json.loads(writer.answer())["results"][0]["progress"] for _ in range(count)]
    assert progress == list(range(1, count + 1)), "each once, in the order of one connection"
    assert [json.loads(reader.answer())["uid"] for _ in range(count)] == list(range(1_000, 1_000 + count))
    assert watcher.get(7).version == count
    writer.close()
    reader.close()


def test_queue_filled_by_somebody_else(make_stack: MakeStack) -> None:
    """Not one ticket of ours finds room. They stand in line, and go in when the workers have thrown the rubbish out."""
    stack = make_stack(deadline_ms=30_000)
    for worker in (stack.master_worker, stack.replica_worker):
        worker.freeze()
    for offset in range(3):
        queue = sysv_ipc.MessageQueue(stack.queue_key + offset)
        with pytest.raises(sysv_ipc.BusyError):
            fill(queue)
    write = Asked(stack, "TASK.FINISH", 7, "node-1", "e1", json.dumps([change()]))
    eventually(lambda: (stats := stack.stats()) and stats["queues"]["finish"]["backlog"] == 1)
    read = Asked(stack, "TASK.GET", 8, "node-1")
    eventually(lambda: (stats := stack.stats()) and stats["queues"]["query"]["backlog"] == 1)
    for worker in (stack.master_worker, stack.replica_worker):
        worker.thaw()

    assert write.answer["applied"]
    assert read.answer["uid"] == 8
    assert TaskClient(stack).clear(7).applied


def test_ticket_of_a_write_taken_out_of_the_queue_by_somebody_else(make_stack: MakeStack) -> None:
    """A frozen predecessor that thaws may do so. The write's outcome becomes known all the same, and its user is not in flight for ever."""
    stack = make_stack(deadline_ms=500, clear_age_limit_ms=500)
    client = TaskClient(stack)
    stack.master_worker.freeze()
    write = Asked(stack, "TASK.FINISH", 7, "node-1", "e1", json.dumps([change()]))
    clear = Asked(stack, "TASK.CLEAR", 8, "node-1", "c1")
    eventually(lambda: client.stats()["queues"]["finish"]["depth"] == client.stats()["queues"]["clear"]["depth"] == 1)
    for offset in (0, 2):
        sysv_ipc.MessageQueue(stack.queue_key + offset).receive(False)
    stack.master_worker.thaw()
    assert isinstance(write.answer, Exception)
    assert isinstance(clear.answer, Exception)

    eventually(lambda: client.stats()["users"]["in_flight"] == 0, within_s=20)

    assert client.finish(7, "e1").base_version == 0
    eventually(lambda: client.get(8).version == 1)


def fill(queue: sysv_ipc.MessageQueue) -> None:
    while True:
        queue.send(b"rubbish", False, 1)
