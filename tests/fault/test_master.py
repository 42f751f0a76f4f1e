"""Incidents of the master database and of its host."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from deploy.local.private_stack import PrivateStack
from tests.stack.load import run_through
from tests.stack.task_client import TaskClient
from tests.stack.waiting import eventually
from workers.protocol import MasterDown

MakeStack = Callable[..., PrivateStack]


def test_master_down_and_back(make_stack: MakeStack) -> None:
    """Writes are refused at once with a reason; reads that the replica may serve go on; nothing acknowledged is lost."""
    stack = make_stack()
    client = TaskClient(stack)
    client.finish(7)
    eventually(lambda: client.get(7).served_by == "r1")
    stack.master.kill()
    eventually(lambda: client.stats()["master"]["state"] == "down", within_s=20)

    with pytest.raises(MasterDown):
        client.finish(7)
    assert client.get(7).served_by == "r1"
    stack.master.start()
    eventually(lambda: client.stats()["master"]["state"] == "up", within_s=20)

    assert client.finish(7).base_version == 1


def test_master_frozen_for_a_while(make_stack: MakeStack) -> None:
    stack = make_stack()

    def incident() -> None:
        stack.master.freeze()
        eventually(lambda: (stats := stack.stats()) and stats["errors"]["TIMEOUT"] > 0, within_s=20)
        stack.master.thaw()

    run_through(stack, incident)


def test_wrong_settings_of_the_master_are_refused_and_said(make_stack: MakeStack) -> None:
    stack = make_stack()
    stack.master.execute("SET GLOBAL sync_binlog = 0")
    stack.master_worker.kill()
    stack.master_worker.start()

    eventually(lambda: (stats := stack.stats()) and "sync_binlog" in stats["master"]["why"])
    with pytest.raises(MasterDown, match="sync_binlog"):
        TaskClient(stack).finish(7)
    stack.master.execute("SET GLOBAL sync_binlog = 1")
    stack.wait_until_serving()
