"""More incidents of cache nodes: what is late, comes twice, comes and goes, and what fails twice in a row. Real servers and processes."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Callable, Iterator

import pytest

from apps.cachesync.nodes import NodeUnavailable, Stale
from apps.cachesync.task_interface import TaskInterface
from deploy.local.private_stack import PrivateStack
from tests.stack.cache_nodes import NODES, cut_off, put_copy, rows_of, start_logic_node, version_on, work_off
from tests.stack.waiting import eventually
from workers.protocol import Change

ADD = [Change(task=1, period="once", op="add", value=1)]
GRACE_AND_LOOKS_S = 2.0 + 2 * 1.5
_uids = itertools.count(810_001)

LogicNode = Callable[..., TaskInterface]


@pytest.fixture
def uid() -> int:
    return next(_uids)


@pytest.fixture
def logic_node(django_on_stack: PrivateStack) -> Iterator[LogicNode]:
    made: list[TaskInterface] = []

    def make() -> TaskInterface:
        made.append(start_logic_node())
        return made[-1]

    yield make
    for interface in made:
        interface.close()


def own_and_other(tasks: TaskInterface, uid: int) -> tuple[str, str]:
    node = tasks._nodes.choose(uid)
    assert node is not None, tasks._nodes.why_not()
    (other,) = set(NODES) - {node.name}
    return node.name, other


def test_node_cut_from_one_web_process_only(stack: PrivateStack, logic_node: LogicNode, uid: int) -> None:
    # given a reader who alone cannot reach the user's node, so that he has a copy on the next one
    writer, reader = logic_node(), logic_node()
    own, other = own_and_other(writer, uid)
    cut_off(reader, own)
    eventually(lambda: reader.get(uid).served_by == other)

    # when another process writes
    writer.get(uid)
    writer.finish(uid, "e1", ADD)

    # then neither sees anything older from the very moment of the answer
    assert (reader.get(uid).version, writer.get(uid).version) == (1, 1)
    assert version_on(stack, other, uid) in (None, 1)


def test_node_frozen_filled_purged_thawed(stack: PrivateStack, logic_node: LogicNode, uid: int) -> None:
    # given a fill that was sent to a frozen node, and a write while it is frozen
    reader, writer = logic_node(), logic_node()
    own, _other = own_and_other(reader, uid)
    node = reader._nodes.named(own)
    assert node is not None
    before = reader._dbsvr.get(uid, own)
    assert node.leave_token(uid, "late", 30_000) is True
    stack.nodes[own].freeze()
    try:
        with pytest.raises(NodeUnavailable):
            node.fill(uid, "late", before)
        acknowledged = writer.finish(uid, "e1", ADD).snapshot.version
        acknowledged_at = time.monotonic()
        assert rows_of(stack, uid), "the node has not confirmed"
    finally:
        stack.nodes[own].thaw()

    # then, whenever the fill came, the old copy is served by nobody when the grace has passed, and is gone after the purge
    for tasks in (reader, writer):
        eventually(lambda tasks=tasks: tasks.get(uid).version == acknowledged, within_s=GRACE_AND_LOOKS_S)  # type: ignore[misc]
    assert time.monotonic() < acknowledged_at + GRACE_AND_LOOKS_S + 1
    eventually(lambda: (work_off(), rows_of(stack, uid) == [])[1], within_s=20, every_s=0.5)
    assert version_on(stack, own, uid) in (None, acknowledged)
    assert reader.get(uid).version == acknowledged


def test_two_failures_in_a_row_with_a_write_in_between(stack: PrivateStack, logic_node: LogicNode, uid: int) -> None:
    tasks = logic_node()
    own, other = own_and_other(tasks, uid)
    tasks.get(uid)

    # when the user's node fails, he is written and read on the next one; then that one fails as soon as the first is back
    stack.nodes[own].freeze()
    try:
        eventually(lambda: tasks.get(uid).served_by == other)
        tasks.finish(uid, "e1", ADD)
        acknowledged_at = time.monotonic()
        assert tasks.get(uid).version == 1
    finally:
        stack.nodes[own].thaw()
    stack.nodes[other].freeze()
    try:
        # then the copy that the first one still holds is not served past the grace
        while time.monotonic() < acknowledged_at + GRACE_AND_LOOKS_S:
            tasks.get(uid)
        assert {tasks.get(uid).version for _ in range(20)} == {1}
    finally:
        stack.nodes[other].thaw()

    eventually(lambda: (work_off(), rows_of(stack, uid) == [])[1], within_s=20, every_s=0.5)
    assert tasks.get(uid).version == 1


def test_flapping_node(stack: PrivateStack, logic_node: LogicNode, uid: int) -> None:
    tasks = logic_node()
    own, _other = own_and_other(tasks, uid)
    rnd = random.Random(1)
    acknowledged: list[tuple[int, float]] = []
    slowest = 0.0

    for number in range(8):
        stack.nodes[own].freeze()
        try:
            until = time.monotonic() + rnd.uniform(0.1, 0.8)
            while time.monotonic() < until:
                began = time.monotonic()
                known = [version for version, at in acknowledged if at < began - GRACE_AND_LOOKS_S]
                assert tasks.get(uid).version >= max(known, default=0)
                slowest = max(slowest, time.monotonic() - began)
            acknowledged.append((tasks.finish(uid, f"e{number}", ADD).snapshot.version, time.monotonic()))
        finally:
            stack.nodes[own].thaw()
        until = time.monotonic() + rnd.uniform(0.1, 0.8)
        while time.monotonic() < until:
            tasks.get(uid)

    assert slowest < 3.0, "a read waits for a few time-outs at most"
    eventually(lambda: (work_off(), rows_of(stack, uid) == [])[1], within_s=20, every_s=0.5)
    eventually(lambda: tasks._nodes.choose(uid) and tasks._nodes.choose(uid).name == own, within_s=30)  # type: ignore[union-attr]
    assert tasks.get(uid).version == 8


def test_purge_delivered_ten_times_and_out_of_order(stack: PrivateStack, logic_node: LogicNode, uid: int) -> None:
    tasks = logic_node()
    own, _other = own_and_other(tasks, uid)
    node = tasks._nodes.named(own)
    assert node is not None
    tasks.get(uid)
    purges = []
    for number in range(1, 6):
        snapshot = tasks.finish(uid, f"e{number}", ADD).snapshot
        purges.append((snapshot.uid, snapshot.generation, snapshot.version))
    eventually(lambda: tasks.get(uid).served_by == own)

    for each in random.Random(2).sample(purges * 10, 50):
        node.purge([Stale(*each)])
        assert version_on(stack, own, uid) == 5, "none of them is older than it"
    assert tasks.get(uid).version == 5


def test_dbsvr_restarted_between_a_users_read_and_write(stack: PrivateStack, logic_node: LogicNode, uid: int) -> None:
    # given copies on both nodes, and a DBSvr that knows of neither any more
    tasks = logic_node()
    own, other = own_and_other(tasks, uid)
    tasks.get(uid)
    put_copy(stack, other, uid, 0)
    stack.front.kill()
    stack.front.start()
    stack.wait_until_serving()

    # when
    answer = tasks.finish(uid, "e1", ADD)

    # then every node was purged before the answer
    assert answer.purge == ["*"]
    assert version_on(stack, other, uid) is None
    assert version_on(stack, own, uid) in (None, 1)
    assert tasks.get(uid).version == 1


def test_broker_down_during_a_write(stack: PrivateStack, logic_node: LogicNode, uid: int) -> None:
    tasks = logic_node()
    own, other = own_and_other(tasks, uid)
    tasks.get(uid)
    put_copy(stack, other, uid, 0)
    stack.master.execute(
        "INSERT INTO cache_purge (uid, generation, version, node, created_ms) VALUES (%s, 1, 1, %s, 0)", "tasksys_user", (uid, other)
    )
    stack.broker.kill()
    try:
        began = time.monotonic()
        answer = tasks.finish(uid, "e1", ADD)
        assert time.monotonic() - began < 3.0
        assert answer.applied
        assert [version_on(stack, node, uid) for node in (own, other)] in ([1, None], [None, None])
    finally:
        stack.broker.start()
