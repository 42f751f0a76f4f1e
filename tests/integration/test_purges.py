"""Before a write is answered, and what is left for the cache sync center (INV 9), on real Redis nodes."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator

import pytest
from django.db import OperationalError

from apps.cachesync import purge_rows
from apps.cachesync.center import Center
from apps.cachesync.task_interface import TaskInterface, UserWrite
from deploy.local.private_stack import PrivateStack
from tasksys_site.configuration import load
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
    written,
)
from tests.stack.waiting import eventually
from workers.protocol import Change, TimedOut, WriteAnswer

ADD = [Change(task=1, period="once", op="add", value=1)]
_uids = itertools.count(870_001)


@pytest.fixture
def uid() -> int:
    return next(_uids)


@pytest.fixture
def tasks(django_on_stack: PrivateStack) -> Iterator[TaskInterface]:
    """A logic node that uses both cache nodes."""
    interface = start_logic_node()
    yield interface
    interface.close()


@pytest.fixture
def center(django_on_stack: PrivateStack) -> Iterator[Center]:
    made = Center(load().cache)
    yield made
    for node in made.nodes().values():
        node.close()


def own_and_other(tasks: TaskInterface, uid: int) -> tuple[str, str]:
    node = tasks._nodes.choose(uid)
    assert node is not None, tasks._nodes.why_not()
    (other,) = set(NODES) - {node.name}
    return node.name, other


def complete(tasks: TaskInterface, uid: int, version: int, purge: list[str], applied: bool = True, write_through: bool = True) -> None:
    """As after the DBSvr's answer to a write."""
    tasks._purging.complete(tasks._nodes.choose(uid), written(uid, version, purge, applied), write_through)


@pytest.mark.parametrize("named", ["by name", "every node"])
def test_every_node_that_the_answer_names_is_purged_before_the_write_is_answered(
    stack: PrivateStack, tasks: TaskInterface, uid: int, named: str
) -> None:
    _own, other = own_and_other(tasks, uid)
    put_copy(stack, other, uid, 5)
    leave_token(stack, other, uid)
    name = other if named == "by name" else "*"
    leave_row(stack, name, uid, 6)

    complete(tasks, uid, 6, [name])

    assert version_on(stack, other, uid) is None
    assert not has_token(stack, other, uid)
    eventually(lambda: rows_of(stack, uid) == [], within_s=5)


def test_a_purge_leaves_what_is_as_new(stack: PrivateStack, tasks: TaskInterface, uid: int) -> None:
    _own, other = own_and_other(tasks, uid)
    put_copy(stack, other, uid, 6)

    complete(tasks, uid, 6, [other])

    assert version_on(stack, other, uid) == 6


def test_rows_of_later_writes_are_not_closed_with_an_earlier_one(stack: PrivateStack, tasks: TaskInterface, uid: int) -> None:
    _own, other = own_and_other(tasks, uid)
    for version in (5, 6, 7):
        leave_row(stack, other, uid, version)

    complete(tasks, uid, 6, [other])

    eventually(lambda: rows_of(stack, uid) == [(other, 7)], within_s=5)
    stack.master.execute("DELETE FROM cache_purge WHERE uid = %s", "tasksys_user", (uid,))


def test_a_frozen_node_keeps_no_write_waiting_longer_than_the_bound(stack: PrivateStack, tasks: TaskInterface, uid: int) -> None:
    _own, other = own_and_other(tasks, uid)
    put_copy(stack, other, uid, 5)
    leave_row(stack, other, uid, 6)
    stack.nodes[other].freeze()
    try:
        began = time.monotonic()
        complete(tasks, uid, 6, [other])
        took = time.monotonic() - began
        assert rows_of(stack, uid) == [(other, 6)], "what is not confirmed stays for the center"
    finally:
        stack.nodes[other].thaw()
        stack.master.execute("DELETE FROM cache_purge WHERE uid = %s", "tasksys_user", (uid,))

    assert took < 0.1 + 0.15


