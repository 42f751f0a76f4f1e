"""Nobody ever sees a state older than what he has done, whatever fails."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from deploy.local.private_stack import PrivateStack
from tests.consistency.check import check
from tests.consistency.clients import Load
from tests.consistency.faults import LAG_AND_KILLS, PIPELINE, delay_replica

MakeStack = Callable[..., PrivateStack]


def test_no_read_goes_back_in_time_while_the_replica_lags_and_workers_are_killed(make_stack: MakeStack) -> None:
    verdict = check(make_stack(), Load(clients=8, users=200, operations=30_000, seed=11), LAG_AND_KILLS)

    assert not verdict.violations, str(verdict)
    assert verdict.counts["read"] + verdict.counts["write"] >= 20_000
    assert verdict.counts["read from r1"] > 1_000, "the replica was hardly used: this run proves little"
    assert len(verdict.faults) >= 3, str(verdict)


def test_every_pipeline_fault_with_two_replicas_of_unequal_lag(make_stack: MakeStack) -> None:
    verdict = check(make_stack(replicas=2), Load(clients=8, users=200, operations=30_000, seed=12), PIPELINE)

    assert not verdict.violations, str(verdict)
    assert verdict.counts["read from r1"] > 500
    assert verdict.counts["read from r2"] > 500


@pytest.mark.parametrize("double", ["WithoutStamps", "LateStamps", "WithoutFloor"])
def test_the_checker_finds_a_front_that_breaks_the_protocol(make_stack: MakeStack, double: str) -> None:
    stack = make_stack(double=double)
    stack.replica.delay(1)

    verdict = check(stack, Load(clients=8, users=50, operations=6_000, seed=13), (delay_replica,))

    stale = [violation for violation in verdict.violations if "older" in violation.promise]
    assert stale, f"{double} broke the protocol and was not found out: {verdict}"


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 110))
def test_pipeline_faults_for_long(make_stack: MakeStack, seed: int) -> None:
    verdict = check(make_stack(replicas=1 + seed % 2), Load(clients=8, users=200, operations=150_000, seed=seed), PIPELINE)

    assert not verdict.violations, str(verdict)
