"""Nobody ever sees a state older than what he has done, whatever fails."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from deploy.local.private_stack import PrivateStack
from tests.consistency.check import check
from tests.consistency.clients import INTERFACE, RESP, Load
from tests.consistency.faults import LAG_AND_KILLS, PIPELINE, SPARING, delay_replica
from tests.consistency.pair_faults import PAIR

MakeStack = Callable[..., PrivateStack]


WAIT_BOUND_S = 2.2
"""The age limit, and what a busy machine may add."""


@pytest.mark.long
def test_no_read_goes_back_in_time_while_the_replica_lags_and_workers_are_killed(make_stack: MakeStack) -> None:
    verdict = check(make_stack(), Load(clients=8, users=200, operations=12_000, seed=11), LAG_AND_KILLS)

    assert not verdict.violations, str(verdict)
    assert verdict.counts["read"] + verdict.counts["write"] >= 11_000
    assert verdict.counts["read from r1"] > 1_000, "the replica was hardly used: this run proves little"
    assert len(verdict.faults) >= 3, str(verdict)


def test_every_pipeline_fault_with_two_replicas_of_unequal_lag(make_stack: MakeStack) -> None:
    verdict = check(make_stack(replicas=2, clear_age_limit_ms=1_000), Load(clients=8, users=200, operations=12_000, seed=12), PIPELINE)

    assert not verdict.violations, str(verdict)
    assert verdict.counts["read from r1"] > 500
    assert verdict.counts["read from r2"] > 500
    assert verdict.counts["write repeated"] > 50, "duplicates were sent in parallel"
    assert verdict.counts["clear"] > 5


def test_no_read_waits_long_while_some_server_can_serve_it(make_stack: MakeStack) -> None:
    """Replicas and their workers are stopped, frozen, killed; rows are locked. The master is well."""
    stack = make_stack(replicas=2, deadline_ms=10_000)

    verdict = check(stack, Load(clients=6, users=200, operations=6_000, seed=14, timeout_s=12.0), SPARING, WAIT_BOUND_S)

    assert not verdict.violations, str(verdict)
    assert len(verdict.faults) >= 4, str(verdict)


@pytest.mark.long
@pytest.mark.parametrize("double", ["WithoutStamps", "LateStamps", "WithoutFloor", "SharesBegunQueries"])
def test_the_checker_finds_a_dbsvr_that_breaks_the_protocol(make_stack: MakeStack, double: str) -> None:
    stack = make_stack(double=double)
    stack.replica.delay(1)

    verdict = check(stack, Load(clients=8, users=50, operations=6_000, seed=13), (delay_replica,))

    stale = [violation for violation in verdict.violations if "older" in violation.promise]
    assert stale, f"{double} broke the protocol and was not found out: {verdict}"


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 110))
def test_pipeline_faults_for_long(make_stack: MakeStack, seed: int) -> None:
    stack = make_stack(replicas=1 + seed % 2, clear_age_limit_ms=1_000)

    verdict = check(stack, Load(clients=8, users=200, operations=150_000, seed=seed), PIPELINE)

    assert not verdict.violations, str(verdict)


PAIR_SETTINGS = {"deadline_ms": 2_000, "lease_ms": 1_000, "hold_ms": 1_000, "give_back_after_ms": 1_000, "clear_age_limit_ms": 1_000}


@pytest.mark.parametrize(("via", "seed"), [(RESP, 31), pytest.param(INTERFACE, 32, marks=pytest.mark.long)])
def test_two_dbsvrs_that_fail_in_turn_and_do_not_reach_each_other(make_stack: MakeStack, via: str, seed: int) -> None:
    stack = make_stack(as_on_two_hosts=True, **PAIR_SETTINGS)
    load = Load(clients=12, users=200, operations=10**9, until=time.monotonic() + 15, seed=seed, timeout_s=3.0, via=via)

    verdict = check(stack, load, PAIR)

    assert not verdict.violations, str(verdict)
    assert verdict.counts["read"] + verdict.counts["write"] > 300, str(verdict)
    assert len(verdict.faults) >= 2, str(verdict)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(200, 206))
def test_pair_faults_for_long(make_stack: MakeStack, seed: int) -> None:
    stack = make_stack(as_on_two_hosts=True, replicas=1 + seed % 2, **PAIR_SETTINGS)
    faults = PAIR if seed % 3 else (*PIPELINE, *PAIR)
    via = INTERFACE if seed % 2 else RESP
    load = Load(clients=12, users=200, operations=10**9, until=time.monotonic() + 120, seed=seed, timeout_s=3.0, via=via)

    verdict = check(stack, load, faults)

    assert not verdict.violations, str(verdict)
