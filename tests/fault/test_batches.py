"""Incidents inside a batch: one bad request among many, locks, large users, large events, large numbers."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable

import MySQLdb
import pytest

from deploy.local.private_stack import PrivateStack
from tests.stack.asking import Asked
from tests.stack.load import run_through
from tests.stack.locks import HeldLock
from tests.stack.task_client import TaskClient, change
from tests.stack.waiting import eventually
from tests.stack.wire import Wire
from workers.protocol import BadArgument, MasterDown, TimedOut, WriteAnswer

MakeStack = Callable[..., PrivateStack]


def test_one_poisonous_request_in_a_batch_fails_alone(make_stack: MakeStack) -> None:
    """A trigger stands for whatever the database may dislike about one row."""
    stack = make_stack(deadline_ms=30_000)
    stack.master.execute(
        "CREATE TRIGGER poison BEFORE INSERT ON user_state FOR EACH ROW"
        " IF NEW.uid = 666 THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'poison'; END IF",
        "tasksys_user",
    )
    stack.master_worker.freeze()
    uids = [*range(1, 61), 666, *range(61, 121)]
    writes = [Asked(stack, "TASK.FINISH", uid, "node-1", "e1", json.dumps([change()])) for uid in uids]
    eventually(lambda: (stats := stack.stats()) and stats["queues"]["finish"]["depth"] == len(uids))
    stack.master_worker.thaw()

    answers = {uid: write.answer for uid, write in zip(uids, writes, strict=True)}
    assert "poison" in str(answers.pop(666))
    assert all(answer["applied"] for answer in answers.values())


@pytest.mark.parametrize("release", [True, False], ids=["lock wait that ends", "lock that stays"])
def test_lock_wait_in_a_batch_only_the_guilty_request_fails(make_stack: MakeStack, release: bool) -> None:
    """Somebody holds one user's row for longer than a request may take. His write waits alone; all others pass in their time."""
    stack = make_stack(deadline_ms=8_000)
    client = TaskClient(stack, timeout_s=30)
    client.finish(666)
    uids = [*range(1, 61), 666, *range(61, 121)]
    lock = HeldLock(stack.master, "SELECT * FROM user_state WHERE uid = 666 FOR UPDATE", "tasksys_user")
    stack.master_worker.freeze()
    writes = {uid: Asked(stack, "TASK.FINISH", uid, "node-1", "e1", json.dumps([change()])) for uid in uids}
    eventually(lambda: client.stats()["queues"]["finish"]["depth"] == len(uids))

    stack.master_worker.thaw()

    guilty = writes.pop(666)
    late = {uid: str(write.answer) for uid, write in writes.items() if isinstance(write.answer, Exception)}
    assert not late
    assert all(write.answer["applied"] for write in writes.values())
    assert client.get(1).version == 1, "reads go on too"
    if release:
        lock.release()
        assert guilty.answer["applied"]
    else:
        assert isinstance(guilty.answer, Exception)
        eventually(lambda: client.stats()["errors"]["TIMEOUT"] == 1, within_s=20)
        eventually(lambda: client.stats()["users"]["in_flight"] == 0)
        lock.release()
    again = eventually(lambda: _finish_or_none(client, 666, "e1"))
    assert again.snapshot.version == 2, "once, however often it was tried"


def test_deadlock_in_a_batch_is_tried_again(make_stack: MakeStack) -> None:
    """Somebody locks two users in the other order. InnoDB ends one of the two transactions; every write is applied all the same."""
    stack = make_stack(deadline_ms=10_000)
    client = TaskClient(stack)
    for uid in (1, 2):
        client.finish(uid, "first")
    lock = HeldLock(stack.master, "SELECT * FROM user_state WHERE uid = 2 FOR UPDATE", "tasksys_user")
    stack.master_worker.freeze()
    writes = [Asked(stack, "TASK.FINISH", uid, "node-1", "e1", json.dumps([change()])) for uid in (1, 2, 3)]
    eventually(lambda: client.stats()["queues"]["finish"]["depth"] == 3)
    stack.master_worker.thaw()
    with contextlib.suppress(MySQLdb.OperationalError):  # it is we who were chosen
        lock.execute("SELECT * FROM user_state WHERE uid = 1 FOR UPDATE")
    lock.release()

    for uid, write in zip((1, 2, 3), writes, strict=True):
        if isinstance(write.answer, Exception):
            assert "locked" in str(write.answer)
        again = eventually(lambda uid=uid: _finish_or_none(client, uid, "e1"))
        assert again.snapshot.version == (1 if uid == 3 else 2)


