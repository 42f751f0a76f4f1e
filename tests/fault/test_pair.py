"""Incidents of two DBSvrs that back each other up. Clients are spread over both; nothing is lost, doubled or stale."""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import redis

from deploy.local.private_stack import PrivateStack
from tests.consistency.clients import CLIENT, Load, Run, final_states, unanswered
from tests.consistency.history import READ, WRITE, Operation, judge
from tests.stack.asking import Asked
from tests.stack.gateway import Gateway
from tests.stack.locks import HeldLock
from tests.stack.operating import operate
from tests.stack.pair_client import PairClient
from tests.stack.pair_stack import PairStack
from tests.stack.recovery import first_answer_after, longest_gap
from tests.stack.segments import OF_A, OF_B, are_balanced, causes, segment, state_of, wait_until_balanced
from tests.stack.task_client import NODE, TaskClient
from tests.stack.waiting import eventually
from workers.protocol import DBSvrError, MasterDown, NotOwner, TimedOut

MakeStack = Callable[..., PrivateStack]
LEASE_S = 2.0
LATE = 3
"""Deadlines of the tests are so many times those that are promised: the machine has other things to do."""
PAIR = {"instances": ("a", "b"), "hold_ms": 1_000, "give_back_after_ms": 1_000}


@pytest.fixture
def pair(make_stack: MakeStack) -> PrivateStack:
    stack = make_stack(**PAIR)
    wait_until_balanced(stack)
    return stack


@pytest.fixture
def two_hosts(make_stack: MakeStack) -> PairStack:
    stack = make_stack(as_on_two_hosts=True, hold_ms=1_000, give_back_after_ms=1_000)
    wait_until_balanced(stack)
    assert isinstance(stack, PairStack)
    return stack


@pytest.fixture
def clients(pair: PrivateStack) -> Iterator[tuple[TaskClient, TaskClient]]:
    a, b = TaskClient(pair, instance="a"), TaskClient(pair, instance="b")
    yield a, b
    a.close()
    b.close()


def kill(stack: PrivateStack, instance: str) -> float:
    for process in stack.dbsvrs[instance].processes:
        process.kill()
    return time.monotonic()


def start(stack: PrivateStack, instance: str) -> float:
    for process in stack.dbsvrs[instance].processes:
        process.start()
    return time.monotonic()


def written(client: TaskClient | PairClient, uid: int, event_id: str) -> Any:
    """The answer; None when there was none that is worth waiting for."""
    try:
        return client.finish(uid, event_id)
    except DBSvrError as error:
        if not error.retryable:
            raise
    except redis.RedisError:
        pass  # its front is not there
    return None


def is_of_a(uid: int) -> bool:
    return uid <= OF_A


def run_through(stack: PrivateStack, incident: Callable[[], None], clients: int = 8, write_share: float = 0.3) -> list[Operation]:
    """Clients like logic nodes work, the incident happens in their midst; nothing is lost, doubled or stale. What they did and saw."""
    load = Load(clients=clients, users=200, write_share=write_share, operations=3_000, seed=21, timeout_s=4.0, via=CLIENT)
    run = Run(stack, load).start()
    eventually(lambda: len(run.history) > 500)
    with run.going_on():
        incident()
    history = run.wait()
    stack.wait_until_serving(60)
    eventually(lambda: all(stack.stats(name)["users"]["in_flight"] == 0 for name in stack.dbsvrs), within_s=20)
    violations = judge(history, final_states(stack))
    assert not violations, str(violations[0])
    return history


def print_figures(title: str, **seconds: float) -> None:
    """For `pytest -s`: what was measured, on this machine, as busy as it is."""
    print(f"\n{title}: " + ", ".join(f"{name} {1000 * value:.0f} ms" for name, value in seconds.items()))


# --- both are well


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


# --- the owner is killed, frozen, and back


