"""INV 12 and 13 brought to the point where they decide, once with the intact product and once with the rule left out."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable

import pytest

from deploy.local.private_stack import PrivateStack, StackProcess
from tests.consistency.broken import intact_or
from tests.consistency.doubles import double as make_double
from tests.stack.asking import Asked
from tests.stack.segments import OF_A, state_of, wait_until_balanced, wait_until_settled
from tests.stack.task_client import TaskClient, change
from tests.stack.waiting import eventually
from workers.protocol import DBSvrError

MakeStack = Callable[..., PrivateStack]
CHANGES = json.dumps([change()])
QUICK = {"instances": ("a", "b"), "hold_ms": 1_000, "give_back_after_ms": 60_000, "takeover_after_ms": 300}


def take_over_by_b(stack: PrivateStack) -> None:
    """By reads alone: a write would be forwarded to the owner, and in flight there."""
    b = TaskClient(stack, instance="b")

    def is_taken() -> bool:
        with contextlib.suppress(DBSvrError):
            b.get(OF_A)
        return state_of(stack, "b", "of-a") == "ours"

    eventually(is_taken, within_s=30)


def is_stopped(process: StackProcess) -> bool:
    with open(f"/proc/{process.pid}/stat") as stat:
        return stat.read().rpartition(") ")[2][0] == "T"


def replace_master_worker_of_a(stack: PrivateStack, names: str) -> StackProcess:
    stack.master_worker.stop()
    stack.master_worker = stack.another("master_db_svr")
    make_double(stack.master_worker, names)
    stack.master_worker.start()
    stack.wait_until_serving()
    wait_until_balanced(stack)
    wait_until_settled(stack)  # else the server may end the standing transaction before anybody takes over
    return stack.master_worker


def stop_a_in_the_midst_of_a_write(stack: PrivateStack, names: str) -> StackProcess:
    worker = replace_master_worker_of_a(stack, names)
    assert str(Asked(stack, "TASK.FINISH", OF_A, "node-1", "of-a", CHANGES).answer).startswith("TIMEOUT")
    eventually(lambda: is_stopped(worker))
    return worker


@pytest.mark.parametrize("broken", intact_or("PlainFence"))
def test_inv_12_an_owner_in_the_midst_of_a_write_keeps_its_segment_until_that_has_ended(make_stack: MakeStack, broken: str) -> None:
    """It has loaded the user, and stands. If another can have the segment now, the two overwrite each other's writes."""
    stack = make_stack(**QUICK, lease_ms=500, deadline_ms=1_000)
    owner = stop_a_in_the_midst_of_a_write(stack, f"StopsAfterLoading+{broken}")
    take_over_by_b(stack)
    assert TaskClient(stack, instance="b").finish(OF_A, "of-b").applied

    owner.thaw()
    eventually(lambda: stack.stats("a")["users"]["in_flight"] == 0, within_s=30)

    ((version,),) = stack.master.execute(f"SELECT version FROM user_state WHERE uid = {OF_A}", "tasksys_user")
    ((events,),) = stack.master.execute(f"SELECT COUNT(*) FROM applied_event WHERE uid = {OF_A}", "tasksys_user")
    assert (version != events) == bool(broken)


@pytest.mark.parametrize("broken", intact_or("NoFence"))
def test_inv_12_who_is_not_the_owner_any_more_writes_nothing(make_stack: MakeStack, broken: str) -> None:
    """It stands right before its transaction while another takes its segment over, and goes on."""
    stack = make_stack(**QUICK, lease_ms=500, deadline_ms=1_000)
    owner = stop_a_in_the_midst_of_a_write(stack, f"StopsBeforeWriting+{broken}")
    take_over_by_b(stack)
    assert TaskClient(stack, instance="b").finish(OF_A, "of-b").applied

    owner.thaw()
    eventually(lambda: stack.stats("a")["users"]["in_flight"] == 0 or is_stopped(owner), within_s=30)

    events = {event for (event,) in stack.master.execute(f"SELECT event_id FROM applied_event WHERE uid = {OF_A}", "tasksys_user")}
    assert events == ({"of-a", "of-b"} if broken else {"of-b"})


@pytest.mark.parametrize("broken", intact_or("NoFence"))
def test_inv_12_who_knows_a_user_writes_nothing_once_another_owns_him(make_stack: MakeStack, broken: str) -> None:
    """It has applied the write to what it knows, and stands; what it sends then, from BEGIN to COMMIT, was decided before the takeover."""
    stack = make_stack(**QUICK, lease_ms=500, deadline_ms=1_000)
    owner = replace_master_worker_of_a(stack, f"StopsBeforeSending+{broken}")
    assert TaskClient(stack, instance="a").finish(OF_A, "first").applied
    assert str(Asked(stack, "TASK.FINISH", OF_A, "node-1", "of-a", CHANGES).answer).startswith("TIMEOUT")
    eventually(lambda: is_stopped(owner))
    take_over_by_b(stack)
    assert TaskClient(stack, instance="b").finish(OF_A, "of-b").applied

    owner.thaw()
    eventually(lambda: stack.stats("a")["users"]["in_flight"] == 0 or is_stopped(owner), within_s=30)

    ((version,),) = stack.master.execute(f"SELECT version FROM user_state WHERE uid = {OF_A}", "tasksys_user")
    ((events,),) = stack.master.execute(f"SELECT COUNT(*) FROM applied_event WHERE uid = {OF_A}", "tasksys_user")
    assert (version != events) == bool(broken)


@pytest.mark.parametrize("broken", intact_or("WithoutLease", "WithoutLeaseWait"))
def test_inv_13_an_owner_that_sees_no_master_has_stopped_using_replicas_before_another_writes(make_stack: MakeStack, broken: str) -> None:
    """Its worker stands, so it looks no more; its replica stands too, and shows what was before."""
    stack = make_stack(**QUICK, double=broken, lease_ms=6_000, deadline_ms=1_000)
    wait_until_balanced(stack)
    a, b = TaskClient(stack, instance="a"), TaskClient(stack, instance="b")
    a.finish(OF_A, "before")
    eventually(lambda: a.get(OF_A).served_by == "r1")
    stack.replica.stop_sql_thread()

    stack.dbsvrs["a"].master_worker.freeze()
    take_over_by_b(stack)
    assert b.finish(OF_A, "after").applied

    answers = [version_or_none(a) for _ in range(3)]
    assert (1 in answers) == bool(broken)


@pytest.mark.parametrize("broken", intact_or("WithoutTakeoverFloor"))
def test_inv_13_what_the_owner_before_has_written_is_below_the_floor_of_who_takes_over(make_stack: MakeStack, broken: str) -> None:
    """The owner is killed while the replica lacks its last write. Its stamps die with it."""
    stack = make_stack(**QUICK, double=broken, lease_ms=500)
    wait_until_balanced(stack)
    a, b = TaskClient(stack, instance="a"), TaskClient(stack, instance="b")
    a.finish(OF_A, "before")
    eventually(lambda: a.get(OF_A).served_by == "r1")
    stack.replica.stop_sql_thread()
    a.finish(OF_A, "last")
    for process in stack.dbsvrs["a"].processes:
        process.kill()

    take_over_by_b(stack)

    assert b.get(OF_A).version == (1 if broken else 2)


def version_or_none(client: TaskClient) -> int | None:
    try:
        return client.get(OF_A).version
    except DBSvrError:
        return None
