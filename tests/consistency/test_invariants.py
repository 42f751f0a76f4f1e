"""Each rule of INV 2 to 7 brought to the point where it decides, once with the intact product and once with the rule left out.

The moment at which a rule matters seldom comes by itself, so each test brings it about: processes that stop themselves at a chosen
place, a replica held back, a queue filled beforehand. What breaks the rules stands in `doubles`.
"""

from __future__ import annotations

import contextlib
import getpass
import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import MySQLdb
import pytest
import sysv_ipc

from deploy.local.mariadb import MariaDBServer
from deploy.local.private_stack import PrivateStack, StackProcess
from tests.consistency.broken import intact_or
from tests.consistency.doubles import double as make_double
from tests.stack.asking import Asked
from tests.stack.task_client import TaskClient, change
from tests.stack.waiting import eventually
from tests.stack.wire import Wire
from workers.messages import encode_ticket
from workers.process import Exit
from workers.protocol import DBSvrError

MakeStack = Callable[..., PrivateStack]
CHANGES = json.dumps([change()])


def state_of(process: StackProcess) -> str:
    """R, S, T (stopped), … as the kernel says."""
    with open(f"/proc/{process.pid}/stat") as stat:
        return stat.read().rpartition(") ")[2][0]


def tick(stack: PrivateStack) -> int:
    return int(stack.master.execute("SELECT tick FROM db_info", "tasksys_user")[0][0])


@pytest.mark.parametrize("broken", intact_or("WithoutMark"))
def test_inv_2_reads_are_the_masters_while_a_write_is_in_flight(make_stack: MakeStack, broken: str) -> None:
    """The write is committed, the front has not heard of it, and one read has seen it on the master: so must every later one."""
    stack = make_stack(double=f"WithheldOutcomes+{broken}", deadline_ms=30_000, spill_depth=0, age_limit_ms=100)
    client = TaskClient(stack)
    stack.replica.stop_sql_thread()
    Asked(stack, "TASK.FINISH", 7, "node-1", "e1", CHANGES)
    eventually(lambda: stack.master.execute("SELECT version FROM user_state WHERE uid = 7", "tasksys_user"))
    stack.replica_worker.freeze()
    first = client.get(7)
    assert (first.served_by, first.version) == ("master", 1), "its replica's worker stands, so the master has answered it"
    stack.replica_worker.thaw()

    later = [client.get(7) for _ in range(20)]

    went_back = [snapshot for snapshot in later if snapshot.version < 1]
    assert bool(went_back) == bool(broken)


@pytest.mark.parametrize("broken", intact_or("WithoutFollowers"))
def test_inv_2_a_read_does_not_overtake_the_writes_before_it_on_its_connection(make_stack: MakeStack, broken: str) -> None:
    """300 writes wait, more than a batch, and the master's worker owes reads a turn."""
    stack = make_stack(double=broken, deadline_ms=30_000, batch=16)
    stack.master_worker.freeze()
    with Wire(stack) as wire:
        wire.send_all([("TASK.FINISH", "7", "node-1", f"e{number}", CHANGES) for number in range(300)])
        wire.ask("TASK.GET", "7", "node-1")
        eventually(lambda: stack.stats()["queues"]["finish"]["depth"] == 300)
        began = time.monotonic()
        eventually(lambda: time.monotonic() - began > 0.3)  # past the age limit: reads are owed a turn
        stack.master_worker.thaw()
        for _ in range(300):
            wire.answer()

        seen = json.loads(wire.answer())["version"]

    assert (seen < 300) == bool(broken)


@pytest.mark.parametrize("broken", intact_or("WithoutEpoch"))
def test_inv_3_a_superseded_worker_commits_nothing_after_its_successors_fresh_tick(make_stack: MakeStack, broken: str) -> None:
    """It stands right before its transaction. Its successor comes; nobody waits for the write any more; it goes on."""
    stack = make_stack(deadline_ms=500)
    orphan = replace_master_worker(stack, "StopsBeforeWriting")
    write = Asked(stack, "TASK.FINISH", 7, "node-1", "e1", CHANGES)
    eventually(lambda: state_of(orphan) == "T")
    assert isinstance(write.answer, Exception)
    start_master_worker(stack, broken)
    eventually(lambda: stack.stats()["users"]["in_flight"] == 0)

    orphan.thaw()
    assert orphan.wait(20) == Exit.SUPERSEDED

    assert bool(stack.master.execute("SELECT 1 FROM user_state WHERE uid = 7", "tasksys_user")) == bool(broken)


