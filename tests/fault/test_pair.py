"""Two DBSvrs that are well: each serves all users, and segments go from one to the other by order."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
import redis

from deploy.local.private_stack import PrivateStack
from tests.stack.asking import Asked
from tests.stack.gateway import Gateway
from tests.stack.locks import HeldLock
from tests.stack.operating import operate
from tests.stack.pair_client import PairClient
from tests.stack.pairs import LATE, PAIR, print_figures, run_through, written
from tests.stack.recovery import without_answer
from tests.stack.segments import OF_A, OF_B, causes, segment, state_of, wait_until_balanced
from tests.stack.task_client import NODE, TaskClient
from tests.stack.waiting import eventually
from workers.protocol import DBSvrError

MakeStack = Callable[..., PrivateStack]


def test_each_owns_its_half_and_serves_the_others_users_by_forwarding_and_from_the_master(
    pair: PrivateStack, clients: tuple[TaskClient, TaskClient]
) -> None:
    a, b = clients

    assert b.finish(OF_A).applied
    read = b.get(OF_A)
    assert (read.version, read.served_by, read.reason, read.storable) == (1, "master", "not_owner", False)
    assert a.get(OF_A).version == 1
    assert pair.stats("b")["peers"]["a"]["forwarded"] == 1
    assert b.finish(OF_A, event_id="twice").applied
    assert not a.finish(OF_A, event_id="twice").applied


def test_many_of_both_halves_are_read_at_either_in_order(clients: tuple[TaskClient, TaskClient]) -> None:
    a, b = clients
    for uid in (OF_A, OF_B):
        a.finish(uid)
    uids = [OF_B, OF_A, OF_B + 1, OF_A - 1, OF_A]

    for client in clients:
        answers = client.get_many(uids)
        assert [answer.uid for answer in answers] == uids
        assert [answer.version for answer in answers] == [1, 1, 0, 0, 1]
    assert [answer.reason == "not_owner" for answer in b.get_many(uids)] == [False, True, False, True, True]


def test_a_deletion_is_forwarded_and_what_comes_after_it_is_not_held_up(make_stack: MakeStack) -> None:
    """The deletion waits for its turn while writes keep the owner busy; forwarded writes of others go on meanwhile."""
    stack = make_stack(**PAIR, clear_age_limit_ms=60_000, deadline_ms=3_000)
    wait_until_balanced(stack)
    b = TaskClient(stack, instance="b")
    b.finish(OF_A, event_id="before")
    lock = HeldLock(stack.master, "SELECT 1", "tasksys_user")
    lock.execute(f"SELECT * FROM user_state WHERE uid = {OF_A} FOR UPDATE")
    deletion = Asked(stack, "TASK.CLEAR", OF_A, NODE, "clear", instance="b")
    eventually(lambda: stack.stats("a")["clears"]["total"] == 1)

    began = time.monotonic()
    for uid in range(OF_A - 8, OF_A):
        assert b.finish(uid).applied
    took_s = time.monotonic() - began

    assert not deletion.is_answered
    lock.release()
    assert deletion.answer["applied"]
    assert took_s < 1.5, took_s
    assert b.get(OF_A).tasks == []


def test_the_same_event_at_both_at_once_is_applied_once(pair: PrivateStack) -> None:
    for number in range(20):
        words = ("TASK.FINISH", OF_A, NODE, f"e{number}", '[{"task":1,"period":"once","op":"add","value":1}]')
        asked = [Asked(pair, *words, instance=instance) for instance in ("a", "b", "a", "b")]
        applied = [each.answer["applied"] for each in asked]
        assert sorted(applied) == [False, False, False, True]

    assert TaskClient(pair, instance="a").get(OF_A).version == 20


def test_a_forwarded_write_at_a_locked_row_holds_up_no_other(pair: PrivateStack) -> None:
    """Answers of one connection come in order, so this takes more than one between the two."""
    b = TaskClient(pair, instance="b")
    b.finish(OF_A - 1)
    lock = HeldLock(pair.master, f"SELECT * FROM user_state WHERE uid = {OF_A - 1} FOR UPDATE", "tasksys_user")
    stuck = Asked(pair, "TASK.FINISH", OF_A - 1, NODE, "stuck", '[{"task":1,"period":"once","op":"add","value":1}]', instance="b")
    eventually(lambda: pair.stats("b")["peers"]["a"]["forwarded"] == 2)

    answer = b.finish(OF_A)

    assert answer.applied
    assert not stuck.is_answered
    assert pair.stats("b")["peers"]["a"]["state"] == "up"
    lock.release()
    assert stuck.answer["applied"]


def test_a_deletion_that_waits_for_its_turn_keeps_no_segment_from_being_given(pair: PrivateStack) -> None:
    a, b = TaskClient(pair, instance="a"), TaskClient(pair, instance="b")
    a.finish(OF_A, "before")
    lock = HeldLock(pair.master, f"SELECT * FROM user_state WHERE uid = {OF_A} FOR UPDATE", "tasksys_user")
    deletion = Asked(pair, "TASK.CLEAR", OF_A, NODE, "clear", instance="a")
    eventually(lambda: pair.stats("a")["clears"]["total"] == 1)
    began = time.monotonic()

    assert a.ask("TASK.GIVE", "of-a", "b") > 0

    assert time.monotonic() - began < LATE * 1.0
    lock.release()
    assert isinstance(deletion.answer, redis.ResponseError), "its client hears that it is to come again"
    assert eventually(lambda: cleared(b, OF_A, "clear")).applied
    a.close()


def cleared(client: TaskClient, uid: int, event_id: str) -> Any:
    try:
        return client.clear(uid, event_id)
    except DBSvrError:
        return None


def test_clients_see_different_halves_while_both_see_the_database(make_stack: MakeStack) -> None:
    """Some reach only a, some only b, all write to all: what comes to the wrong one is forwarded."""
    # So long that a tick which stands still because this machine is busy means nothing.
    pair = make_stack(instances=("a", "b"), takeover_after_ms=5_000)
    wait_until_balanced(pair)
    with Gateway(1) as nowhere:
        nowhere.cut()
        at_a, at_b = (PairClient(pair, ports={other: nowhere.port}) for other in ("b", "a"))
        for number in range(50):
            for uid in (OF_A, OF_B):
                at_a.finish(uid, f"a{number}")
                assert at_b.get(uid).version == 2 * number + 1
                at_b.finish(uid, f"b{number}")
                assert at_a.get(uid).version == 2 * number + 2
        at_a.close()
        at_b.close()
    assert causes(pair, "a") == []


@pytest.mark.long
def test_a_moved_segment_is_at_home_where_it_was_moved(pair: PrivateStack) -> None:
    """Clients like logic nodes see no error, and nobody asks it back."""

    def incident() -> None:
        for to in ("b", "a", "b"):
            asked_at = time.monotonic()
            assert operate(pair, "move", "of-a", to).returncode == 0
            print_figures("moved", took=time.monotonic() - asked_at)
            eventually(lambda to=to: state_of(pair, to, "of-a") == "ours")
            until = time.monotonic() + 2.5  # longer than hold_ms and give_back_after_ms
            eventually(lambda until=until: time.monotonic() > until)
            assert state_of(pair, to, "of-a") == "ours"

    history = run_through(pair, incident)

    assert without_answer(history) == []
    assert [cause for _, cause in causes(pair, "a")] == ["moved"] * 3


def test_configuration_of_segments_changed(pair: PrivateStack) -> None:
    """The rows are the truth until `segments apply`, then they are the configuration's; a user who changes hands keeps all he has."""
    between = OF_A - 50
    old, new = f"last = {OF_A}", f"last = {between - 1}"

    def incident() -> None:
        for file in pair.directory.glob("tasksys*.toml"):
            file.write_text(file.read_text().replace(old, new).replace(f"first = {OF_A + 1}", f"first = {between}"))
        for name in pair.dbsvrs:
            for process in pair.dbsvrs[name].processes:
                process.stop()
                process.start()
            eventually(lambda name=name: state_of(pair, name, f"of-{name}") == "ours", within_s=30)
        assert segment(pair, "a", "of-a")["last"] == OF_A, "restarting alone changes nothing"
        assert operate(pair, "segments", "apply").returncode == 0
        eventually(lambda: segment(pair, "a", "of-a").get("last") == between - 1)
        wait_until_balanced(pair)

    run_through(pair, incident)

    b = TaskClient(pair, instance="b")
    eventually(lambda: b.get(between).reason != "not_owner")
    assert segment(pair, "b", "of-b")["first"] == between


