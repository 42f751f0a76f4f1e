"""Incidents of one DBSvr of a pair: killed, frozen, back, restarted. Nothing is lost, doubled or stale."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable

import pytest

from deploy.local.private_stack import PrivateStack
from tests.consistency.clients import INTERFACE, Load, Run, final_states
from tests.consistency.history import READ, WRITE, judge
from tests.stack.asking import Asked
from tests.stack.pair_client import PairClient
from tests.stack.pairs import LATE, LEASE_S, PAIR, is_of_a, kill, print_figures, run_through, start, written
from tests.stack.recovery import first_answer_after, longest_gap, without_answer
from tests.stack.segments import OF_A, causes, state_of, wait_until_balanced, wait_until_settled
from tests.stack.task_client import NODE, TaskClient
from tests.stack.waiting import eventually
from workers.protocol import MasterDown, TimedOut

MakeStack = Callable[..., PrivateStack]


def test_owner_killed_under_load_and_back(make_stack: MakeStack) -> None:
    """64 clients, a tenth of it writes. Promised: reads within 1 s, writes within the lease and 1 s."""
    stack = make_stack(**PAIR)
    wait_until_balanced(stack)
    wait_until_settled(stack)
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
    wait_until_settled(stack)
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


@pytest.mark.long
def test_owner_returns_and_the_halves_are_balanced_again_without_an_error(make_stack: MakeStack) -> None:
    """With the settings as they come. Clients like logic nodes see no error meanwhile; each repeat is within their deadline."""
    stack = make_stack(instances=("a", "b"))
    wait_until_balanced(stack)
    kill(stack, "a")
    client = PairClient(stack)
    eventually(lambda: written(client, OF_A, "meanwhile"), within_s=LATE * (LEASE_S + 1.0))
    eventually(lambda: state_of(stack, "b", "of-a") == "ours")
    load = Load(clients=8, users=200, operations=10**9, seed=5, timeout_s=6.0, via=INTERFACE)
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
    assert without_answer(history) == []
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


@pytest.mark.long
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
