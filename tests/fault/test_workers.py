"""Incidents of the DBSvr's own processes: killed, frozen, superseded, restarted, asked to stop."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable

from deploy.local.private_stack import PrivateStack
from tests.consistency.clients import unanswered
from tests.stack.asking import Asked
from tests.stack.load import run_through
from tests.stack.locks import HeldLock
from tests.stack.task_client import TaskClient, change
from tests.stack.waiting import eventually
from tests.stack.wire import Wire
from workers.front_link import FrontLink, local_socket_path
from workers.process import Exit

MakeStack = Callable[..., PrivateStack]


def test_slave_worker_killed_mid_read(make_stack: MakeStack) -> None:
    stack = make_stack()

    def incident() -> None:
        stack.replica_worker.kill()
        stack.replica_worker.start()

    run_through(stack, incident)


def test_master_worker_killed_in_the_midst_of_writes(make_stack: MakeStack) -> None:
    stack = make_stack()

    def incident() -> None:
        for _ in range(3):
            stack.master_worker.kill()
            stack.master_worker.start()
            eventually(lambda: (stats := stack.stats()) and stats["master"]["state"] == "up")

    run_through(stack, incident)


def test_master_worker_killed_between_commit_and_reply(make_stack: MakeStack) -> None:
    """The write is in the database, its answer was never given: the successor gives the client his true answer."""
    stack = make_stack(deadline_ms=30_000)
    client = TaskClient(stack)
    lock = HeldLock(stack.master, "SELECT * FROM user_state WHERE uid = 7 FOR UPDATE", "tasksys_user")
    write = Asked(stack, "TASK.FINISH", 7, "node-1", "e1", json.dumps([change()]))
    eventually(lambda: client.stats()["users"]["in_flight"] == 1)
    client.stats()  # another turn of the front: it has handed the write over
    stack.front.freeze()  # so that the worker's answer stays in the socket
    lock.release()
    eventually(lambda: stack.master.execute("SELECT uid FROM user_state WHERE uid = 7", "tasksys_user"))
    stack.master_worker.kill()
    stack.front.thaw()
    stack.master_worker.start()

    assert write.answer["snapshot"]["version"] == 1
    assert write.answer["results"][0]["progress"] == 1
    assert client.get(7).version == 1


def test_master_worker_killed_with_writes_waiting_that_nobody_waits_for_any_more(make_stack: MakeStack) -> None:
    """Their tickets are still in the queue, and the front has let them go: the successor must not wait for their payloads."""
    stack = make_stack(deadline_ms=500)
    stack.master_worker.freeze()
    writes = [Asked(stack, "TASK.FINISH", uid, "node-1", "e1", json.dumps([change()])) for uid in range(1, 21)]
    assert all(isinstance(write.answer, Exception) for write in writes), "they have timed out"
    assert stack.stats()["queues"]["finish"]["depth"] == 20

    stack.master_worker.kill()
    stack.master_worker.start()
    eventually(lambda: stack.stats()["master"]["state"] == "up")

    assert TaskClient(stack).finish(7, "e2").base_version == 0


def test_front_killed_with_requests_waiting(make_stack: MakeStack) -> None:
    stack = make_stack()

    def incident() -> None:
        stack.front.kill()
        stack.front.start()

    run_through(stack, incident)


def test_all_workers_stopped_and_continued(make_stack: MakeStack) -> None:
    stack = make_stack()

    def incident() -> None:
        workers = [stack.master_worker, *stack.replica_workers.values()]
        for worker in workers:
            worker.freeze()
        eventually(lambda: (stats := stack.stats()) and stats["errors"]["TIMEOUT"] > 0)
        for worker in workers:
            worker.thaw()

    run_through(stack, incident)


def test_reply_socket_cut(make_stack: MakeStack) -> None:
    """Another process takes the worker's place on the local socket, and goes; the worker is superseded, and is started again."""
    stack = make_stack()

    def incident() -> None:
        FrontLink(local_socket_path(stack.configuration(), "a"), "r1").close()
        stack.replica_worker.wait(10)
        assert stack.replica_worker.exit_code == Exit.SUPERSEDED
        stack.replica_worker.start()

    run_through(stack, incident)


def test_an_orphan_of_a_killed_supervisor_writes_nothing(make_stack: MakeStack) -> None:
    """The old worker is frozen holding a batch, its successor takes over, the old one thaws: it leaves and has written nothing."""
    stack = make_stack(deadline_ms=30_000)
    orphan = stack.master_worker
    orphan.freeze()
    write = Asked(stack, "TASK.FINISH", 7, "node-1", "e1", json.dumps([change()]))
    eventually(lambda: (stats := stack.stats()) and stats["queues"]["finish"]["depth"] == 1)
    stack.master_worker = stack.another("master_db_svr")
    stack.master_worker.start()
    assert write.answer["applied"]
    epoch = stack.master.execute("SELECT worker_epoch FROM db_info", "tasksys_user")

    orphan.thaw()

    assert orphan.wait(10) == Exit.SUPERSEDED
    assert stack.master.execute("SELECT worker_epoch FROM db_info", "tasksys_user") == epoch
    assert TaskClient(stack).get(7).version == 1


def test_term_five_times_stops_every_process_within_a_second_and_leaves_nothing(make_stack: MakeStack) -> None:
    stack = make_stack()
    for process in stack.dbsvr_processes:
        for _ in range(5):
            process.signal(signal.SIGTERM)

    assert [process.wait(3) for process in stack.dbsvr_processes] == [Exit.STOPPED] * 3


def test_graceful_stop_of_the_front_finishes_what_it_has_accepted(make_stack: MakeStack) -> None:
    stack = make_stack(deadline_ms=30_000)
    stack.master_worker.freeze()
    wires = [Wire(stack) for _ in range(20)]
    for place, wire in enumerate(wires):
        for number in range(10):
            wire.ask("TASK.FINISH", str(100 + place), "node-1", f"e{number}", json.dumps([change()]))
        wire.ask("TASK.GET", str(100 + place), "node-1")
    eventually(lambda: (stats := stack.stats()) and stats["queues"]["finish"]["depth"] == 200)

    stack.front.signal(signal.SIGTERM)
    stack.master_worker.thaw()

    for wire in wires:
        with wire:
            assert [json.loads(wire.answer())["results"][0]["progress"] for _ in range(10)] == list(range(1, 11))
            assert json.loads(wire.answer())["version"] == 10
            assert wire.answer() == b"", "then the connection is closed"
    assert stack.front.wait(3) == Exit.STOPPED


def test_graceful_stop_and_start_of_any_worker_under_load_costs_no_answer(make_stack: MakeStack) -> None:
    """A worker that is asked to stop answers what it has taken; what it has not taken waits for the next one."""
    stack = make_stack(replicas=2, deadline_ms=20_000)

    def incident() -> None:
        for worker in (stack.master_worker, *stack.replica_workers.values()):
            assert worker.stop() == Exit.STOPPED
            worker.start()
            stack.wait_until_serving()

    history = run_through(stack, incident, timeout_s=30.0)

    assert not unanswered(history), unanswered(history)[0]


def test_restart_of_every_process_under_load_loses_no_acknowledged_write(make_stack: MakeStack) -> None:
    stack = make_stack(replicas=2)

    def incident() -> None:
        for process in stack.dbsvr_processes:
            assert process.stop() == Exit.STOPPED
            process.start()
            stack.wait_until_serving()
        assert "stopped unanswered=0" in stack.front.log.read_text(), "what was accepted was answered, under load too"

    run_through(stack, incident)
