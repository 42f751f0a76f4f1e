"""Incidents of the network between two DBSvrs, each on a host of its own: cables are pulled, and nobody hears of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest

from deploy.local.private_stack import PrivateStack
from tests.consistency.clients import INTERFACE, Load, Run, final_states
from tests.consistency.history import READ, WRITE, Operation, double_applications, lost_and_invented, stale_reads, two_faced_versions
from tests.stack.leftovers import assert_nothing_is_left
from tests.stack.recovery import first_answer_after, without_answer
from tests.stack.segments import OF_A, are_balanced, causes, state_of, wait_until_balanced, wait_until_settled
from tests.stack.task_client import TaskClient
from tests.stack.two_hosts import TwoHosts, two_hosts
from tests.stack.waiting import eventually
from workers.protocol import NotOwner

LEASE_S = 2.0
LATE = 3
"""As in test_pair."""


@pytest.fixture(scope="module")
def hosts() -> Iterator[TwoHosts]:
    with two_hosts() as built:
        yield built


@pytest.fixture(scope="module")
def stack(hosts: TwoHosts, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PrivateStack]:
    stack = hosts.stack(tmp_path_factory.mktemp("stack"), {"hold_ms": 1_000, "give_back_after_ms": 1_000, "takeover_after_ms": 1_500})
    try:
        stack.start_databases()
        stack.create_user_tables()
        stack.start_dbsvr()
        wait_until_balanced(stack)
        wait_until_settled(stack)
        yield stack
    finally:
        stack.stop()
    assert_nothing_is_left(stack)


TOLD: list[Operation] = []
"""What the clients of all tests here have done: the stack is theirs together, and so are its users."""


def run_through(stack: PrivateStack, seed: int, incident: Callable[[], None]) -> list[Operation]:
    load = Load(clients=8, users=200, operations=3_000, seed=seed, timeout_s=4.0, via=INTERFACE)
    run = Run(stack, load).start()
    eventually(lambda: len(run.history) > 500, within_s=30)
    with run.going_on():
        incident()
    history = run.wait()
    stack.wait_until_serving(60)
    eventually(lambda: all(stack.stats(name)["users"]["in_flight"] == 0 for name in stack.dbsvrs), within_s=20)
    TOLD.extend(history)
    violations = [*stale_reads(history), *double_applications(history), *two_faced_versions(history)]
    violations += lost_and_invented(TOLD, final_states(stack))
    assert not violations, str(violations[0])
    return history


def is_of_a(uid: int) -> bool:
    return uid <= OF_A


def test_the_owners_cable_is_pulled_and_put_back(stack: PrivateStack, hosts: TwoHosts) -> None:
    """Nothing is refused and nothing is reset: what is sent to it is lost, and what the server holds for it must be freed."""
    moments: dict[str, float] = {}

    def incident() -> None:
        hosts.unplug("a")
        moments["pulled"] = time.monotonic()
        try:
            eventually(lambda: state_of(stack, "b", "of-a") == "ours", within_s=LATE * (LEASE_S + 4.0))
            taken_at = time.monotonic()
            eventually(lambda: time.monotonic() - taken_at > 2.0)
        finally:
            hosts.plug_in("a")
        wait_until_balanced(stack, 90)

    history = run_through(stack, 41, incident)

    reads_s = first_answer_after(history, moments["pulled"], READ, is_of_a)
    writes_s = first_answer_after(history, moments["pulled"], WRITE, is_of_a)
    print(f"\nthe owner's cable: reads again {1000 * reads_s:.0f} ms, writes again {1000 * writes_s:.0f} ms")
    assert reads_s < LATE * 4.0
    assert writes_s < LATE * (LEASE_S + 4.0)
    assert ("of-a", "taken over") in causes(stack, "b")


def test_the_way_between_the_two_leads_nowhere_while_both_see_the_database(stack: PrivateStack, hosts: TwoHosts) -> None:
    def incident() -> None:
        before = causes(stack, "a"), causes(stack, "b")
        hosts.lose_the_way("a", hosts.addresses["b"])
        hosts.lose_the_way("b", hosts.addresses["a"])
        try:
            eventually(lambda: all(stack.stats(name)["peers"][other]["state"] != "up" for name, other in (("a", "b"), ("b", "a"))))
            with pytest.raises(NotOwner):
                eventually(lambda: TaskClient(stack, instance="b").finish(OF_A))
            assert TaskClient(stack, instance="b").get(OF_A).reason == "not_owner"
            began = time.monotonic()
            eventually(lambda: time.monotonic() - began > 2 * LEASE_S)
        finally:
            hosts.find_the_way("a", hosts.addresses["b"])
            hosts.find_the_way("b", hosts.addresses["a"])
        wait_until_balanced(stack, 60)
        assert (causes(stack, "a"), causes(stack, "b")) == before

    history = run_through(stack, 42, incident)

    assert without_answer(history) == [], "each client found the owner"


def test_the_owners_way_to_the_database_leads_nowhere(stack: PrivateStack, hosts: TwoHosts) -> None:
    """Its clients still reach it, and it them; it says that it has no master, or nothing."""
    moments: dict[str, float] = {}

    def incident() -> None:
        hosts.lose_the_way("a", hosts.database_address)
        moments["lost"] = time.monotonic()
        try:
            eventually(lambda: state_of(stack, "b", "of-a") == "ours", within_s=LATE * (LEASE_S + 4.0))
        finally:
            hosts.find_the_way("a", hosts.database_address)
        wait_until_balanced(stack, 90)

    history = run_through(stack, 43, incident)

    writes_s = first_answer_after(history, moments["lost"], WRITE, is_of_a)
    print(f"\nthe owner's way to the database: writes again {1000 * writes_s:.0f} ms")
    assert writes_s < LATE * (LEASE_S + 4.0)


def test_a_slow_network_slows_down_and_changes_no_owner(stack: PrivateStack, hosts: TwoHosts) -> None:
    before = causes(stack, "b")
    if not hosts.slow_down("a", 40):
        pytest.skip("this kernel cannot delay packets (tc netem)")
    try:
        run_through(stack, 44, lambda: None)
    finally:
        hosts.slow_down("a", 0)

    assert are_balanced(stack)
    assert causes(stack, "b") == before
