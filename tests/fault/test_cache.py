"""Incidents of cache nodes, broker and Celery: no copy older than an acknowledged write is served, and purges come through."""

from __future__ import annotations

import contextlib
import itertools
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import pytest
from django.db import OperationalError

from apps.cachesync import registry
from apps.cachesync.task_interface import TaskInterface
from deploy.local.private_stack import PrivateStack
from deploy.local.stack_process import StackProcess
from tasksys_site.celery import PURGE_NOW, app
from tasksys_site.configuration import PROJECT
from tests.stack.cache_nodes import (
    NODES,
    cut_off,
    has_token,
    leave_row,
    leave_token,
    put_copy,
    rows_of,
    start_logic_node,
    version_on,
    work_off,
)
from tests.stack.waiting import eventually
from workers.protocol import Change, Snapshot

ADD = [Change(task=1, period="once", op="add", value=1)]
GRACE_AND_LOOKS_S = 2.0 + 2 * 1.5
_uids = itertools.count(860_001)


@pytest.fixture
def uid() -> int:
    return next(_uids)


@pytest.fixture
def logic_node(django_on_stack: PrivateStack) -> Iterator[Callable[..., TaskInterface]]:
    """Logic nodes, each with its own connections and its own view of the cache nodes; all of which it uses."""
    made: list[TaskInterface] = []

    def make(that_uses_all: bool = True) -> TaskInterface:
        made.append(start_logic_node(that_uses_all))
        return made[-1]

    yield make
    for interface in made:
        interface.close()


@pytest.fixture
def started() -> Iterator[Callable[[StackProcess], StackProcess]]:
    made: list[StackProcess] = []

    def start(process: StackProcess) -> StackProcess:
        made.append(process)
        process.start()
        return process

    yield start
    for process in made:
        process.stop()


def own_and_other(tasks: TaskInterface, uid: int) -> tuple[str, str]:
    node = tasks._nodes.choose(uid)
    assert node is not None, tasks._nodes.why_not()
    (other,) = set(NODES) - {node.name}
    return node.name, other


def reads_of(stack: PrivateStack) -> int:
    stats = stack.stats()
    assert stats is not None
    return int(stats["reads"]["total"])  # type: ignore[index]


def test_a_frozen_nodes_users_go_to_the_next_node_and_come_back(
    stack: PrivateStack, logic_node: Callable[..., TaskInterface], uid: int
) -> None:
    tasks = logic_node()
    own, other = own_and_other(tasks, uid)
    stack.nodes[own].freeze()
    try:
        eventually(lambda: tasks.get(uid).served_by == other)
        answer = tasks.finish(uid, "e1", ADD)
        assert answer.applied
        assert tasks.get(uid).version == 1
        assert tasks.get(uid).served_by == other, "written through there"
    finally:
        stack.nodes[own].thaw()

    eventually(lambda: tasks._nodes.choose(uid) and tasks._nodes.choose(uid).name == own, within_s=20)  # type: ignore[union-attr]
    assert tasks.get(uid).version == 1


@pytest.mark.parametrize("data", ["with its old data", "without its old data"])
def test_a_node_that_was_killed_and_is_back_serves_nothing_before_it_was_emptied(
    stack: PrivateStack, logic_node: Callable[..., TaskInterface], uid: int, data: str
) -> None:
    # given a copy that the node has on its disk, and a write since then
    tasks = logic_node()
    own, _other = own_and_other(tasks, uid)
    tasks.get(uid)
    dump = stack.nodes[own].directory / "dump.rdb"
    if data == "with its old data":
        with stack.nodes[own].client() as client:
            client.save()
    tasks.finish(uid, "e1", ADD)

    # when its server is killed and started again
    stack.nodes[own].kill()
    stack.nodes[own].start()
    dump.unlink(missing_ok=True)
    assert version_on(stack, own, uid) == (0 if data == "with its old data" else None)

    # then nobody uses it, neither who knew it before nor who starts now
    late = logic_node(that_uses_all=False)
    until = time.monotonic() + 3
    while time.monotonic() < until:
        for each in (tasks, late):
            found = each.get(uid)
            assert (found.version, found.served_by != own) == (1, True)

    # until the center has emptied it
    work_off()
    eventually(lambda: tasks.get(uid).served_by == own, within_s=20)
    assert tasks.get(uid).version == 1