def _finish_or_none(client: TaskClient, uid: int, event_id: str) -> WriteAnswer | None:
    try:
        return client.finish(uid, event_id)
    except (MasterDown, TimedOut):
        return None


@pytest.mark.long
def test_user_with_5000_records(make_stack: MakeStack) -> None:
    """He is read and written like any other, also by 130 clients at once: the answers of one batch are 100 MB."""
    stack = make_stack(deadline_ms=30_000, age_limit_ms=20_000, spill_depth=1_000)
    client = TaskClient(stack, timeout_s=30)
    for part in range(10):
        tasks = range(500 * part + 1, 500 * part + 501)
        client.finish(7, changes=[change(task=task, period="2026-11-30T00:00:00+00:00", target=1, revision=2**31) for task in tasks])
    eventually(lambda: client.get(7).served_by == "r1", within_s=30)
    assert len(client.get(7).tasks) == 5_000

    pids = [stack.master_worker.pid, client.stats()["replicas"]["r1"]["pid"]]
    ask_at_once(stack, 130, ("TASK.GET", "7", "node-1"), "query")
    changes = json.dumps([change(task=1)])
    ask_at_once(stack, 130, ("TASK.FINISH", "7", "node-1", "e1", changes), "finish")
    stats = client.stats()
    assert [stats["master"]["pid"], stats["replicas"]["r1"]["pid"]] == pids

    assert client.finish(7).base_version == 11
    assert client.clear(7).base_version == 12
    assert client.get(7).tasks == []


def ask_at_once(stack: PrivateStack, askers: int, words: tuple[str, ...], queue: str) -> None:
    """The same question on so many connections, all of them waiting before the first is answered, and all answered at full length."""
    watcher = TaskClient(stack)
    workers = (stack.master_worker, stack.replica_worker)
    for worker in workers:
        worker.freeze()
    wires = [Wire(stack) for _ in range(askers)]
    for wire in wires:
        wire.ask(*words)
    eventually(lambda: watcher.stats()["queues"][queue]["depth"] == askers)
    for worker in workers:
        worker.thaw()
    for wire in wires:
        with wire:
            answer = wire.answer()
            assert len(answer) > 700_000, answer
            assert answer.endswith(b"}")


def test_event_with_500_changes(make_stack: MakeStack) -> None:
    """The most that one event may have; 40 of them in one batch; and one more change is refused."""
    stack = make_stack(deadline_ms=30_000)
    client = TaskClient(stack, timeout_s=30)
    changes = [change(task=number + 1, target=1, points=1) for number in range(500)]
    stack.master_worker.freeze()
    writes = [Asked(stack, "TASK.FINISH", uid, "node-1", "e1", json.dumps(changes)) for uid in range(1, 41)]
    eventually(lambda: client.stats()["queues"]["finish"]["depth"] == 40)
    stack.master_worker.thaw()

    assert {(len(write.answer["results"]), write.answer["snapshot"]["points"]) for write in writes} == {(500, 500)}
    repeated = client.finish(1, "e1", changes)
    assert (repeated.applied, len(repeated.results), repeated.snapshot.version) == (False, 500, 1)
    with pytest.raises(BadArgument):
        client.finish(1, "e2", [*changes, change(task=501)])
    assert client.get(1).version == 1


def test_type_numbers_near_2_to_the_31st(make_stack: MakeStack) -> None:
    """Ticks far past what a message type can hold, and a base that moves up every 50 ticks instead of every 2^30, under load."""
    stack = make_stack(
        double="OftenRebased",
        before=lambda stack: stack.master.execute(
            "INSERT INTO db_info (instance, generation, fork_tick, tick, wall_us, worker_epoch) VALUES ('a', 1, 0, %s, 0, 0)",
            "tasksys_user",
            (2**31 - 500,),
        ),
    )
    bases = set()

    run_through(stack, lambda: [eventually(lambda: (base := stack.stats()["base"]) and (bases.add(base) or len(bases) > 5))])

    stats = stack.stats()
    assert stats["tick"] > 2**31
    assert stats["reads"]["by_server"]["r1"] > 200
