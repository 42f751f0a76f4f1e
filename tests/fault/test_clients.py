"""Incidents that clients make: too many, too slow, too much, and what is no request at all."""

from __future__ import annotations

import json
import resource
import socket
from collections.abc import Callable, Iterator

import pytest

from deploy.local.private_stack import PrivateStack
from tests.stack.asking import Asked
from tests.stack.load import run_through
from tests.stack.task_client import TaskClient, change
from tests.stack.waiting import eventually
from tests.stack.wire import Wire, encoded
from workers.protocol import DBSvrError

MakeStack = Callable[..., PrivateStack]
CONNECTIONS = 10_000


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


@pytest.fixture
def many_files() -> Iterator[None]:
    """This process may open 10,000 connections too."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = CONNECTIONS + 500
    if hard != resource.RLIM_INFINITY and hard < wanted:
        pytest.skip(f"the hard limit of open files is {hard}, {wanted} are needed: raise it (ulimit -Hn)")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_10000_connections_are_served_and_one_more_is_told_why_not(make_stack: MakeStack, many_files: None) -> None:
    """The front starts under a shell's usual limit of 1,024 files, and raises it by itself."""

    def under_a_usual_limit(stack: PrivateStack) -> None:
        stack.front.command = ["/bin/sh", "-c", 'ulimit -Sn 1024 && exec "$@"', "sh", *stack.front.command]

    stack = make_stack(before=under_a_usual_limit, max_clients=CONNECTIONS, deadline_ms=30_000)
    eventually(lambda: stack.stats()["connections"]["now"] == 1)  # only this question's own
    wires = []
    try:
        for _ in range(CONNECTIONS):
            wires.append(Wire(stack))  # so that those opened are closed when one fails
        for wire in wires[::100]:
            wire.ask("TASK.GET", "7", "node-1")
        assert all(b'"uid":7,' in wire.answer() for wire in wires[::100])
        wires[-1].ask("TASK.STATS")
        assert json.loads(wires[-1].answer())["connections"]["now"] == CONNECTIONS

        with Wire(stack) as one_more:
            assert one_more.answer() == b"-OVERLOADED too many connections, retry after 1000 ms"
            assert one_more.answer() == b"", "and it is closed"

        for wire in wires[:100]:
            wire.close()
        eventually(lambda: stack.stats() is not None)
        assert TaskClient(stack).finish(7).applied
    finally:
        for wire in wires:
            wire.close()


def test_garbage_half_a_frame_and_an_endless_frame_on_the_port_harm_nobody_else(make_stack: MakeStack) -> None:
    stack = make_stack()
    garbage = [b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02\x00", b"*1\r\n$-5\r\n", b"*100000000\r\n", b"\xff" * 5000 + b"\r\n"]

    def incident() -> None:
        half = [Wire(stack) for _ in range(50)]
        for place, wire in enumerate(half):
            wire.send(encoded("TASK.FINISH", "7", "node-1", "half", "[]")[: place + 1])
        for _ in range(20):
            for data in garbage:
                with Wire(stack) as wire:
                    wire.send(data)
                    assert wire.answer()[:1] in (b"-", b""), "an error, or cut"
        for head in (b"*2\r\n$8\r\nTASK.GET\r\n$900000000\r\n", b"*3\r\n", b"$"):
            with Wire(stack) as endless, pytest.raises(ConnectionError):
                send_for_ever(endless, head)
        for wire in half:
            wire.close()

    run_through(stack, incident)
    assert stack.stats()["writes"]["refused"] == 0, "nothing of what was no request came further than the port"


def send_for_ever(wire: Wire, head: bytes) -> None:
    wire.send(head)
    for _ in range(2_000):
        wire.send(b"9" * 65_536)
