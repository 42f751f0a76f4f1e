"""Events of different callers that come at the same moment travel together; each is answered, counted once, and waits for no stranger."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from apps.tasks.config.documents import EventType, Feed
from deploy.local.private_stack import PrivateStack
from tests.api.conftest import Caller
from tests.stack import published
from tests.stack.locks import HeldLock
from tests.stack.waiting import eventually

WITHIN_S = 20.0
_names = itertools.count()

Answer = tuple[int, dict[str, Any]]
Tell = Callable[[int, str], Answer]


@pytest.fixture
def event_type(django_on_stack: PrivateStack, uid: int) -> str:
    """Counted by one task."""
    from apps.tasks.live_bundle import live

    name = f"together-{uid}-{next(_names)}"
    task = published.task(target=1000, kind="counter", feeds=(Feed(event=name),))
    published.publish_tasks(EventType(name=name), task)
    eventually(lambda: task.code in live().bundle.by_code)
    return name


@pytest.fixture
def tell(api: Caller, event_type: str) -> Tell:
    """As a logic server does: sent again, with the same event id, for as long as the answer says that this may help."""

    def send(uid: int, event_id: str) -> Answer:
        for _ in range(100):
            status, body = Caller(api.key).call("POST", f"/api/v1/users/{uid}/events", {"event_id": event_id, "type": event_type})
            if status == 200 or not body["retryable"]:
                break
        return status, body

    return send


@pytest.fixture
def convoys(django_on_stack: PrivateStack, monkeypatch: pytest.MonkeyPatch) -> list[list[int]]:
    """Whose events have travelled together."""
    from apps.tasks.services import events_together

    seen: list[list[int]] = []
    travelling = events_together._of_process(os.getpid())
    prepare = travelling.prepare

    def noted(events: Sequence[Any]) -> None:
        prepare(events)
        seen.append([event.uid for event in events if event.packed])

    monkeypatch.setattr(travelling, "prepare", noted)
    return seen


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(16) as made:
        yield made


AtHand = Callable[[Sequence[int]], None]


@pytest.fixture
def at_hand(stack: PrivateStack, tell: Tell) -> AtHand:
    """Users who have done something, and whose copies lie on their nodes."""
    from apps.cachesync.task_interface import task_interface

    # No center works here: a node with a purge that another test has left for long serves nothing (INV 11).
    stack.master.execute("DELETE FROM cache_purge", "tasksys_user")

    def make(uids: Sequence[int]) -> None:
        for uid in uids:
            assert tell(uid, "before")[0] == 200

        def have_copies() -> bool:
            task_interface().get_many(uids)
            return task_interface().copies(uids).keys() == set(uids)

        eventually(have_copies)

    return make


def gather(stack: PrivateStack, pool: ThreadPoolExecutor, tell: Tell, uids: Sequence[int], event_id: str) -> list[Future[Answer]]:
    """Let them meet behind a worker that stands still: the first two are under way by then, and all others set out together."""
    from apps.tasks.services import events_together

    (waiting,) = (each for each in events_together._of_process(os.getpid())._convoys.values())
    stack.master_worker.freeze()
    try:
        begun = []
        for number, uid in enumerate(uids):
            begun.append(pool.submit(tell, uid, event_id))
            eventually(lambda number=number: len(waiting._under_way) == min(2, number + 1))  # type: ignore[misc]
        eventually(lambda: len(waiting._waiting) == len(uids) - 2)
    finally:
        stack.master_worker.thaw()
    return begun


def test_a_locked_user_holds_up_no_stranger_who_travelled_with_him(
    stack: PrivateStack, pool: ThreadPoolExecutor, tell: Tell, at_hand: AtHand, convoys: list[list[int]], uid: int
) -> None:
    uids = [uid + number for number in range(8)]
    at_hand(uids)
    locked = uids[4]
    lock = HeldLock(stack.master, f"SELECT * FROM user_state WHERE uid = {locked} FOR UPDATE", "tasksys_user")
    try:
        begun = dict(zip(uids, gather(stack, pool, tell, uids, "e"), strict=True))
        his = begun.pop(locked)

        strangers = [each.result(WITHIN_S) for each in begun.values()]

        assert not his.done()
    finally:
        lock.release()
    assert {(status, body["applied"], body["version"]) for status, body in strangers} == {(200, True, 2)}
    assert his.result(WITHIN_S)[1]["tasks"][0]["progress"] == 2
    assert any(set(uids[2:]) == set(together) for together in convoys), convoys


def test_who_comes_while_a_locked_user_is_under_way_does_not_wait_for_him(
    stack: PrivateStack, pool: ThreadPoolExecutor, tell: Tell, at_hand: AtHand, uid: int
) -> None:
    uids = [uid + number for number in range(4)]
    at_hand(uids)
    rows = ", ".join(map(str, uids[:2]))
    lock = HeldLock(stack.master, f"SELECT * FROM user_state WHERE uid IN ({rows}) FOR UPDATE", "tasksys_user")
    try:
        locked = [pool.submit(tell, each, "e") for each in uids[:2]]
        eventually(lambda: (stack.stats() or {})["users"]["in_flight"] == 2)  # type: ignore[index]

        strangers = [tell(each, "e") for each in uids[2:]]

        assert not any(each.done() for each in locked)
    finally:
        lock.release()
    assert [(status, body["version"]) for status, body in strangers] == [(200, 2)] * 2
    assert [each.result(WITHIN_S)[1]["tasks"][0]["progress"] for each in locked] == [2, 2]


def test_events_of_one_user_that_travel_together_are_all_counted_and_identical_ones_once(
    stack: PrivateStack, pool: ThreadPoolExecutor, tell: Tell, at_hand: AtHand, api: Caller, convoys: list[list[int]], uid: int
) -> None:
    at_hand([uid, uid + 1])

    same = gather(stack, pool, tell, [uid + 1, uid + 1, *[uid] * 6], "same")
    different = [pool.submit(tell, uid, f"e{number}") for number in range(6)]
    answers = [each.result(WITHIN_S) for each in same[2:]]
    others = [each.result(WITHIN_S) for each in different]

    assert {status for status, _ in (*answers, *others)} == {200}
    assert sum(body["applied"] for _, body in answers) == 1
    assert len({str(body["tasks"]) for _, body in answers}) == 1
    assert tell(uid, "after")[1]["tasks"][0]["progress"] == 9
    assert any(together.count(uid) >= 6 for together in convoys), convoys


def test_after_a_convoy_each_copy_on_its_node_is_the_state_that_was_answered(
    stack: PrivateStack, pool: ThreadPoolExecutor, tell: Tell, at_hand: AtHand, uid: int
) -> None:
    from apps.cachesync.task_interface import task_interface

    uids = [uid + number for number in range(8)]
    at_hand(uids)

    answers = {each: begun.result(WITHIN_S) for each, begun in zip(uids, gather(stack, pool, tell, uids, "e"), strict=True)}

    copies = task_interface().copies(uids)
    assert {each: copies[each][1].version for each in uids} == {each: body["version"] for each, (_, body) in answers.items()}


def test_an_event_of_a_convoy_that_cannot_be_decided_fails_alone(
    stack: PrivateStack, pool: ThreadPoolExecutor, tell: Tell, at_hand: AtHand, uid: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A user without a copy, and one about whom the evaluation stumbles as long as he is not alone."""
    from apps.tasks.services import events_together

    uids = [uid + number for number in range(8)]
    at_hand(uids[:7])
    feeding_of = events_together.feeding_of

    def stumbling(bundle: Any, telling: Any, *more: Any) -> Any:
        if telling.uid == uids[3]:
            raise ValueError("it stumbles")
        return feeding_of(bundle, telling, *more)

    monkeypatch.setattr(events_together, "feeding_of", stumbling)

    answers = [each.result(WITHIN_S) for each in gather(stack, pool, tell, uids, "e")]

    assert [(status, body["applied"]) for status, body in answers] == [(200, True)] * 8
    assert [body["version"] for _, body in answers] == [2] * 7 + [1]


@pytest.mark.parametrize("killed", ["front", "master_worker"])
def test_what_is_killed_in_the_midst_lets_each_event_be_counted_once(
    stack: PrivateStack, pool: ThreadPoolExecutor, tell: Tell, at_hand: AtHand, uid: int, killed: str
) -> None:
    uids = [uid + number for number in range(10)]
    at_hand(uids)
    process = getattr(stack, killed)

    begun = [(each, pool.submit(tell, each, f"e{number}")) for number in range(20) for each in uids]
    eventually(lambda: sum(each.done() for _, each in begun) > 20)
    process.kill()
    process.start()
    answers = [(each, future.result(60)) for each, future in begun]

    assert {status for _, (status, _) in answers} == {200}
    counted = stack.master.execute(
        "SELECT uid, COUNT(*) FROM applied_event WHERE uid BETWEEN %s AND %s GROUP BY uid", "tasksys_user", (uids[0], uids[-1])
    )
    assert counted == [(each, 21) for each in uids]
    assert {tell(each, "after")[1]["tasks"][0]["progress"] for each in uids} == {22}
