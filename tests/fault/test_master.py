"""Incidents of the master database and of its host."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from deploy.local.private_stack import PrivateStack
from tests.consistency.clients import unanswered
from tests.stack.host_clock import HostClock
from tests.stack.load import run_through
from tests.stack.small_disk import SmallDisk, on_small_disk
from tests.stack.task_client import TaskClient, change, new_event_id
from tests.stack.waiting import eventually
from workers.protocol import MasterDown, TimedOut

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


@pytest.mark.parametrize("step_s", [3600, -3600], ids=["an hour forwards", "an hour back"])
def test_clock_of_the_dbsvrs_host_stepped(make_stack: MakeStack, step_s: int) -> None:
    """Nothing expires, nothing ages, no replica seems late: only CLOCK_MONOTONIC counts, and ticks."""
    clocks = []
    # An hour is far more than this deadline; a busy machine is not.
    stack = make_stack(before=lambda stack: clocks.append(HostClock(stack)), deadline_ms=20_000, clear_age_limit_ms=1_000)

    def incident() -> None:
        before = stack.stats()
        clocks[0].step(step_s)
        after = eventually(lambda: (stats := stack.stats()) and abs(stats["now"] - before["now"] - step_s) < 600 and stats)
        assert after["errors"]["TIMEOUT"] == before["errors"]["TIMEOUT"]
        eventually(lambda: stack.stats()["reads"]["by_server"]["r1"] > after["reads"]["by_server"]["r1"] + 500, within_s=30)
        assert stack.stats()["replicas"]["r1"]["state"] == "serving"

    history = run_through(stack, incident, timeout_s=24.0)

    assert not unanswered(history), "the step cost nobody his answer"
    (beat,) = stack.master.execute("SELECT wall_us / 1000000 - UNIX_TIMESTAMP() FROM db_info", "tasksys_user")
    assert abs(float(beat[0]) - step_s) < 600, "the worker's clock was stepped indeed"


def test_disk_full_on_the_master_turns_writes_into_errors_and_leaves_reads(make_stack: MakeStack) -> None:
    """MariaDB keeps the COMMIT that found no room waiting for up to a minute, or gives up itself; who has made room restarts it."""
    stack = make_stack()
    client = TaskClient(stack)
    with on_small_disk(stack.master) as disk:
        stack.wait_until_serving()
        acknowledged = fill_up(stack, client, disk)

        assert client.stats()["master"]["why"]
        with pytest.raises(MasterDown):
            client.finish(7)
        for uid in (7, 9):
            assert client.get(uid).served_by == "r1", "reads go on"
        disk.make_room()
        stack.master.kill()
        stack.master.start()

        assert_all_are_there(stack, client, acknowledged)
        stack.stop()


@pytest.mark.long
def test_disk_full_on_the_master_and_room_made_again_without_a_restart(make_stack: MakeStack) -> None:
    stack = make_stack()
    client = TaskClient(stack)
    with on_small_disk(stack.master) as disk:
        stack.wait_until_serving()
        acknowledged = fill_up(stack, client, disk)
        disk.make_room()

        def is_up() -> bool:
            if stack.master.pid is None:  # MariaDB has given up by itself; it may still have been about to when room was made
                stack.master.start()
            return bool(client.stats()["master"]["state"] == "up")

        eventually(is_up, within_s=90)
        assert_all_are_there(stack, client, acknowledged)
        stack.stop()


def fill_up(stack: PrivateStack, client: TaskClient, disk: SmallDisk) -> set[str]:
    """Fill the disk and write on until the master is known to be down; the event ids of those writes that were acknowledged."""
    client.finish(7)
    eventually(lambda: client.get(7).served_by == "r1")
    disk.fill()
    acknowledged = set()

    def write_until_down() -> bool:
        event_id = new_event_id()
        try:
            client.finish(8, event_id, [change(task=task, period="2026-11-30") for task in range(1, 501)])
            acknowledged.add(event_id)
        except (MasterDown, TimedOut):
            pass  # an error, within the deadline
        return bool(client.stats()["master"]["state"] == "down")

    eventually(write_until_down, within_s=60)
    return acknowledged


def assert_all_are_there(stack: PrivateStack, client: TaskClient, acknowledged: set[str]) -> None:
    stack.wait_until_serving(90)
    assert client.finish(7).base_version == 1
    events = {row[0] for row in stack.master.execute("SELECT event_id FROM applied_event WHERE uid = 8", "tasksys_user")}
    assert acknowledged <= events
    assert client.get(8).version == len(events)
