"""Incidents of the pipeline, each on real processes. No acknowledged write is lost, none is applied twice, nothing is left."""

from __future__ import annotations

import json
import signal
import socket
from collections.abc import Callable

import pytest
import sysv_ipc

from deploy.local.private_stack import PrivateStack
from tests.consistency.clients import Load, Run, final_states
from tests.consistency.history import judge
from tests.stack.asking import Asked
from tests.stack.locks import HeldLock
from tests.stack.task_client import TaskClient, change
from tests.stack.waiting import eventually
from workers.front_link import FrontLink, local_socket_path
from workers.messages import encode_ticket
from workers.process import Exit
from workers.protocol import DBSvrError, MasterDown

MakeStack = Callable[..., PrivateStack]


def run_through(stack: PrivateStack, incident: Callable[[], None], operations: int = 6_000) -> None:
    """Clients work, the incident happens in their midst, and in the end nothing is lost, doubled or stale."""
    run = Run(stack, Load(clients=8, users=100, operations=operations, seed=21)).start()
    eventually(lambda: len(run.history) > operations // 6)
    incident()
    history = run.wait()
    stack.wait_until_serving()
    violations = judge(history, final_states(stack))
    assert not violations, str(violations[0])


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
    stack.front.freeze()  # so that the worker's answer stays in the socket
    lock.release()
    eventually(lambda: stack.master.execute("SELECT uid FROM user_state WHERE uid = 7", "tasksys_user"))
    stack.master_worker.kill()
    stack.front.thaw()
    stack.master_worker.start()

    assert write.answer["snapshot"]["version"] == 1
    assert write.answer["results"][0]["progress"] == 1
    assert client.get(7).version == 1


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


def test_queue_removed_from_outside(make_stack: MakeStack) -> None:
    stack = make_stack()

    def incident() -> None:
        for offset in range(3):
            sysv_ipc.MessageQueue(stack.queue_key + offset).remove()

    run_through(stack, incident)


def test_leftovers_of_a_crashed_run_in_the_queues_are_never_executed(make_stack: MakeStack) -> None:
    stack = make_stack(deadline_ms=30_000)
    stack.master_worker.freeze()
    Asked(stack, "TASK.FINISH", 7, "node-1", "old", json.dumps([change()]))
    eventually(lambda: (stats := stack.stats()) and stats["queues"]["finish"]["depth"] == 1)
    stack.front.kill()
    stack.master_worker.kill()

    stack.front.start()
    eventually(lambda: stack.stats() is not None)
    sysv_ipc.MessageQueue(stack.queue_key).send(encode_ticket(1, 1, 1, 7, 0, 2**62), True, 1)
    sysv_ipc.MessageQueue(stack.queue_key + 1).send(b"x", True, 1)
    stack.master_worker.start()
    stack.wait_until_serving()

    client = TaskClient(stack)
    assert client.finish(7).base_version == 0, "what the dead front had queued was executed"
    assert client.get(7).version == 1


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


def test_term_five_times_stops_every_process_within_a_second_and_leaves_nothing(make_stack: MakeStack) -> None:
    stack = make_stack()
    for process in stack.dbsvr_processes:
        for _ in range(5):
            process.signal(signal.SIGTERM)

    assert [process.wait(3) for process in stack.dbsvr_processes] == [Exit.STOPPED] * 3
