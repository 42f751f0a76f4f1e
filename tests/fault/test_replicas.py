"""Incidents of replicas: late, stopped, frozen, gone, set back."""

from __future__ import annotations

from collections.abc import Callable

from deploy.local.private_stack import PrivateStack
from tests.stack.load import run_through
from tests.stack.task_client import TaskClient
from tests.stack.waiting import eventually

MakeStack = Callable[..., PrivateStack]


def test_replica_sql_thread_stopped_under_load(make_stack: MakeStack) -> None:
    stack = make_stack()

    def incident() -> None:
        stack.replica.stop_sql_thread()
        eventually(lambda: (stats := stack.stats()) and stats["replicas"]["r1"]["state"] == "stopped")
        stack.replica.start_sql_thread()

    run_through(stack, incident)


def test_replica_killed_and_back(make_stack: MakeStack) -> None:
    stack = make_stack()

    def incident() -> None:
        stack.replica.kill()
        eventually(lambda: (stats := stack.stats()) and stats["replicas"]["r1"]["state"] == "down")
        stack.replica.start()

    run_through(stack, incident)


def test_replica_frozen_without_a_reset_harms_no_read_and_no_write(make_stack: MakeStack) -> None:
    stack = make_stack()
    client = TaskClient(stack)
    stack.replica.freeze()
    try:
        eventually(lambda: client.stats()["replicas"]["r1"]["state"] == "silent")
        assert client.get(7).served_by == "master"
        assert client.finish(7).applied
    finally:
        stack.replica.thaw()
    eventually(lambda: client.get(9).served_by == "r1", within_s=20)


def test_replica_down_at_start(make_stack: MakeStack) -> None:
    stack = make_stack()
    for process in stack.dbsvr_processes:
        process.stop()
    stack.replica.stop()
    for process in stack.dbsvr_processes:
        process.start()
    eventually(lambda: (stats := stack.stats()) and stats["master"]["state"] == "up")
    client = TaskClient(stack)

    assert (client.get(7).served_by, client.get(7).reason) == ("master", "replica_down")
    stack.replica.start()

    eventually(lambda: client.get(7).served_by == "r1", within_s=20)