@pytest.mark.parametrize("broken", intact_or("LooksAtTick"))
def test_inv_3_the_fresh_tick_is_committed_not_merely_looked_at(make_stack: MakeStack, broken: str) -> None:
    """The predecessor stands inside its transaction: a successor that only looks does not wait for it."""
    stack = make_stack(deadline_ms=500)
    orphan = replace_master_worker(stack, "StopsInTransaction")
    write = Asked(stack, "TASK.FINISH", 7, "node-1", "e1", CHANGES)
    eventually(lambda: state_of(orphan) == "T")
    assert isinstance(write.answer, Exception)
    start_master_worker(stack, broken)
    eventually(lambda: stack.stats()["users"]["in_flight"] == 0, within_s=30)

    orphan.thaw()
    assert orphan.wait(20) == Exit.SUPERSEDED

    assert bool(stack.master.execute("SELECT 1 FROM user_state WHERE uid = 7", "tasksys_user")) == bool(broken)


@pytest.mark.parametrize("broken", intact_or("ForgetsUndecided"))
def test_inv_3_stamps_of_undecided_users_rise_to_the_fresh_tick(make_stack: MakeStack, broken: str) -> None:
    """The write was committed and seen, the worker killed before the front heard of it, and its client has given up."""
    stack = make_stack(double=f"WithheldOutcomes+{broken}", deadline_ms=1_000)
    client = TaskClient(stack)
    stack.replica.stop_sql_thread()
    write = Asked(stack, "TASK.FINISH", 7, "node-1", "e1", CHANGES)
    eventually(lambda: client.get(7).version == 1)
    assert isinstance(write.answer, Exception)
    stack.master_worker.kill()
    start_master_worker(stack, "")
    eventually(lambda: client.stats()["users"]["in_flight"] == 0)

    assert (client.get(7).version < 1) == bool(broken)


@pytest.mark.parametrize("broken", intact_or("WithoutRunId"))
def test_inv_3_what_an_older_run_left_in_the_queues_is_not_executed(make_stack: MakeStack, broken: str) -> None:
    """Tickets of another run, with request ids that are in use now, for another user."""
    stack = make_stack(double=broken, deadline_ms=30_000, age_limit_ms=20_000)
    client = TaskClient(stack)
    client.finish(7)
    eventually(lambda: client.get(7).served_by == "r1")
    for worker in (stack.master_worker, stack.replica_worker):
        worker.freeze()
    leftovers = sysv_ipc.MessageQueue(stack.queue_key + 1)
    for request_id in range(1, 300):
        leftovers.send(encode_ticket(1, 1, request_id, 0, 2**62, [7]), True, 1)
    read = Asked(stack, "TASK.GET", 8, "node-1")
    eventually(lambda: stack.stats()["queues"]["query"]["depth"] == 300)
    for worker in (stack.replica_worker, stack.master_worker):
        worker.thaw()

    assert (read.answer["uid"] != 8) == bool(broken)


@pytest.mark.parametrize("broken", intact_or("TrustsTheType"))
def test_inv_5_the_snapshot_is_the_proof_when_a_replica_is_set_back_under_its_worker(make_stack: MakeStack, broken: str) -> None:
    """Between the worker's look at the update tick and its query the replica becomes an older one (a gateway swaps it, say)."""
    stack = make_stack(double=broken, deadline_ms=30_000, age_limit_ms=20_000)
    client = TaskClient(stack)
    client.finish(7)
    eventually(lambda: client.get(7).served_by == "r1")
    stack.replica.stop_sql_thread()
    eventually(lambda: stack.stats()["replicas"]["r1"]["state"] == "stopped")
    with set_back(stack.replica) as older:
        stack.replica_worker.freeze()
        read = Asked(stack, "TASK.GET", 7, "node-1")
        eventually(lambda: stack.stats()["queues"]["query"]["depth"] == 1)
        older.commit()
        stack.replica_worker.thaw()

    if broken:
        assert read.answer["version"] < 1
    else:
        assert (read.answer["version"], read.answer["reason"]) == (1, "handed_back")


@pytest.mark.parametrize("broken", intact_or("BelievesWhatItKnows"))
def test_inv_5_what_a_worker_knows_of_a_user_is_held_against_his_version(make_stack: MakeStack, broken: str) -> None:
    """A replica's worker has read him, he writes, and the replica has the write."""
    stack = make_stack(double=broken)
    client = TaskClient(stack)
    client.finish(7)
    eventually(lambda: client.get(7).served_by == "r1")
    client.get(7)

    client.finish(7)
    first = eventually(lambda: (read := client.get(7)).served_by == "r1" and read)

    assert (first.version < 2) == bool(broken)


@contextlib.contextmanager
def set_back(replica: MariaDBServer) -> Iterator[Any]:
    """A transaction that makes the replica what it was before anybody had written anything. Committed by the test."""
    connection = MySQLdb.connect(unix_socket=str(replica.socket), user=getpass.getuser(), db="tasksys_user", autocommit=True)
    with contextlib.closing(connection):
        cursor = connection.cursor()
        cursor.execute("SET SESSION sql_log_bin = 0, idle_transaction_timeout = 0")
        cursor.execute("BEGIN")
        cursor.execute("UPDATE db_info SET tick = 1")
        for table in ("user_state", "user_task", "applied_event"):
            cursor.execute(f"DELETE FROM {table}")
        yield connection


