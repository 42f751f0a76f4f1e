"""Pairs of DBSvrs for the tests of this folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from deploy.local.private_stack import PrivateStack
from tests.stack.pair_stack import PairStack
from tests.stack.pairs import PAIR
from tests.stack.segments import wait_until_balanced
from tests.stack.task_client import TaskClient

MakeStack = Callable[..., PrivateStack]


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
