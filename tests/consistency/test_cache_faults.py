"""Through the API of two logic nodes nobody reads a copy older than an acknowledged write, whatever fails around the cache nodes."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator

import pytest

from tests.consistency.cache_doubles import DOUBLES
from tests.consistency.cache_faults import CACHE, CACHE_FAULTS
from tests.consistency.check_copies import check_copies
from tests.consistency.clients import API, Load
from tests.consistency.faults import PIPELINE
from tests.consistency.history import CLEAR, READ, WRITE, FinalState, Operation, State, judge_copies
from tests.consistency.pair_faults import PAIR
from tests.stack.api_stack import ApiStack, PairApiStack
from tests.stack.leftovers import assert_nothing_is_left
from tests.stack.web_process import APPLICATION

MakeApiStack = Callable[..., ApiStack]


@pytest.fixture
def make_api_stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MakeApiStack]:
    made: list[ApiStack] = []

    def make(application: str = APPLICATION, kind: type[ApiStack] = ApiStack, **settings: object) -> ApiStack:
        more = {"clear_age_limit_ms": 1_000, **settings}
        made.append(kind(tmp_path_factory.mktemp("api"), settings=more, application=application))
        made[-1].start()
        return made[-1]

    yield make
    for stack in made:
        stack.stop()
    for stack in made:
        assert_nothing_is_left(stack)


def load(seed: int, lasts_s: float) -> Load:
    return Load(clients=6, users=40, operations=sys.maxsize, until=time.monotonic() + lasts_s, seed=seed, via=API)


def test_no_old_copy_is_read_while_nodes_broker_center_and_dbsvr_fail(make_api_stack: MakeApiStack) -> None:
    stack = make_api_stack()
    verdict = check_copies(stack, load(21, lasts_s=10.0), CACHE)

    assert not verdict.violations, str(verdict)
    assert verdict.faults.total() >= 3, str(verdict)
    assert verdict.counts[WRITE] > 100
    assert verdict.counts["copy given by a node"] > 200, "the cache was hardly used: this run proves little"


@pytest.mark.long
def test_the_checker_finds_logic_nodes_that_do_not_settle(make_api_stack: MakeApiStack) -> None:
    stack = make_api_stack(DOUBLES["without_settle"])
    verdict = check_copies(stack, load(22, lasts_s=5.0), ())

    assert any("older" in violation.promise for violation in verdict.violations), str(verdict)


@pytest.mark.long
@pytest.mark.parametrize("faults", CACHE_FAULTS)
@pytest.mark.parametrize("seed", range(200, 202))
def test_cache_faults_for_long(make_api_stack: MakeApiStack, seed: int, faults: str) -> None:
    stack = make_api_stack()
    verdict = check_copies(stack, load(seed, lasts_s=150.0), CACHE_FAULTS[faults])

    assert not verdict.violations, str(verdict)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(300, 302))
def test_the_python_client_over_two_logic_nodes_and_two_dbsvrs_loses_nothing_whatever_fails(
    make_api_stack: MakeApiStack, seed: int
) -> None:
    stack = make_api_stack(kind=PairApiStack, lease_ms=1_000, hold_ms=1_000, give_back_after_ms=1_000)
    verdict = check_copies(stack, load(seed, lasts_s=150.0), (*PIPELINE, *PAIR, *CACHE))

    assert not verdict.violations, str(verdict)
    assert verdict.faults.total() >= 10, str(verdict)


def seen(kind: str, began: float, version: int) -> Operation:
    return Operation(1, kind, 7, began, began + 0.1, State(1, version), f"e{version}" if kind != READ else "", kind != READ)


FINAL = {7: FinalState(2, 0, frozenset({"e1", "e2"}))}


@pytest.mark.parametrize(
    ("read_at", "out_of_reach", "is_broken"),
    [
        (2.0, [], True),
        (2.0, [(0.5, 1.5)], False),
        (2.0, [(1.5, 3.0)], True),
        (5.9, [(0.5, 1.5)], False),
        (6.3, [(0.5, 1.5)], True),
    ],
    ids=["reached", "not reached, within the bound", "not reached later", "just within the bound", "past the bound"],
)
def test_an_old_copy_is_excused_only_where_its_writer_could_not_reach_and_only_for_the_bound(
    read_at: float, out_of_reach: list[tuple[float, float]], is_broken: bool
) -> None:
    history = [seen(WRITE, 0.0, 1), seen(CLEAR, 1.0, 2), seen(READ, read_at, 1)]

    assert bool(judge_copies(history, FINAL, out_of_reach, 5.0)) is is_broken


def test_a_read_may_be_older_than_another_read() -> None:
    """While a write is not acknowledged yet, one comes from the DBSvr and the other from a copy."""
    unanswered = Operation(1, WRITE, 7, 1.0, 9.0, None, "e2")
    history = [seen(WRITE, 0.0, 1), unanswered, seen(READ, 2.0, 2), seen(READ, 3.0, 1)]

    assert judge_copies(history, FINAL, [], 5.0) == []
