"""Incidents of replicas: late, stopped, frozen, gone, set back."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable

import pytest

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


@pytest.mark.parametrize("seconds", [5, pytest.param(60, marks=pytest.mark.long)])
def test_replica_delayed_under_load(make_stack: MakeStack, seconds: int) -> None:
    """A cold backup, a slow disk, a long ALTER: it goes on serving whom it may, and catches up."""
    stack = make_stack()

    def incident() -> None:
        stack.replica.delay(seconds)
        eventually(lambda: (stack.stats()["replicas"]["r1"]["lag_ms"] or 0) > 900 * seconds, within_s=3 * seconds + 10)
        before = stack.stats()["reads"]["by_server"]["r1"]
        client = TaskClient(stack)
        assert {client.get(uid).version for uid in range(1, 201)} == {0}, "users who have written nothing"
        assert stack.stats()["reads"]["by_server"]["r1"] >= before + 150
        stack.replica.delay(0)
        eventually(lambda: stack.stats()["replicas"]["r1"]["state"] == "serving", within_s=60)

    history = run_through(stack, incident)

    assert [operation for operation in history[-500:] if operation.served_by == "r1"], "it serves writers again"


def test_two_replicas_with_unequal_lag_are_never_back_in_time_between_them(make_stack: MakeStack) -> None:
    stack = make_stack(replicas=2)

    def incident() -> None:
        for first, second in ((1, 0), (0, 2), (2, 1), (0, 0)):
            stack.replicas["r1"].delay(first)
            stack.replicas["r2"].delay(second)
            before = stack.stats()["reads"]["total"]
            eventually(lambda before=before: stack.stats()["reads"]["total"] > before + 1_000, within_s=60)

    history = run_through(stack, incident)

    served = Counter(operation.served_by for operation in history)
    assert served["r1"] > 300, served
    assert served["r2"] > 300, served


def test_replica_restored_to_an_earlier_state(make_stack: MakeStack) -> None:
    """It was the best replica, and comes back as it was long before. Nobody sees what he has left behind him."""
    stack = make_stack()
    client = TaskClient(stack)
    client.finish(7)
    eventually(lambda: client.get(7).served_by == "r1")
    stack.replica.stop()
    shutil.copytree(stack.replica.data, stack.directory / "backup")
    stack.replica.start()
    for _ in range(3):
        client.finish(7)
    eventually(lambda: client.get(7).served_by == "r1")
    assert client.get(7).version == 4
    later = client.stats()["replicas"]["r1"]["tick"]

    stack.replica.kill()
    shutil.rmtree(stack.replica.data)
    shutil.move(stack.directory / "backup", stack.replica.data)
    stack.replica.options += ("--skip-slave-start",)
    stack.replica.start()
    eventually(lambda: 0 < (client.stats()["replicas"]["r1"]["tick"] or 0) < later, within_s=20)

    for _ in range(20):
        assert (client.get(7).version, client.get(7).served_by) == (4, "master")
    stack.replica.execute("START SLAVE")
    assert eventually(lambda: (read := client.get(7)).served_by == "r1" and read, within_s=20).version == 4


def test_replica_restored_to_an_earlier_state_under_load(make_stack: MakeStack) -> None:
    stack = make_stack()
    stack.replica.stop()
    shutil.copytree(stack.replica.data, stack.directory / "backup")
    stack.replica.start()
    stack.wait_until_serving()

    def incident() -> None:
        stack.replica.kill()
        shutil.rmtree(stack.replica.data)
        shutil.move(stack.directory / "backup", stack.replica.data)
        stack.replica.start()
        stack.wait_until_serving()

    run_through(stack, incident)