def test_owner_killed_under_load_and_back(make_stack: MakeStack) -> None:
    """64 clients, a tenth of it writes. Promised: reads within 1 s, writes within the lease and 1 s."""
    stack = make_stack(**PAIR)
    wait_until_balanced(stack)
    moments: dict[str, float] = {}

    def incident() -> None:
        moments["killed"] = kill(stack, "a")
        eventually(lambda: state_of(stack, "b", "of-a") == "ours", within_s=LATE * (LEASE_S + 1))
        with_its_writes_s = time.monotonic() + 1.0
        eventually(lambda: time.monotonic() > with_its_writes_s)
        moments["back"] = start(stack, "a")
        wait_until_balanced(stack, 60)
        moments["balanced"] = time.monotonic()

    history = run_through(stack, incident, clients=64, write_share=0.1)

    reads_s = first_answer_after(history, moments["killed"], READ, is_of_a)
    writes_s = first_answer_after(history, moments["killed"], WRITE, is_of_a)
    gap_s = longest_gap(history, moments["back"], moments["balanced"] + 1.0, is_of_a)
    print_figures("owner killed", reads_again=reads_s, writes_again=writes_s, longest_gap_while_it_came_back=gap_s)
    assert reads_s < LATE * 1.0
    assert writes_s < LATE * (LEASE_S + 1.0)
    assert ("of-a", "taken over") in causes(stack, "b")
    assert ("of-a", "given back") in causes(stack, "b")


def test_owner_frozen_for_ten_seconds_and_thawed_under_load(make_stack: MakeStack) -> None:
    """It must not serve from a replica on what it knew before. Its replica lags, so that this would show."""
    stack = make_stack(**PAIR)
    wait_until_balanced(stack)
    processes = stack.dbsvrs["a"].processes
    moments: dict[str, float] = {}

    def incident() -> None:
        stack.replica.delay(1)
        for process in processes:
            process.freeze()
        moments["frozen"] = time.monotonic()
        eventually(lambda: time.monotonic() - moments["frozen"] > 10.0, within_s=12.0)
        for process in processes:
            process.thaw()
        moments["thawed"] = time.monotonic()
        wait_until_balanced(stack, 60)
        stack.replica.delay(0)

    history = run_through(stack, incident)

    reads_s = first_answer_after(history, moments["frozen"], READ, is_of_a)
    writes_s = first_answer_after(history, moments["frozen"], WRITE, is_of_a)
    print_figures("owner frozen", reads_again=reads_s, writes_again=writes_s)
    assert reads_s < LATE * 4.0
    assert writes_s < LATE * (LEASE_S + 4.0)


def test_a_thawed_owner_serves_nothing_old_although_its_replica_lags(pair: PrivateStack, clients: tuple[TaskClient, TaskClient]) -> None:
    a, b = clients
    a.finish(OF_A, event_id="before")
    eventually(lambda: a.get(OF_A).served_by == "r1")
    for process in pair.dbsvrs["a"].processes:
        process.freeze()
    pair.replica.stop_sql_thread()
    eventually(lambda: written(b, OF_A, "meanwhile"), within_s=LATE * (LEASE_S + 4.0))
    questions = [Asked(pair, "TASK.GET", OF_A, NODE, instance="a") for _ in range(10)]

    for process in pair.dbsvrs["a"].processes:
        process.thaw()
    answers = [question.answer for question in questions]
    for _ in range(50):
        with contextlib.suppress(MasterDown, TimedOut):
            answers.append({"version": a.get(OF_A).version})

    assert {answer["version"] for answer in answers if isinstance(answer, dict)} == {2}
    pair.replica.start_sql_thread()


def test_owner_returns_and_the_halves_are_balanced_again_without_an_error(make_stack: MakeStack) -> None:
    """With the settings as they come. Clients like logic nodes see no error meanwhile; each repeat is within their deadline."""
    stack = make_stack(instances=("a", "b"))
    wait_until_balanced(stack)
    kill(stack, "a")
    client = PairClient(stack)
    eventually(lambda: written(client, OF_A, "meanwhile"), within_s=LATE * (LEASE_S + 1.0))
    eventually(lambda: state_of(stack, "b", "of-a") == "ours")
    load = Load(clients=8, users=200, operations=10**9, seed=5, timeout_s=6.0, via=CLIENT)
    run = Run(stack, load).start()

    back_at = start(stack, "a")
    try:
        wait_until_balanced(stack, LATE * 30)
        balanced_at = time.monotonic()
        operations = len(run.history)
        eventually(lambda: len(run.history) > operations + 500, within_s=30)
    finally:
        run.stop()
    history = run.wait()

    gap_s = longest_gap(history, back_at, balanced_at, is_of_a, WRITE)
    print_figures("owner back", balanced_after=balanced_at - back_at, longest_gap_between_writes=gap_s)
    assert unanswered(history) == []
    violations = judge([*history], final_states(stack))
    assert [each for each in violations if "nobody sent" not in each.promise] == []
    client.close()


