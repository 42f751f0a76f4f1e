"""Incidents that clients make: too many, too slow, too much, and what is no request at all."""

from __future__ import annotations

import socket
from collections.abc import Callable

import pytest

from deploy.local.private_stack import PrivateStack
from tests.stack.asking import Asked
from tests.stack.task_client import TaskClient, change
from tests.stack.waiting import eventually
from workers.protocol import DBSvrError

MakeStack = Callable[..., PrivateStack]


def test_overload_is_answered_at_once(make_stack: MakeStack) -> None:
    stack = make_stack(backlog=100, deadline_ms=30_000, age_limit_ms=20_000)
    for worker in (stack.master_worker, stack.replica_worker):
        worker.freeze()
    with stack.client() as connection:
        pipe = connection.pipeline(transaction=False)
        for uid in range(1, 301):
            pipe.execute_command("TASK.GET", uid, "node-1")
        waiting = Asked(stack, "TASK.MGET", "node-1", *range(1, 101))
        eventually(lambda: (stats := stack.stats()) and stats["queues"]["query"]["depth"] == 100)

        with pytest.raises(DBSvrError, match="retry after"):
            TaskClient(stack).get(7)
    for worker in (stack.master_worker, stack.replica_worker):
        worker.thaw()
    assert len(waiting.answer) == 100


def test_slow_client_that_does_not_read_its_answers_is_cut(make_stack: MakeStack) -> None:
    stack = make_stack(max_output_bytes=65_536)
    client = TaskClient(stack)
    client.finish(7, changes=[change(task=number + 1) for number in range(500)])
    with socket.create_connection(("127.0.0.1", stack.front_port)) as slow:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.sendall(b"*3\r\n$8\r\nTASK.GET\r\n$1\r\n7\r\n$6\r\nnode-1\r\n" * 2_000)
        eventually(lambda: client.stats()["connections"]["cut"] == 1)

    assert client.get(7).version == 1