def test_an_operator_moves_a_segment_and_clients_notice_nothing_but_a_retry(pair: PrivateStack) -> None:
    a, b = TaskClient(pair, instance="a"), TaskClient(pair, instance="b")
    assert a.finish(OF_A, event_id="m1").applied

    said = operate(pair, "move", "of-a", "b")

    assert said.returncode == 0, said.stdout
    assert "is b's now" in said.stdout
    assert eventually(lambda: written(b, OF_A, "m2")).applied
    eventually(lambda: state_of(pair, "b", "of-a") == "ours")
    assert eventually(lambda: written(a, OF_A, "m3")).applied, "and forwards for those who still come"
    assert b.get(OF_A).version == 3
    assert "The configuration says otherwise" in operate(pair, "segments").stdout, "it stays there until somebody moves it back"
    assert operate(pair, "segments", "apply").returncode == 0
    eventually(lambda: state_of(pair, "a", "of-a") == "ours", within_s=30)
    assert eventually(lambda: written(b, OF_A, "m3")).applied is False
    assert a.get(OF_A).version == 3


def test_a_segment_that_is_moved_takes_its_trails_along(make_stack: MakeStack) -> None:
    """A start has lost all trails; one that begins with a write is whole, and stays so at the new owner."""
    stack = make_stack(instances=("a", "b"), hold_ms=1_000, give_back_after_ms=600_000)
    eventually(lambda: state_of(stack, "a", "of-a") == "ours", within_s=20)
    a, b = TaskClient(stack, instance="a"), TaskClient(stack, instance="b")
    eventually(lambda: stack.stats("a")["mirror"]["b"]["is_level"])
    assert a.finish(OF_A).applied
    a.ask("TASK.GET", OF_A, "node-2")

    assert operate(stack, "move", "of-a", "b").returncode == 0
    eventually(lambda: state_of(stack, "b", "of-a") == "ours")

    assert eventually(lambda: written(b, OF_A, "moved")).applied
    rows = stack.master.execute("SELECT node FROM cache_purge WHERE uid = %s AND version = 2", "tasksys_user", [OF_A])
    assert rows == [("node-2",)], "and not every node"