def test_with_all_nodes_frozen_the_dbsvr_serves(stack: PrivateStack, logic_node: Callable[..., TaskInterface], uid: int) -> None:
    tasks = logic_node()
    for node in NODES:
        stack.nodes[node].freeze()
    try:
        eventually(lambda: (tasks.get(uid), tasks._nodes.choose(uid) is None)[1])
        began = time.monotonic()
        for version in range(1, 11):
            assert tasks.finish(uid, f"e{version}", ADD).applied
            assert tasks.get(uid).version == version
        assert time.monotonic() - began < 2, "nobody waits for nodes that are being left alone"
    finally:
        for node in NODES:
            stack.nodes[node].thaw()
    eventually(lambda: tasks._nodes.choose(uid), within_s=20)


def test_a_copy_on_a_node_that_the_writer_could_not_reach_is_served_by_nobody_after_the_grace_nor_after_readmission(
    stack: PrivateStack, logic_node: Callable[..., TaskInterface], uid: int
) -> None:
    # given two logic nodes, a copy on the user's node, and a writer who alone cannot reach it
    writer, reader = logic_node(), logic_node()
    own, _other = own_and_other(writer, uid)
    reader.get(uid)
    assert reader.get(uid).served_by == own
    cut_off(writer, own)

    # when he writes and no center is there
    writer.finish(uid, "e1", ADD)
    acknowledged_at = time.monotonic()

    # then the copy is served for the grace and two looks at most
    eventually(lambda: reader.get(uid).version == 1, within_s=GRACE_AND_LOOKS_S)
    while time.monotonic() < acknowledged_at + GRACE_AND_LOOKS_S:
        time.sleep(0.05)
    assert version_on(stack, own, uid) == 0, "it still lies there"
    assert reader.get(uid).version == 1
    assert logic_node(that_uses_all=False).get(uid).version == 1, "nor does one that starts now serve it"

    # and after readmission it is gone
    work_off()
    eventually(lambda: reader._nodes.choose(uid) and not reader._nodes.why_not()[own], within_s=5)
    assert reader.get(uid).version == 1