@pytest.mark.parametrize("broken", intact_or("OffByOne+TrustsTheType"))
def test_inv_5_a_replica_one_tick_short_does_not_receive_the_read(make_stack: MakeStack, broken: str) -> None:
    """Its update tick is the write's tick less one, and the front still hopes that it will have the write soon."""
    stack = make_stack(double=broken, beat_ms=900, spill_ms=60_000)
    client = TaskClient(stack)
    client.finish(7)
    eventually(lambda: client.get(7).served_by == "r1")
    stale = []
    for version in range(2, 10):
        stack.replica.stop_sql_thread()
        applied = int(stack.replica.execute("SELECT tick FROM db_info", "tasksys_user")[0][0])
        client.finish(7)
        one_short = tick(stack) == applied + 1  # else a beat came between, and this try proves nothing
        if client.get(7).version < version and one_short:
            stale.append(version)
        stack.replica.start_sql_thread()
        eventually(lambda version=version: (read := client.get(7)).served_by == "r1" and read.version == version)

    assert bool(stale) == bool(broken)


@pytest.mark.parametrize("broken", intact_or("ForgetsWakes"))
def test_inv_6_no_wake_up_is_lost(make_stack: MakeStack, broken: str) -> None:
    """What is queued after a worker's last look and before its word of being idle has come needs a wake-up of its own.

    Without one the worker looks again at its next beat, which is made late here.
    """
    stack = make_stack(double=f"SlowToSayIdle+{broken}", beat_ms=900, age_limit_ms=10_000, spill_depth=10_000, deadline_ms=10_000)
    client = TaskClient(stack, timeout_s=15)
    waits = []
    for _ in range(20):
        began = time.monotonic()
        client.get(7)
        waits.append(time.monotonic() - began)

    assert (sorted(waits)[-5] > 0.4) == bool(broken), waits


@pytest.mark.parametrize("broken", intact_or("WithoutAgeing"))
def test_inv_7_a_read_whose_replica_does_not_answer_ages(make_stack: MakeStack, broken: str) -> None:
    stack = make_stack(double=broken, deadline_ms=3_000)
    stack.replica_worker.freeze()
    client = TaskClient(stack)

    assert isinstance(answer_or_error(client, 7), DBSvrError) == bool(broken)


@pytest.mark.parametrize("broken", intact_or("WritesAlwaysFirst"))
def test_inv_7_reads_get_a_batch_between_batches_of_busy_writers(make_stack: MakeStack, broken: str) -> None:
    stack = make_stack(double=f"SlowCommits+{broken}", **BUSY)
    stack.replica_worker.stop()
    eventually(lambda: TaskClient(stack).get(9).reason == "replica_down")

    left = writes_left_when_answered(stack, "TASK.GET", "9", "node-1")

    assert (left < MANY / 2) == bool(broken), f"{left} of {MANY} writes were still to be done"


@pytest.mark.parametrize("broken", intact_or("NoClearTurns"))
def test_inv_7_an_old_clear_gets_its_turn(make_stack: MakeStack, broken: str) -> None:
    stack = make_stack(double=f"SlowCommits+{broken}", clear_age_limit_ms=300, **BUSY)

    left = writes_left_when_answered(stack, "TASK.CLEAR", "9", "node-1", "c1")

    assert (left < MANY / 2) == bool(broken), f"{left} of {MANY} writes were still to be done"


BUSY = {"deadline_ms": 60_000, "batch": 16}
MANY = 320
"""No more than a kernel queue holds."""


def writes_left_when_answered(stack: PrivateStack, *words: str) -> int:
    """How many writes that came before it are not done when this is answered. All of them wait when the master's worker begins."""
    stack.master_worker.freeze()
    with Wire(stack, timeout_s=60) as wire:
        wire.send_all([("TASK.FINISH", str(1_000 + number % 4), "node-1", f"w{number}", CHANGES) for number in range(MANY)])
        eventually(lambda: stack.stats()["queues"]["finish"]["depth"] == MANY)
        asked = Asked(stack, *words, timeout_s=60)
        began = time.monotonic()
        eventually(lambda: time.monotonic() - began > 0.5)  # past the age limits: it is owed a turn
        stack.master_worker.thaw()
        assert isinstance(asked.answer, dict), asked.answer
        left: int = stack.stats()["queues"]["finish"]["depth"]
        for _ in range(MANY):
            assert wire.answer(), "the front has closed the connection"
    return left


def replace_master_worker(stack: PrivateStack, names: str) -> StackProcess:
    """Another master worker, with these doubles, serves in the place of the first."""
    stack.master_worker.stop()
    start_master_worker(stack, names)
    stack.wait_until_serving()
    return stack.master_worker


def start_master_worker(stack: PrivateStack, names: str) -> None:
    stack.master_worker = stack.another("master_db_svr")
    make_double(stack.master_worker, names)
    stack.master_worker.start()


def answer_or_error(client: TaskClient, uid: int) -> object:
    try:
        return client.get(uid)
    except DBSvrError as error:
        return error
