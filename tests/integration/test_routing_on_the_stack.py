"""Who serves a read, and why: on real databases."""

from __future__ import annotations

import json
from collections.abc import Callable

from deploy.local.private_stack import PrivateStack
from tests.consistency.clients import Load, Run
from tests.consistency.history import stale_reads
from tests.stack.asking import Asked
from tests.stack.task_client import TaskClient, change
from tests.stack.waiting import eventually

MakeStack = Callable[..., PrivateStack]


def test_a_read_after_an_acknowledged_write_never_comes_from_a_replica_behind_it(make_stack: MakeStack) -> None:
    stack = make_stack()
    stack.replica.delay(3600)
    client, other = TaskClient(stack), TaskClient(stack)
    client.finish(7)

    first, later = other.get(7), other.get(7)

    assert (first.version, first.served_by) == (1, "master")
    assert (later.version, later.served_by, later.reason) == (1, "master", "recent_write")


def test_users_who_have_not_written_go_on_reading_from_a_lagging_replica(make_stack: MakeStack) -> None:
    stack = make_stack()
    client = TaskClient(stack)
    stack.replica.delay(3600)
    client.finish(7)

    assert client.get(8).served_by == "r1"


def test_once_the_replica_has_the_write_it_serves_the_user_again(make_stack: MakeStack) -> None:
    stack = make_stack()
    client = TaskClient(stack)
    stack.replica.stop_sql_thread()
    client.finish(7)
    assert client.get(7).served_by == "master"

    stack.replica.start_sql_thread()

    snapshot = eventually(lambda: (read := client.get(7)).served_by == "r1" and read)
    assert snapshot.version == 1


def test_reads_of_a_user_with_a_write_in_flight_belong_to_the_master(make_stack: MakeStack) -> None:
    """INV 2: the replica could answer, and must not be asked while the outcome is unknown."""
    stack = make_stack(deadline_ms=30_000)
    stack.master_worker.freeze()
    write = Asked(stack, "TASK.FINISH", 7, "node-1", "e1", json.dumps([change()]))
    watcher = TaskClient(stack)
    eventually(lambda: watcher.stats()["users"]["in_flight"] == 1)

    read = Asked(stack, "TASK.GET", 7, "node-1")
    eventually(lambda: watcher.stats()["queues"]["query"]["depth"] == 1)
    assert watcher.get(8).served_by == "r1", "others are not held up"
    stack.master_worker.thaw()

    assert write.answer["applied"]
    assert (read.answer["version"], read.answer["served_by"], read.answer["reason"]) == (1, "master", "in_flight")
    assert not read.answer["storable"]


def test_reads_wait_for_the_master_until_the_first_fresh_tick(make_stack: MakeStack) -> None:
    """INV 3 at start: a new front knows nobody's stamp, so it trusts no replica before a tick of its own is committed."""
    stack = make_stack(deadline_ms=30_000)
    stack.master_worker.stop()
    stack.front.stop()
    stack.front.start()
    eventually(lambda: stack.stats() is not None)

    read = Asked(stack, "TASK.GET", 7, "node-1")
    watcher = TaskClient(stack)
    eventually(lambda: watcher.stats()["queues"]["query"]["depth"] == 1)
    stack.master_worker.start()

    assert (read.answer["served_by"], read.answer["reason"]) == ("master", "fresh_start")


def test_the_master_helps_with_the_replicas_reads_only_past_the_spill_depth(make_stack: MakeStack) -> None:
    stack = make_stack(deadline_ms=30_000, age_limit_ms=20_000, spill_depth=10)
    stack.replica_worker.freeze()
    watcher = TaskClient(stack)

    few = Asked(stack, "TASK.MGET", "node-1", *range(1, 9))
    eventually(lambda: watcher.stats()["queues"]["query"]["depth"] == 8)
    many = Asked(stack, "TASK.MGET", "node-1", *range(1, 101))
    eventually(lambda: watcher.stats()["reads"]["by_reason"]["spill"] > 50)
    stack.replica_worker.thaw()

    served = [snapshot["served_by"] for snapshot in few.answer + many.answer]
    assert served.count("master") > 50
    assert watcher.stats()["queues"]["query"]["depth"] == 0


def test_a_read_that_waits_past_its_limit_is_sent_to_the_master(make_stack: MakeStack) -> None:
    stack = make_stack()
    stack.replica_worker.freeze()
    client = TaskClient(stack)

    snapshot = client.get(7)

    assert (snapshot.served_by, snapshot.reason) == ("master", "aged")
    stack.replica_worker.thaw()


def test_with_the_replica_1_s_behind_it_serves_nearly_all_reads_that_it_may(make_stack: MakeStack) -> None:
    stack = make_stack()
    stack.replica.delay(1)
    watcher = TaskClient(stack)
    load = Load(clients=16, users=2_000, write_share=0.1, operations=4_000, seed=5)
    Run(stack, load).start().wait()
    eventually(lambda: watcher.stats()["replicas"]["r1"]["lag_ms"] and watcher.stats()["replicas"]["r1"]["lag_ms"] > 800)
    before = watcher.stats()["reads"]

    history = Run(stack, Load(clients=16, users=2_000, write_share=0.1, operations=20_000, seed=6)).start().wait()

    after = watcher.stats()["reads"]
    safe = after["safe"] - before["safe"]
    served = after["by_server"]["r1"] - before["by_server"]["r1"]
    assert safe > 5_000
    assert served / safe > 0.9, f"{served} of {safe}"
    assert not stale_reads(history)