def test_a_process_that_cannot_look_uses_no_node(
    stack: PrivateStack, logic_node: Callable[..., TaskInterface], uid: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks = logic_node()
    tasks.get(uid)

    def away() -> None:
        raise OperationalError("the database does not answer")

    monkeypatch.setattr(registry, "nodes", away)

    eventually(lambda: tasks._nodes.choose(uid) is None, within_s=registry.UNSEEN_AFTER_S + 1)
    assert tasks.get(uid).served_by not in NODES
    monkeypatch.undo()
    eventually(lambda: tasks._nodes.choose(uid), within_s=5)


def test_a_copy_that_was_given_while_the_process_slept_is_not_handed_on(
    stack: PrivateStack, logic_node: Callable[..., TaskInterface], uid: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks = logic_node()
    tasks.get(uid)
    own, _other = own_and_other(tasks, uid)
    node = tasks._nodes.named(own)
    assert node is not None
    given = node.get(uid)

    def get_slowly(_uid: int) -> Snapshot | None:
        tasks._nodes._view = tasks._nodes._view._replace(sent_at=time.monotonic() - registry.UNSEEN_AFTER_S)
        return given

    monkeypatch.setattr(node, "get", get_slowly)

    assert tasks._copy(node, uid) is None


def test_200_readers_in_four_processes_who_miss_one_user_cost_the_databases_two_reads(stack: PrivateStack, uid: int) -> None:
    environment = {**os.environ, **stack.environment}
    command = [sys.executable, "-m", "tests.stack.crowd", str(uid), "50"]
    with contextlib.ExitStack() as ended:
        crowds = [
            ended.enter_context(
                subprocess.Popen(command, cwd=PROJECT, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            )
            for _ in range(4)
        ]
        for crowd in crowds:
            assert crowd.stdout is not None
            assert crowd.stdout.readline() == "ready\n"
        before = reads_of(stack)
        stack.front.freeze()  # for a moment, so that all of them miss while the first reads
        try:
            for crowd in crowds:
                assert crowd.stdin is not None
                crowd.stdin.write("go\n")
                crowd.stdin.flush()
            eventually(lambda: any(has_token(stack, node, uid) for node in NODES))
            time.sleep(0.1)
        finally:
            stack.front.thaw()
        answers = [crowd.stdout.readline().split() for crowd in crowds if crowd.stdout is not None]

    assert answers == [["0"] * 50] * 4
    assert reads_of(stack) - before <= 2


def test_a_token_of_a_dead_holder_costs_a_reader_a_short_wait_only(
    stack: PrivateStack, logic_node: Callable[..., TaskInterface], uid: int
) -> None:
    tasks = logic_node()
    own, _other = own_and_other(tasks, uid)
    leave_token(stack, own, uid, ttl_ms=4_000)

    began = time.monotonic()
    assert tasks.get(uid).served_by not in NODES
    assert time.monotonic() - began < 3 * (0.3 + 0.5)

    eventually(lambda: tasks.get(uid).served_by == own, within_s=15)


def test_the_center_purges_all_live_nodes_within_a_second(
    stack: PrivateStack, django_on_stack: PrivateStack, started: Callable[[StackProcess], StackProcess]
) -> None:
    started(stack.celery("purge"))
    started(stack.beat())
    _until_the_center_works(stack)
    took = []
    for uid in itertools.islice(_uids, 60):
        for node in NODES:
            put_copy(stack, node, uid, 5)
            leave_row(stack, node, uid, 6)
        began = time.monotonic()
        app.send_task(PURGE_NOW)
        eventually(lambda uid=uid: [version_on(stack, node, uid) for node in NODES] == [None, None], within_s=5, every_s=0.005)  # type: ignore[misc]
        took.append(time.monotonic() - began)

    assert sorted(took)[int(len(took) * 0.99) - 1] < 1.0, sorted(took)[-5:]


def _until_the_center_works(stack: PrivateStack) -> None:
    uid = next(_uids)
    leave_row(stack, "node-1", uid, 1)
    eventually(lambda: rows_of(stack, uid) == [], within_s=40)


def test_with_the_broker_frozen_writes_are_answered_and_the_purges_come_after_the_thaw(
    stack: PrivateStack, logic_node: Callable[..., TaskInterface], started: Callable[[StackProcess], StackProcess], uid: int
) -> None:
    started(stack.celery("purge"))
    started(stack.beat())
    _until_the_center_works(stack)
    tasks = logic_node()
    _own, other = own_and_other(tasks, uid)
    stack.broker.freeze()
    try:
        put_copy(stack, other, uid, 0)
        leave_row(stack, other, uid, 1)
        began = time.monotonic()
        assert tasks.finish(uid, "e1", ADD).applied
        assert time.monotonic() - began < 3
    finally:
        stack.broker.thaw()

    eventually(lambda: rows_of(stack, uid) == [], within_s=20)
    assert version_on(stack, other, uid) is None
    assert tasks.get(uid).version == 1


def test_a_center_killed_in_the_middle_delays_a_purge_by_less_than_ten_seconds(
    stack: PrivateStack, django_on_stack: PrivateStack, started: Callable[[StackProcess], StackProcess], uid: int
) -> None:
    # given a center at work on more than it can do at once
    center = started(stack.celery("purge"))
    started(stack.beat())
    _until_the_center_works(stack)
    values = ",".join(f"({850_000_000 + it}, 1, 1, 'node-1', 0)" for it in range(15_000))
    stack.master.execute(f"INSERT INTO cache_purge (uid, generation, version, node, created_ms) VALUES {values}", "tasksys_user")
    put_copy(stack, "node-1", uid, 5)
    leave_row(stack, "node-1", uid, 6)
    everything = "SELECT COUNT(*) FROM cache_purge WHERE node = 'node-1'"
    eventually(lambda: stack.master.execute(everything, "tasksys_user")[0][0] < 15_000, within_s=20, every_s=0.001)

    # when it is killed, and started again as its supervisor does
    center.kill()
    assert rows_of(stack, uid), "it was killed too late for this test"
    started(stack.celery("purge"))

    # then
    eventually(lambda: rows_of(stack, uid) == [], within_s=30)  # three times its ten seconds
    assert version_on(stack, "node-1", uid) is None
