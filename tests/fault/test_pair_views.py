"""Incidents between two DBSvrs and the master: what one sees and the other does not."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable

import pytest
import redis

from deploy.local.private_stack import PrivateStack
from tests.consistency.history import WRITE
from tests.stack.asking import Asked
from tests.stack.locks import HeldLock
from tests.stack.pair_client import PairClient
from tests.stack.pair_stack import PairStack
from tests.stack.pairs import LATE, LEASE_S, PAIR, is_of_a, print_figures, run_through, written
from tests.stack.recovery import first_answer_after, without_answer
from tests.stack.segments import OF_A, OF_B, are_balanced, causes, segment, state_of, wait_until_balanced
from tests.stack.task_client import NODE, TaskClient
from tests.stack.waiting import eventually
from workers.protocol import NotOwner

MakeStack = Callable[..., PrivateStack]


@pytest.mark.parametrize("way", ["cut", pytest.param("hold", marks=pytest.mark.long)])
def test_link_between_the_two_cut_while_both_live(make_stack: MakeStack, way: str) -> None:
    """Nobody takes anything over: each sees the other's tick move. Who can reach the owner loses nothing."""
    # So long that a tick which stands still because this machine is busy means nothing.
    stack = make_stack(as_on_two_hosts=True, takeover_after_ms=5_000)
    assert isinstance(stack, PairStack)
    wait_until_balanced(stack)

    def incident() -> None:
        for link in stack.links.values():
            getattr(link, way)()
        eventually(lambda: all(stack.stats(name)["peers"][other]["state"] != "up" for name, other in (("a", "b"), ("b", "a"))))
        with pytest.raises(NotOwner) as refused:
            eventually(lambda: TaskClient(stack, instance="b").finish(OF_A))
        assert (refused.value.segment, refused.value.owner) == ("of-a", "a")
        assert TaskClient(stack, instance="b").get(OF_A).reason == "not_owner"
        began = time.monotonic()
        eventually(lambda: time.monotonic() - began > 2 * LEASE_S)
        for link in stack.links.values():
            link.open()
        eventually(lambda: are_balanced(stack))

    history = run_through(stack, incident)

    assert causes(stack, "a") == causes(stack, "b") == []
    assert without_answer(history) == [], "each client found the owner"


@pytest.mark.parametrize("way", ["cut", pytest.param("hold", marks=pytest.mark.long)])
def test_a_database_seen_by_only_one_of_them(two_hosts: PairStack, way: str) -> None:
    """The owner that does not see it says so; its users are taken over, and given back when it sees it again."""
    stack = two_hosts
    moments: dict[str, float] = {}

    def incident() -> None:
        getattr(stack.masters["a"], way)()
        moments["cut"] = time.monotonic()
        eventually(lambda: state_of(stack, "b", "of-a") == "ours", within_s=LATE * (LEASE_S + 4.0))
        moments["taken"] = time.monotonic()
        eventually(lambda: time.monotonic() - moments["taken"] > 1.0)
        stack.masters["a"].open()
        wait_until_balanced(stack, 60)

    history = run_through(stack, incident)

    writes_s = first_answer_after(history, moments["cut"] + 0.1, WRITE, is_of_a)
    print_figures(f"the owner's way to the master: {way}", taken_over=moments["taken"] - moments["cut"], writes_again=writes_s)
    assert ("of-a", "taken over") in causes(stack, "b")
    assert ("of-b", "taken over") not in causes(stack, "b")


def test_a_forwarded_write_whose_link_breaks_is_of_unknown_outcome_and_repeated_once(two_hosts: PairStack) -> None:
    stack = two_hosts
    TaskClient(stack, instance="a").finish(OF_A, event_id="before")
    lock = HeldLock(stack.master, f"SELECT * FROM user_state WHERE uid = {OF_A} FOR UPDATE", "tasksys_user")
    words = ("TASK.FINISH", OF_A, NODE, "e1", '[{"task":1,"period":"once","op":"add","value":1}]')
    asked = Asked(stack, *words, instance="b")
    eventually(lambda: stack.stats("a")["writes"]["total"] == 2)

    stack.links["a"].cut()
    outcome = asked.answer
    lock.release()

    assert isinstance(outcome, redis.ResponseError)
    assert str(outcome).startswith("TIMEOUT")
    a = TaskClient(stack, instance="a")
    a.finish(OF_A, event_id="e1")
    stack.links["a"].open()
    b = TaskClient(stack, instance="b")
    again = eventually(lambda: written(b, OF_A, "e1"))
    assert not again.applied
    assert b.get(OF_A).version == 2


@pytest.mark.long
def test_two_views_of_who_is_well_play_no_ping_pong(make_stack: MakeStack) -> None:
    """Each loses the master in turn, again and again; a segment changes its owner at most once in hold_ms."""
    hold_s = 4.0
    stack = make_stack(as_on_two_hosts=True, hold_ms=round(1000 * hold_s), give_back_after_ms=0, lease_ms=500, takeover_after_ms=300)
    assert isinstance(stack, PairStack)
    wait_until_balanced(stack)
    client = PairClient(stack, timeout_s=1.0)
    changes: set[tuple[int, float]] = set()
    began = time.monotonic()
    turn = 0
    while time.monotonic() - began < 4 * hold_s:
        way = stack.masters["ab"[turn % 2]]
        turn += 1
        way.cut()
        until = time.monotonic() + 0.8
        while time.monotonic() < until:
            written(client, OF_A, f"e{time.monotonic_ns()}")
        way.open()
        for name in stack.dbsvrs:
            changes |= {(each["epoch"], each["at"]) for each in (stack.stats(name) or {}).get("takeovers", []) if each["segment"] == "of-a"}
        eventually(lambda: any(written(client, OF_A, "x") for _ in range(3)), within_s=10)
    client.close()

    first_seen = {epoch: min(at for each, at in changes if each == epoch) for epoch, _ in changes}
    moments = [first_seen[epoch] for epoch in sorted(first_seen)]
    assert moments, "nothing was taken over: this shows nothing"
    between = [later - earlier for earlier, later in itertools.pairwise(moments)]
    assert all(seconds > hold_s - 1.5 for seconds in between), between


def test_a_change_of_master_is_a_takeover_for_both(make_stack: MakeStack) -> None:
    """A replica is promoted: nobody commits there before the leases of the time before have run out, and nothing that it has is lost."""
    stack = make_stack(
        replicas=2,
        endpoints=lambda stack: {"master": [stack.master.endpoint, stack.replica.endpoint]},
        **PAIR,
    )
    wait_until_balanced(stack)
    client = PairClient(stack)
    for uid in (OF_A, OF_B):
        client.finish(uid, "before")
    eventually(lambda: stack.replica.execute("SELECT COUNT(*) FROM applied_event", "tasksys_user")[0][0] == 2)
    stack.master.kill()
    killed_at = time.monotonic()

    stack.replica.promote()
    answers = {uid: eventually(lambda uid=uid: written(client, uid, "after"), within_s=60) for uid in (OF_A, OF_B)}

    assert all(answer.snapshot.version == 2 for answer in answers.values())
    assert time.monotonic() - killed_at >= LEASE_S
    assert [client.get(uid).version for uid in (OF_A, OF_B)] == [2, 2]
    assert not client.finish(OF_A, "before").applied
    assert {segment(stack, name, f"of-{name}")["owner"] for name in stack.dbsvrs} == {"a", "b"}
    client.close()