def test_both_restarted_at_once(make_stack: MakeStack) -> None:
    stack = make_stack(**PAIR)
    wait_until_balanced(stack)

    def incident() -> None:
        for name in stack.dbsvrs:
            kill(stack, name)
        for name in stack.dbsvrs:
            start(stack, name)
        wait_until_balanced(stack, 60)

    run_through(stack, incident)


def test_both_restarted_while_one_owned_all_and_nobody_remembers(pair: PrivateStack, clients: tuple[TaskClient, TaskClient]) -> None:
    """Without what the fronts wrote down, the rows are the truth, and the leases of before are waited out."""
    b = clients[1]
    kill(pair, "a")
    eventually(lambda: written(b, OF_A, "e1"), within_s=LATE * (LEASE_S + 1.0))
    kill(pair, "b")
    for name in pair.dbsvrs:
        (pair.directory / "state" / f"dbsvr-{name}.json").unlink(missing_ok=True)

    started_at = start(pair, "b")

    assert eventually(lambda: written(b, OF_A, "e2"), within_s=30).applied
    assert time.monotonic() - started_at >= LEASE_S
    start(pair, "a")
    wait_until_balanced(pair, 60)
    assert TaskClient(pair, instance="a").get(OF_A).version == 2


# --- what one sees and the other does not


@pytest.mark.parametrize("way", ["cut", "hold"])
def test_link_between_the_two_cut_while_both_live(two_hosts: PairStack, way: str) -> None:
    """Nobody takes anything over: each sees the other's tick move. Who can reach the owner loses nothing."""
    stack = two_hosts

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
    assert unanswered(history) == [], "each client found the owner"


def test_clients_see_different_halves_while_both_see_the_database(pair: PrivateStack) -> None:
    """Some reach only a, some only b, all write to all: what comes to the wrong one is forwarded."""
    with Gateway(1) as nowhere:
        nowhere.cut()
        at_a, at_b = (PairClient(pair, ports={other: nowhere.port}) for other in ("b", "a"))
        for number in range(50):
            for uid in (OF_A, OF_B):
                assert at_a.finish(uid, f"a{number}").applied
                assert at_b.get(uid).version == 2 * number + 1
                assert at_b.finish(uid, f"b{number}").applied
                assert at_a.get(uid).version == 2 * number + 2
        at_a.close()
        at_b.close()
    assert causes(pair, "a") == []


@pytest.mark.parametrize("way", ["cut", "hold"])
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


# --- how often


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


# --- the master changes


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


# --- moved by an operator


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
    """With copies that live for a second, what a start has lost is soon over: from then on the trails are whole."""
    stack = make_stack(instances=("a", "b"), hold_ms=1_000, give_back_after_ms=600_000)
    eventually(lambda: state_of(stack, "a", "of-a") == "ours" and not stack.stats("a")["purges"]["trails_lost"], within_s=20)
    a, b = TaskClient(stack, instance="a"), TaskClient(stack, instance="b")
    eventually(lambda: stack.stats("a")["mirror"]["b"]["is_level"])
    assert a.finish(OF_A).applied
    a.ask("TASK.GET", OF_A, "node-2")

    assert operate(stack, "move", "of-a", "b").returncode == 0
    eventually(lambda: state_of(stack, "b", "of-a") == "ours")

    assert eventually(lambda: written(b, OF_A, "moved")).purge in (["node-2"], []), "node-2 asked, unless its copy has expired since"
    assert stack.stats("b")["purges"]["trails_lost"] == []
