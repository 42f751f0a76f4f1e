"""The cache checker, the probes, the registry of nodes and reading many, on real nodes."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Iterator

import pytest

from apps.cachesync import checker, counts, probes, registry
from apps.cachesync.center import Center
from apps.cachesync.checker import AFTER_S
from apps.cachesync.models import DRAINING, IN_USE, JOINING, REMOVED, CacheCheck, CacheNode, CacheNodeNow, CacheViolation
from apps.cachesync.summary import cache_now
from apps.cachesync.task_interface import TaskInterface
from apps.dbsvr.db_interface import db_interface
from deploy.local.private_stack import PrivateStack
from deploy.local.redis import RedisServer
from tasksys_site import configuration
from tasksys_site.configuration import load
from tests.stack.cache_nodes import NODES, leave_row, put_copy, start_logic_node, version_on
from tests.stack.waiting import eventually
from workers.protocol import Change, Snapshot

ADD = [Change(task=1, period="once", op="add", value=1)]
_uids = itertools.count(840_001)


@pytest.fixture
def uid() -> int:
    return next(_uids)


@pytest.fixture
def tasks(django_on_stack: PrivateStack) -> Iterator[TaskInterface]:
    """Every write is followed."""
    interface = start_logic_node(check_one_in=1)
    yield interface
    interface.close()


@pytest.fixture
def center(django_on_stack: PrivateStack) -> Iterator[Center]:
    made = Center(load().cache)
    yield made
    for node in made.nodes().values():
        node.close()


def follow(tasks: TaskInterface, uid: int) -> CacheCheck:
    CacheCheck.objects.all().delete()
    tasks.finish(uid, "e1", ADD)
    return eventually(lambda: CacheCheck.objects.filter(uid=uid).first(), within_s=5)


def test_a_write_is_looked_for_after_1_10_and_60_seconds_and_found_right(tasks: TaskInterface, center: Center, uid: int) -> None:
    check = follow(tasks, uid)

    looks = [check.written_at + after for after in AFTER_S]
    assert check.due_at == looks[0]
    for at in looks:
        assert CacheCheck.objects.filter(uid=uid, due_at=at).exists()
        assert checker.check_due(center.nodes(), db_interface(), at + 0.1) == 0
    assert not CacheCheck.objects.filter(uid=uid).exists()


def test_a_copy_older_than_the_write_is_a_violation_with_what_is_known_of_the_user(
    stack: PrivateStack, tasks: TaskInterface, center: Center, uid: int
) -> None:
    check = follow(tasks, uid)
    put_copy(stack, "node-2", uid, 0)

    assert checker.check_due(center.nodes(), db_interface(), check.due_at) == 1

    violation = CacheViolation.objects.get(uid=uid)
    assert (violation.node, violation.promised, violation.seen) == ("node-2", "generation:1,version:1", "generation:1,version:0")
    known = json.loads(violation.known)
    assert known["event_id"] == "e1"
    assert known["explain"]["uid"] == uid
    summary = cache_now()
    assert (summary.violation_node, summary.violation_at) == ("node-2", violation.at)
    CacheViolation.objects.all().delete()


def test_a_copy_whose_purge_is_under_way_is_none(stack: PrivateStack, tasks: TaskInterface, center: Center, uid: int) -> None:
    check = follow(tasks, uid)
    put_copy(stack, "node-2", uid, 0)
    leave_row(stack, "node-2", uid, 1)

    assert checker.check_due(center.nodes(), db_interface(), check.due_at) == 0
    center.purge_node("node-2")


def test_the_probes_find_a_frozen_node_silent_after_some_failures_and_back_after_some_answers(
    stack: PrivateStack, tasks: TaskInterface, center: Center
) -> None:
    for _ in range(3):
        probes.probe(center.nodes())
    now = CacheNodeNow.objects.get(name="node-1")
    assert (now.answers, now.memory_bytes is not None) == (True, True)

    stack.nodes["node-1"].freeze()
    try:
        found = []
        for _ in range(4):
            probes.probe(center.nodes())
            found.append(CacheNodeNow.objects.get(name="node-1").answers)
        assert found == [True, True, False, False]
        eventually(lambda: tasks._nodes.why_not()["node-1"] == "silent", within_s=5)
    finally:
        stack.nodes["node-1"].thaw()
    for _ in range(4):
        probes.probe(center.nodes())
    assert CacheNodeNow.objects.get(name="node-1").answers
    eventually(lambda: not tasks._nodes.why_not()["node-1"], within_s=5)


def test_what_a_dead_center_has_said_is_not_believed_for_long(tasks: TaskInterface) -> None:
    CacheNodeNow.objects.update_or_create(
        name="node-2", defaults={"answers": False, "since": 0, "probed_at": time.time() - registry.PROBE_LASTS_S - 2}
    )
    assert not any(row.is_silent for row in registry.nodes())
    CacheNodeNow.objects.all().delete()


@pytest.fixture
def third(stack: PrivateStack) -> Iterator[RedisServer]:
    from deploy.local.ports import free_ports

    server = RedisServer("node-3", stack.directory / "node-3", free_ports(1)[0])
    server.start()
    yield server
    server.stop()
    CacheNode.objects.filter(name="node-3").delete()


def test_a_node_joins_empty_is_drained_removed_and_added_again(
    stack: PrivateStack, tasks: TaskInterface, center: Center, third: RedisServer, uid: int
) -> None:
    url = f"redis://127.0.0.1:{third.port}/0"
    stack.nodes["node-3"] = third
    try:
        put_copy(stack, "node-3", uid, 1)

        # joining: nobody uses it before it was emptied, and that not before everybody knows of it
        registry.add("node-3", url)
        center.let_join()
        assert CacheNode.objects.get(name="node-3").state == JOINING
        CacheNode.objects.filter(name="node-3").update(changed_at=time.time() - registry.UNSEEN_AFTER_S - 3)
        center.let_join()
        assert (CacheNode.objects.get(name="node-3").state, version_on(stack, "node-3", uid)) == (IN_USE, None)
        eventually(lambda: "node-3" in {tasks._nodes.choose(it).name for it in range(1, 100)}, within_s=5)  # type: ignore[union-attr]

        # drained: on the ring no more, and not removed at once
        registry.drain("node-3")
        eventually(lambda: "node-3" not in {tasks._nodes.choose(it).name for it in range(1, 100)}, within_s=5)  # type: ignore[union-attr]
        with pytest.raises(registry.NotNow):
            registry.remove("node-3")
        assert "node-3" in center.nodes(), "it is still purged"
        CacheNode.objects.filter(name="node-3").update(changed_at=time.time() - registry.SETTLED_AFTER_S - 2)
        registry.remove("node-3")
        assert "node-3" not in center.nodes()

        # the configuration does not bring it back; an operator does
        registry.take_over([configuration.CacheNode(name="node-3", url=url)])
        assert CacheNode.objects.get(name="node-3").state == REMOVED
        registry.add("node-3", url)
        assert CacheNode.objects.get(name="node-3").state == JOINING
    finally:
        del stack.nodes["node-3"]


def test_no_two_nodes_have_one_address_or_one_name(stack: PrivateStack, django_on_stack: PrivateStack) -> None:
    with pytest.raises(registry.NotNow, match="address"):
        registry.add("node-9", f"redis://127.0.0.1:{stack.nodes['node-1'].port}/0")
    with pytest.raises(registry.NotNow, match="node-1"):
        registry.add("node-1", "redis://127.0.0.1:1/0")


def test_a_changed_address_in_the_configuration_is_taken_over_and_joins(django_on_stack: PrivateStack, third: RedisServer) -> None:
    CacheNode.objects.create(name="node-3", url="redis://127.0.0.1:1/0", state=IN_USE, changed_at=0)

    registry.take_over([configuration.CacheNode(name="node-3", url=f"redis://127.0.0.1:{third.port}/0")])

    row = CacheNode.objects.get(name="node-3")
    assert (row.state, row.url) == (JOINING, f"redis://127.0.0.1:{third.port}/0")
    CacheNode.objects.filter(name="node-3").update(state=DRAINING)
    registry.take_over([configuration.CacheNode(name="node-3", url="redis://127.0.0.1:2/0")])
    assert CacheNode.objects.get(name="node-3").state == DRAINING


def test_many_are_read_in_a_few_round_trips_and_found_on_their_nodes_the_next_time(stack: PrivateStack, tasks: TaskInterface) -> None:
    uids = list(itertools.islice(_uids, 40))
    tasks.finish(uids[3], "e1", ADD)

    first = tasks.get_many([*uids, uids[3]])
    second = tasks.get_many(uids)

    assert [snapshot.version for snapshot in first if isinstance(snapshot, Snapshot)] == [int(uid == uids[3]) for uid in [*uids, uids[3]]]
    assert {snapshot.served_by for snapshot in second if isinstance(snapshot, Snapshot)} == set(NODES)
    assert [snapshot.uid for snapshot in second if isinstance(snapshot, Snapshot)] == uids
    for uid in uids[:5]:
        tasks.finish(uid, "e2", ADD)
    assert [tasks.get(uid).version for uid in uids[:5]] == [1, 1, 1, 2, 1]


def test_what_is_done_on_a_node_is_counted(tasks: TaskInterface, uid: int) -> None:
    node = tasks._nodes.choose(uid)
    assert node is not None
    tasks.get(uid)
    tasks.get(uid)
    before = counts.since(2, time.time()).get(node.name, {})

    counts.add({node.name: node})

    after = counts.since(2, time.time())[node.name]
    assert after["hits"] - before.get("hits", 0) >= 1
    assert after["stored"] - before.get("stored", 0) >= 1
