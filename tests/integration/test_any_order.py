"""A connection that takes its answers in any order, against a real DBSvr: nobody on it waits for a stranger."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from deploy.local.private_stack import PrivateStack
from tests.stack.locks import HeldLock
from tests.stack.task_client import TaskClient, new_event_id
from tests.stack.waiting import eventually
from tests.stack.wire import Wire
from workers.clients import MAX_PENDING_IN_ANY_ORDER

CHANGES = '[{"task":1,"period":"once","op":"add","value":1,"target":9}]'
_uids = itertools.count(77_500, 10)


@pytest.fixture
def uid(stack: PrivateStack) -> int:
    """A user with a row; nobody asks for the nine after him."""
    made = next(_uids)
    client = TaskClient(stack)
    client.finish(made)
    client.close()
    return made


@pytest.fixture
def lock(stack: PrivateStack, uid: int) -> Iterator[HeldLock]:
    held = HeldLock(stack.master, f"SELECT * FROM user_state WHERE uid = {uid} FOR UPDATE", "tasksys_user")
    yield held
    held.release()


@pytest.fixture
def wire(stack: PrivateStack) -> Iterator[Wire]:
    with Wire(stack) as made:
        made.ask("TASK.ANYORDER")
        assert answer(made) == (0, b"+OK")
        yield made


def answer(wire: Wire) -> tuple[int, bytes]:
    """The next one, with its number."""
    assert wire.answer() == b"*2"
    return int(wire.answer()[1:]), wire.answer()


def finish(uid: int) -> tuple[str, ...]:
    return ("TASK.FINISH", str(uid), "node-1", new_event_id(), CHANGES)


def get(uid: int) -> tuple[str, ...]:
    return ("TASK.GET", str(uid), "node-1")


def test_a_locked_user_holds_up_nobody_who_was_sent_with_him(wire: Wire, uid: int, lock: HeldLock) -> None:
    wire.send_all([finish(uid), finish(uid + 1), finish(uid + 2)])

    strangers = dict(answer(wire) for _ in range(2))
    lock.release()
    late = answer(wire)

    assert strangers.keys() == {2, 3}
    assert late[0] == 1
    assert b'"version":2' in late[1]


def test_a_read_sent_after_a_write_of_the_same_user_does_not_overtake_it(wire: Wire, uid: int, lock: HeldLock) -> None:
    wire.send_all([finish(uid), get(uid), get(uid + 1)])

    first = answer(wire)
    lock.release()
    others = dict(answer(wire) for _ in range(2))

    assert first[0] == 3
    assert others.keys() == {1, 2}
    assert b'"version":2' in others[2]


def test_writes_of_one_user_are_applied_in_the_order_of_sending(wire: Wire, uid: int) -> None:
    wire.send_all([finish(uid) for _ in range(5)])

    versions = dict(answer(wire) for _ in range(5))

    assert all(b'"version":%d,' % (number + 1) in body for number, body in versions.items())


def test_what_cannot_be_done_is_answered_under_its_number_too(wire: Wire, uid: int) -> None:
    wire.send_all([("TASK.GET", "no-uid", "node-1"), ("NO.SUCH", "word"), ("TASK.ANYORDER",), ("PING",)])

    found = dict(answer(wire) for _ in range(4))

    assert found[1].startswith(b"-BADARG")
    assert found[2].startswith(b"-ERR unknown command")
    assert found[3].startswith(b"-BADARG")
    assert found[4] == b"+PONG"


def test_who_is_owed_an_answer_in_order_cannot_change_to_any_order(stack: PrivateStack, uid: int, lock: HeldLock) -> None:
    with Wire(stack) as wire:
        wire.send_all([finish(uid), ("TASK.ANYORDER",), ("PING",)])
        lock.release()

        written, refused, pong = wire.answer(), wire.answer(), wire.answer()

    assert b'"applied":true' in written
    assert refused.startswith(b"-BADARG")
    assert pong == b"+PONG"


def test_passed_is_said_once_a_later_write_is_decided(wire: Wire, uid: int, lock: HeldLock) -> None:
    wire.send_all([finish(uid), ("TASK.PASSED",), finish(uid + 1)])

    assert {answer(wire)[0] for _ in range(2)} == {2, 3}


def test_passed_is_said_with_the_next_beat_when_nothing_else_can_be_done(wire: Wire, uid: int, lock: HeldLock) -> None:
    wire.send_all([finish(uid), ("TASK.PASSED",)])

    assert answer(wire) == (2, b"+OK")


def test_passed_is_said_when_the_worker_that_would_decide_is_gone(stack: PrivateStack, wire: Wire, uid: int, lock: HeldLock) -> None:
    stack.master_worker.freeze()
    try:
        wire.send_all([finish(uid), ("TASK.PASSED",)])
        eventually(lambda: (stack.stats() or {})["users"]["in_flight"] == 1)  # type: ignore[index]
        stack.master_worker.kill()

        assert answer(wire) == (2, b"+OK")
    finally:
        stack.master_worker.start()
        lock.release()
    assert answer(wire)[0] == 1


def test_who_asks_without_end_and_is_owed_too_much_is_cut(stack: PrivateStack, uid: int, lock: HeldLock, wire: Wire) -> None:
    def cut() -> Any:
        return (stack.stats() or {})["connections"]["cut"]  # type: ignore[index]

    before = cut()

    wire.send_all([finish(uid) for _ in range(MAX_PENDING_IN_ANY_ORDER + 1)])

    eventually(lambda: cut() == before + 1)