def test_when_its_own_node_does_not_confirm_a_row_is_committed_before_the_answer(
    stack: PrivateStack, tasks: TaskInterface, uid: int
) -> None:
    own, _other = own_and_other(tasks, uid)
    put_copy(stack, own, uid, 0)
    cut_off(tasks, own)
    try:
        answer = tasks.finish(uid, "e1", ADD)
        assert answer.applied
        assert (own, 1) in rows_of(stack, uid)
    finally:
        stack.master.execute("DELETE FROM cache_purge WHERE uid = %s", "tasksys_user", (uid,))


def test_without_a_confirmation_and_without_a_row_there_is_no_answer_and_the_event_can_be_repeated(
    stack: PrivateStack, tasks: TaskInterface, uid: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, _other = own_and_other(tasks, uid)
    cut_off(tasks, own)

    monkeypatch.setattr(purge_rows, "insert", lambda *it: _raise_operational_error())
    with pytest.raises(TimedOut) as caught:
        tasks.finish(uid, "e1", ADD)
    assert caught.value.retryable
    assert caught.value.outcome_unknown

    monkeypatch.undo()
    assert not tasks.finish(uid, "e1", ADD).applied
    stack.master.execute("DELETE FROM cache_purge WHERE uid = %s", "tasksys_user", (uid,))


def _raise_operational_error() -> None:
    raise OperationalError("the database is away")


def users_of(tasks: TaskInterface, own: str, count: int) -> list[int]:
    """Users who belong on this node."""
    return list(itertools.islice((uid for uid in _uids if own_and_other(tasks, uid)[0] == own), count))


def test_many_writes_are_purged_for_everywhere_before_they_are_answered(stack: PrivateStack, tasks: TaskInterface, uid: int) -> None:
    own, other = own_and_other(tasks, uid)
    users = users_of(tasks, own, 20) + users_of(tasks, other, 20)
    for each in users:
        put_copy(stack, NODES[0], each, 0)
        put_copy(stack, NODES[1], each, 0)
        leave_token(stack, own, each)

    answers = tasks.finish_many([UserWrite(each, "e1", ADD) for each in users])

    assert [answer.snapshot.uid for answer in answers if isinstance(answer, WriteAnswer)] == users
    for each, answer in zip(users, answers, strict=True):
        assert isinstance(answer, WriteAnswer)
        home, away = own_and_other(tasks, each)
        assert version_on(stack, home, each) == 1, "written through: it was the state before"
        if away in answer.purge or "*" in answer.purge:
            assert version_on(stack, away, each) is None
    assert not has_token(stack, own, users[0])
    stack.master.execute("DELETE FROM cache_purge WHERE uid IN %s", "tasksys_user", (tuple(users),))


def test_writes_of_one_user_among_many_are_applied_in_their_order(stack: PrivateStack, tasks: TaskInterface, uid: int) -> None:
    sets = [[Change(task=1, period="once", op="set", value=value)] for value in (5, 9, 7)]

    answers = tasks.finish_many([UserWrite(uid, f"e{place}", changes) for place, changes in enumerate(sets)])

    assert [answer.snapshot.tasks[0].progress for answer in answers if isinstance(answer, WriteAnswer)] == [5, 9, 7]


def test_among_many_writes_only_those_of_a_node_without_confirmation_and_row_have_no_answer(
    stack: PrivateStack, tasks: TaskInterface, uid: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, other = own_and_other(tasks, uid)
    theirs, others = users_of(tasks, own, 3), users_of(tasks, other, 3)
    cut_off(tasks, own)
    monkeypatch.setattr(purge_rows, "insert", lambda *it: _raise_operational_error())

    answers = tasks.finish_many([UserWrite(each, "e1", ADD) for each in theirs + others])

    assert [type(answer) for answer in answers] == [TimedOut] * 3 + [WriteAnswer] * 3
    monkeypatch.undo()
    assert [it.applied for it in tasks.finish_many([UserWrite(each, "e1", ADD) for each in theirs]) if isinstance(it, WriteAnswer)] == [
        False
    ] * 3
    stack.master.execute("DELETE FROM cache_purge WHERE uid IN %s", "tasksys_user", (tuple(theirs + others),))


def test_an_erased_user_has_no_copy_anywhere(stack: PrivateStack, tasks: TaskInterface, uid: int) -> None:
    tasks.finish(uid, "e1", ADD)
    tasks.get(uid)
    own, _other = own_and_other(tasks, uid)
    assert version_on(stack, own, uid) == 1

    tasks.clear(uid, "c1")

    assert [version_on(stack, node, uid) for node in NODES] == [None, None]
    assert tasks.get(uid).tasks == []


def test_the_center_purges_closes_and_leaves_what_is_newer(stack: PrivateStack, center: Center, uid: int) -> None:
    put_copy(stack, "node-1", uid, 5)
    put_copy(stack, "node-1", uid + 10_000, 9)
    leave_token(stack, "node-1", uid)
    for each, version in ((uid, 4), (uid, 6), (uid + 10_000, 9)):
        leave_row(stack, "node-1", each, version)

    center.purge_node("node-1")

    assert (version_on(stack, "node-1", uid), has_token(stack, "node-1", uid)) == (None, False)
    assert version_on(stack, "node-1", uid + 10_000) == 9
    assert rows_of(stack, uid) + rows_of(stack, uid + 10_000) == []


def test_the_center_works_off_more_than_one_batch(stack: PrivateStack, center: Center) -> None:
    values = ",".join(f"({it}, 1, 1, 'node-2', 0)" for it in range(1, 1_501))
    stack.master.execute(f"INSERT INTO cache_purge (uid, generation, version, node, created_ms) VALUES {values}", "tasksys_user")

    assert center.purge_node("node-2") == 1_500


def test_a_row_for_every_node_is_done_when_all_have_confirmed(stack: PrivateStack, center: Center, uid: int) -> None:
    for node in NODES:
        put_copy(stack, node, uid, 5)
    leave_row(stack, "*", uid, 6)

    center.purge_everywhere()

    assert [version_on(stack, node, uid) for node in NODES] == [None, None]
    assert rows_of(stack, uid) == []


def test_a_node_that_did_not_confirm_a_purge_of_all_is_flushed_before_it_is_used_again(
    stack: PrivateStack, center: Center, tasks: TaskInterface, uid: int
) -> None:
    _own, other = own_and_other(tasks, uid)
    put_copy(stack, other, uid, 5)
    leave_row(stack, "*", uid, 6)
    stack.nodes[other].freeze()
    try:
        center.purge_everywhere()
        assert (rows_of(stack, uid), rows_of(stack, 0)) == ([], [(other, 0)])
        eventually(lambda: tasks._nodes.why_not()[other] == "flush", within_s=5)
    finally:
        stack.nodes[other].thaw()
    eventually(lambda: center.purge_node(other), within_s=15)

    assert version_on(stack, other, uid) is None
    eventually(lambda: not tasks._nodes.why_not()[other], within_s=5)


def test_when_the_generation_rises_every_node_is_flushed(stack: PrivateStack, center: Center, tasks: TaskInterface, uid: int) -> None:
    for node in NODES:
        put_copy(stack, node, uid, 5)
        leave_token(stack, node, uid)
    leave_row(stack, "*", 0, 0, generation=2)
    eventually(lambda: set(tasks._nodes.why_not().values()) == {"flush"}, within_s=5)
    assert tasks._nodes.choose(uid) is None

    center.purge_everywhere()

    assert [(version_on(stack, node, uid), has_token(stack, node, uid)) for node in NODES] == [(None, False)] * 2
    eventually(lambda: tasks._nodes.choose(uid), within_s=5)


def test_rows_of_a_node_that_is_no_longer_registered_are_closed(stack: PrivateStack, center: Center, uid: int) -> None:
    leave_row(stack, "node-9", uid, 3)

    center.purge_node("node-9")

    assert rows_of(stack, uid) == []


def test_a_silent_node_keeps_its_rows(stack: PrivateStack, center: Center, uid: int) -> None:
    leave_row(stack, "node-2", uid, 3)
    stack.nodes["node-2"].freeze()
    try:
        assert center.purge_node("node-2") == 0
        assert rows_of(stack, uid) == [("node-2", 3)]
    finally:
        stack.nodes["node-2"].thaw()
    eventually(lambda: center.purge_node("node-2") == 1, within_s=10)
