"""A cache node's scripts on a real Redis: whatever comes late, twice or out of order, no older copy wins (INV 8)."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Iterator

import pytest

from apps.cachesync.nodes import MOST_WORDS, CacheNode, NodeUnavailable, Stale
from apps.cachesync.scripts import keys
from apps.cachesync.task_interface import TaskInterface
from deploy.local.private_stack import PrivateStack
from tests.stack.cache_nodes import cut_off, rows_of, start_logic_node, work_off
from tests.stack.waiting import eventually
from workers.protocol import Change, Snapshot, TaskRecord, WriteAnswer

TTL_MS, TIMEOUT_MS = 60_000, 250
_uids = itertools.count(880_001)


@pytest.fixture
def node(django_on_stack: PrivateStack) -> CacheNode:
    return CacheNode("node-1", url_of(django_on_stack, "node-1"), TTL_MS, TIMEOUT_MS)


def url_of(stack: PrivateStack, name: str) -> str:
    return f"redis://127.0.0.1:{stack.nodes[name].port}/0"


@pytest.fixture
def uid() -> int:
    return next(_uids)


def snapshot_of(uid: int, version: int, generation: int = 1) -> Snapshot:
    record = TaskRecord(1, "once", version, "in_progress", None, None, 0)
    return Snapshot(uid, generation, version, 0, [record], served_by="r1", storable=True)


def written(uid: int, version: int, base_version: int | None = None, applied: bool = True) -> WriteAnswer:
    return WriteAnswer(applied, [], version - 1 if base_version is None else base_version, snapshot_of(uid, version), [])


def fill(node: CacheNode, uid: int, version: int) -> str:
    assert node.leave_token(uid, "t", TTL_MS)
    return node.fill(uid, "t", snapshot_of(uid, version))


def version_on(node: CacheNode, uid: int) -> int | None:
    copy = node.get(uid)
    return None if copy is None else copy.version


def test_a_miss_leaves_a_token_and_its_fill_is_stored(node: CacheNode, uid: int) -> None:
    assert node.get(uid) is None
    assert fill(node, uid, 5) == "stored"
    assert version_on(node, uid) == 5


def test_copies_and_profiles_of_many_users_come_in_their_order_with_a_gap_for_each_who_has_none(node: CacheNode) -> None:
    many = [next(_uids) for _user in range(2 * MOST_WORDS + 1)]
    those_with_a_copy = many[::2]
    assert node.leave_tokens(those_with_a_copy, "t", TTL_MS) == [True] * len(those_with_a_copy)
    node.fill_many("t", [snapshot_of(uid, 5) for uid in those_with_a_copy])
    node.put_profiles({uid: b"%d" % uid for uid in those_with_a_copy}, TTL_MS)

    assert [None if copy is None else copy.uid for copy in node.get_many(many)] == [None if n % 2 else uid for n, uid in enumerate(many)]
    assert node.profiles(many) == [None if n % 2 else b"%d" % uid for n, uid in enumerate(many)]
    assert node.get_many([]) == node.profiles([]) == []


def test_many_writes_are_settled_and_purged_in_parts_on_a_node_that_has_forgotten_its_scripts(node: CacheNode) -> None:
    many = [next(_uids) for _user in range(2 * MOST_WORDS + 1)]
    assert node.leave_tokens(many, "t", TTL_MS) == [True] * len(many)
    node._try(lambda connection: connection.script_flush())
    assert node.fill_many("t", [snapshot_of(uid, 5) for uid in many]) == ["stored"] * len(many)
    node._try(lambda connection: connection.script_flush())

    node.settle_many([written(uid, 6 + place) for place, uid in enumerate(many)])
    assert [copy and copy.version for copy in node.get_many(many)] == [6] + [None] * (len(many) - 1)

    node._try(lambda connection: connection.script_flush())
    node.purge([Stale(uid, 1, 7) for uid in many])
    assert node.get_many(many) == [None] * len(many)


def test_a_node_that_dies_under_many_commands_is_said_to_be_unavailable(stack: PrivateStack, node: CacheNode, uid: int) -> None:
    fill(node, uid, 5)
    stack.nodes["node-1"].stop()
    try:
        with pytest.raises(NodeUnavailable):
            node.settle_many([written(uid, 6), written(next(_uids), 6)])
    finally:
        stack.nodes["node-1"].start()


def test_a_node_that_was_asked_beside_a_silent_one_has_its_whole_time(node: CacheNode, uid: int, django_on_stack: PrivateStack) -> None:
    # given a large copy on one node, while the other does not answer
    other = CacheNode("node-2", url_of(django_on_stack, "node-2"), TTL_MS, TIMEOUT_MS)
    large = Snapshot(uid, 1, 5, 0, [TaskRecord(number, "once", 1, "in_progress", None, None, 0) for number in range(5_000)])
    assert other.leave_token(uid, "t", TTL_MS)
    assert other.fill(uid, "t", large) == "stored"
    assert node.get(uid) is None  # its connection is open
    django_on_stack.nodes["node-1"].freeze()
    try:
        # when both are asked at once, and the silent one is waited for first
        node_takes, other_takes = node.begin_get_many([uid]), other.begin_get_many([uid])
        with pytest.raises(NodeUnavailable):
            node_takes()
        (copy,) = other_takes()
    finally:
        django_on_stack.nodes["node-1"].thaw()

    assert copy is not None
    assert copy.tasks == large.tasks
    assert other.counts.failures == 0


def test_only_one_reader_fills_while_the_others_read_through(node: CacheNode, uid: int) -> None:
    assert node.leave_token(uid, "first", TTL_MS) is True
    assert node.leave_token(uid, "second", TTL_MS) is False
    assert node.fill(uid, "second", snapshot_of(uid, 9)) == "no token"
    assert node.fill(uid, "first", snapshot_of(uid, 5)) == "stored"


def test_a_fill_that_a_write_has_overtaken_is_refused(node: CacheNode, uid: int) -> None:
    node.leave_token(uid, "t", TTL_MS)
    node.settle(uid, written(uid, 6))

    assert node.fill(uid, "t", snapshot_of(uid, 5)) == "no token"
    assert version_on(node, uid) is None


def test_a_fill_never_replaces_a_copy_that_is_as_new(node: CacheNode, uid: int) -> None:
    fill(node, uid, 5)
    node._run("return redis.call('SET', KEYS[2], 't')", uid)

    assert node.fill(uid, "t", snapshot_of(uid, 4)) == "not newer"
    assert version_on(node, uid) == 5


def test_a_newer_generation_beats_any_version(node: CacheNode, uid: int) -> None:
    fill(node, uid, 9)
    node._run("return redis.call('SET', KEYS[2], 't')", uid)

    assert node.fill(uid, "t", snapshot_of(uid, 1, generation=2)) == "stored"


def test_a_token_expires_with_the_request_and_a_later_fill_is_refused(node: CacheNode, uid: int) -> None:
    node.leave_token(uid, "t", 30)
    eventually(lambda: node.leave_token(uid, "next", TTL_MS))

    assert node.fill(uid, "t", snapshot_of(uid, 5)) == "no token"


def test_a_write_replaces_the_very_copy_that_it_was_applied_on(node: CacheNode, uid: int) -> None:
    fill(node, uid, 5)

    assert node.settle(uid, written(uid, 6)) == "replaced"
    assert version_on(node, uid) == 6


def test_a_settle_makes_no_copy_live_longer(node: CacheNode, uid: int) -> None:
    """One that comes minutes late would outlive the trail, and the next write would not name its node."""
    fill(node, uid, 5)
    node._try(lambda connection: connection.pexpire(keys(uid)[0], 5_000))

    assert node.settle(uid, written(uid, 6)) == "replaced"

    assert version_on(node, uid) == 6
    assert 0 < node._try(lambda connection: connection.pttl(keys(uid)[0])) <= 5_000


@pytest.mark.parametrize(
    ("before", "answer_version", "base", "applied", "outcome", "after"),
    [
        (3, 6, 5, True, "deleted", None),  # an older copy than the write's base: something in between is not in it
        (7, 6, 5, True, "kept", 7),  # a later write was quicker
        (5, 6, 6, False, "deleted", None),  # a repeated event is never written through
        (6, 6, 6, False, "kept", 6),
        (None, 6, 5, True, "none", None),  # none is created
    ],
)
def test_any_other_older_copy_is_deleted_and_none_is_created(
    node: CacheNode, uid: int, before: int | None, answer_version: int, base: int, applied: bool, outcome: str, after: int | None
) -> None:
    if before is not None:
        fill(node, uid, before)

    assert node.settle(uid, written(uid, answer_version, base, applied)) == outcome
    assert version_on(node, uid) == after


@pytest.mark.parametrize("order", list(itertools.permutations([1, 2, 3])))
def test_writes_settled_in_any_order_leave_nothing_older_than_the_newest(node: CacheNode, uid: int, order: tuple[int, ...]) -> None:
    fill(node, uid, 0)
    for version in order:
        node.settle(uid, written(uid, version))

    assert version_on(node, uid) in (None, 3)


def test_a_dead_node_is_said_to_be_unavailable_in_bounded_time_and_then_left_alone(stack: PrivateStack, node: CacheNode, uid: int) -> None:
    stack.nodes["node-1"].freeze()
    try:
        began = time.monotonic()
        for _ in range(20):
            with pytest.raises(NodeUnavailable):
                node.get(uid)
        assert time.monotonic() - began < 3 * 3 * 0.25 + 1, "twenty readers did not wait twenty time-outs"
        assert node.breaker.is_open
    finally:
        stack.nodes["node-1"].thaw()
    eventually(lambda: _answers(node, uid), within_s=15)


def _answers(node: CacheNode, uid: int) -> bool:
    try:
        node.get(uid)
    except NodeUnavailable:
        return False
    return True


@pytest.fixture
def tasks(django_on_stack: PrivateStack) -> Iterator[TaskInterface]:
    interface = start_logic_node()
    yield interface
    interface.close()


def test_a_second_read_comes_from_the_users_node(tasks: TaskInterface, uid: int) -> None:
    first, second = tasks.get(uid), tasks.get(uid)

    assert first.served_by in ("master", "r1")
    assert second.served_by in ("node-1", "node-2")
    assert (second.version, second.tasks) == (first.version, first.tasks)


def test_nobody_reads_an_old_copy_after_his_write(tasks: TaskInterface, uid: int) -> None:
    for version in range(1, 30):
        tasks.get(uid)
        answer = tasks.finish(uid, f"e{version}", [Change(task=1, period="once", op="add", value=1)])

        assert answer.snapshot.version == version
        assert tasks.get(uid).version == version


def test_an_erased_user_is_gone_from_his_node(tasks: TaskInterface, uid: int) -> None:
    tasks.finish(uid, "e1", [Change(task=1, period="once", op="add", value=1)])
    tasks.get(uid)

    tasks.clear(uid, "c1")

    assert tasks.get(uid).tasks == []


def test_200_readers_who_miss_one_user_cost_the_dbsvr_two_reads(stack: PrivateStack, tasks: TaskInterface, uid: int) -> None:
    answers: list[Snapshot] = []
    together = threading.Barrier(200)

    def ask() -> None:
        together.wait()
        answers.append(tasks.get(uid))

    tasks.get(uid - 1_000)  # connections are open
    before = reads_of(stack)
    threads = [threading.Thread(target=ask) for _ in range(200)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [answer.version for answer in answers] == [0] * 200
    assert reads_of(stack) - before <= 2


def reads_of(stack: PrivateStack) -> int:
    stats = stack.stats()
    assert stats is not None
    return int(stats["reads"]["total"])  # type: ignore[index]


def test_a_profile_is_kept_beside_the_copy_and_one_that_was_on_its_way_when_its_user_was_erased_is_not(node: CacheNode, uid: int) -> None:
    fill(node, uid, 5)
    node.put_profiles({uid: b"{}"}, TTL_MS)
    copy, profile = node.get_with_profile(uid)
    assert copy is not None
    assert (copy.version, profile) == (5, b"{}")

    node.forget_profile(uid)
    node.purge([Stale(uid, 1, 6)])  # of the same erasing, a little later
    node.put_profiles({uid: b"late"}, TTL_MS)

    assert node.profiles([uid]) == [None]
    assert node.get_with_profile(uid) == (None, None)


def test_a_purge_takes_the_profile_along(node: CacheNode, uid: int) -> None:
    node.put_profiles({uid: b"{}"}, TTL_MS)

    node.purge([Stale(uid, 1, 1)])

    assert node.profiles([uid]) == [None]


def test_where_a_node_cannot_be_reached_when_a_user_is_erased_a_purge_row_remembers_his_profile(
    django_on_stack: PrivateStack, uid: int
) -> None:
    tasks = start_logic_node(purge_before_answer_ms=3_000)
    try:
        cut_off(tasks, "node-2")
        tasks.forget_profile(written(uid, 3))
        assert rows_of(django_on_stack, uid) == [("node-2", 3)]
    finally:
        tasks.close()
        work_off()
