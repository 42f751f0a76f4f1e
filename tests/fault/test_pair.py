"""Incidents of two DBSvrs that back each other up. Clients are spread over both; nothing is lost, doubled or stale."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from deploy.local.private_stack import SECOND_HALF, PrivateStack
from tests.stack.operating import operate
from tests.stack.task_client import TaskClient
from tests.stack.waiting import eventually
from workers.protocol import MasterDown, NotOwner, TimedOut

MakeStack = Callable[..., PrivateStack]
OF_A, OF_B = SECOND_HALF - 1, SECOND_HALF + 1


@pytest.fixture
def pair(make_stack: MakeStack) -> PrivateStack:
    stack = make_stack(instances=("a", "b"), hold_ms=1_000, give_back_after_ms=1_000)
    eventually(lambda: all(segment_state(stack, name, f"of-{name}") == "ours" for name in stack.dbsvrs))
    eventually(lambda: all(peer["state"] == "up" for name in stack.dbsvrs for peer in stack.stats(name)["peers"].values()))
    return stack


def segments(stack: PrivateStack, instance: str) -> dict[str, Any]:
    stats = stack.stats(instance)
    return stats["segments"] if stats else {}  # type: ignore[return-value]


def segment_state(stack: PrivateStack, instance: str, segment: str) -> str:
    return str(segments(stack, instance).get(segment, {}).get("state"))


def test_each_owns_its_half_and_serves_the_others_users_by_forwarding_and_from_the_master(pair: PrivateStack) -> None:
    a, b = TaskClient(pair, instance="a"), TaskClient(pair, instance="b")

    written = b.finish(OF_A)
    assert written.applied
    read = b.get(OF_A)
    assert (read.version, read.served_by, read.reason, read.storable) == (1, "master", "not_owner", False)
    assert a.get(OF_A).version == 1
    assert pair.stats("b")["peers"]["a"]["forwarded"] == 1
    again = b.finish(OF_A, event_id="twice")
    assert again.applied
    assert not a.finish(OF_A, event_id="twice").applied


def test_owner_killed_and_back(pair: PrivateStack) -> None:
    b = TaskClient(pair, instance="b")
    assert b.finish(OF_A, event_id="before").applied
    for process in pair.dbsvrs["a"].processes:
        process.kill()
    killed_at = time.monotonic()

    assert b.get(OF_A).version == 1, "read at once, from the master"
    answer = eventually(lambda: written(b, OF_A, "after"), within_s=20)
    assert answer.applied
    took_s = time.monotonic() - killed_at
    assert took_s < 3 * 3.0, took_s
    eventually(lambda: segment_state(pair, "b", "of-a") == "ours")
    assert not b.finish(OF_A, event_id="before").applied

    for process in pair.dbsvrs["a"].processes:
        process.start()
    eventually(lambda: segment_state(pair, "a", "of-a") == "ours", within_s=60)
    a = TaskClient(pair, instance="a")
    assert not a.finish(OF_A, event_id="after").applied
    assert a.get(OF_A).version == 2
    assert [takeover["cause"] for takeover in pair.stats("b")["takeovers"]] == ["taken over", "given back"]


def written(client: TaskClient, uid: int, event_id: str) -> Any:
    try:
        return client.finish(uid, event_id)
    except (NotOwner, TimedOut, MasterDown):
        return None


def test_an_operator_moves_a_segment_and_clients_notice_nothing_but_a_retry(pair: PrivateStack) -> None:
    a, b = TaskClient(pair, instance="a"), TaskClient(pair, instance="b")
    assert a.finish(OF_A, event_id="m1").applied

    said = operate(pair, "move", "of-a", "b")

    assert said.returncode == 0, said.stdout
    assert "is b's now" in said.stdout
    assert eventually(lambda: written(b, OF_A, "m2")).applied
    eventually(lambda: segment_state(pair, "b", "of-a") == "ours")
    assert eventually(lambda: written(a, OF_A, "m3")).applied, "and forwards for those who still come"
    assert b.get(OF_A).version == 3
    assert "The configuration says otherwise" in operate(pair, "segments").stdout, "it stays there until somebody moves it back"
    assert operate(pair, "segments", "apply").returncode == 0
    eventually(lambda: segment_state(pair, "a", "of-a") == "ours", within_s=30)
    assert eventually(lambda: written(b, OF_A, "m3")).applied is False
    assert a.get(OF_A).version == 3
