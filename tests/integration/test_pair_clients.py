"""DbInterface with two real DBSvrs: users at their owners, batches of both, and the way to the other and back when one is gone."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from apps.dbsvr.db_interface import DbInterface
from apps.dbsvr.stats import decode_stats
from deploy.local.private_stack import SECOND_HALF, PrivateStack
from tests.stack.waiting import eventually
from workers.protocol import Change, DBSvrError, Snapshot

MakeStack = Callable[..., PrivateStack]
OF_A, OF_B = SECOND_HALF - 7, SECOND_HALF + 7
ADD_ONE = [Change(task=1, period="once", op="add", value=1)]


@pytest.fixture
def pair(make_stack: MakeStack) -> PrivateStack:
    stack = make_stack(instances=("a", "b"), hold_ms=1_000, give_back_after_ms=1_000)
    eventually(lambda: owners(stack) == {"of-a": "a", "of-b": "b"}, within_s=20)
    return stack


@pytest.fixture
def client(pair: PrivateStack) -> Iterator[DbInterface]:
    interface = DbInterface(pair.configuration().dbsvr, deadline_ms=5_000)
    yield interface
    interface.close()


def owners(stack: PrivateStack) -> dict[str, str]:
    """Who says of a segment that it is his."""
    told: list[dict[str, Any]] = [(stack.stats(name) or {}).get("segments", {}) for name in stack.dbsvrs]  # type: ignore[misc]
    return {name: row["owner"] for rows in told for name, row in rows.items() if row["state"] == "ours"}


def forwarded(stack: PrivateStack) -> int:
    stats: list[Any] = [stack.stats(name) for name in stack.dbsvrs]
    return sum(peer["forwarded"] for it in stats for peer in it["peers"].values())


def test_every_user_is_asked_of_his_owner_and_a_batch_of_both(pair: PrivateStack, client: DbInterface) -> None:
    for uid in (OF_A, OF_B):
        client.finish(uid, "node-1", "e1", ADD_ONE)
        assert client.get(uid, "node-1").reason != "not_owner"

    answers = client.get_many([OF_B, OF_A, OF_B + 1, OF_A - 1], "node-1")

    assert [(it.uid, it.version) for it in answers if isinstance(it, Snapshot)] == [(OF_B, 1), (OF_A, 1), (OF_B + 1, 0), (OF_A - 1, 0)]
    assert all(isinstance(it, Snapshot) and it.reason != "not_owner" for it in answers)
    assert forwarded(pair) == 0, "nothing went to the wrong one"
    assert client.explain(OF_B)["uid"] == OF_B


def test_the_console_understands_what_a_dbsvr_tells_of_the_pair(pair: PrivateStack) -> None:
    with pair.client(instance="b") as client:
        told = decode_stats(client.execute_command("TASK.STATS"))

    assert {name: (row.home, row.owner) for name, row in told.segments.items()} == {"of-a": ("a", "a"), "of-b": ("b", "b")}
    assert told.peers.keys() == told.mirror.keys() == {"a"}


def test_writes_around_the_death_of_their_owner_count_exactly_once_each(pair: PrivateStack, client: DbInterface) -> None:
    failed: list[DBSvrError] = []
    counts = [0, 0, 0, 0]

    def write(thread: int) -> None:
        uid = (OF_A, OF_B)[thread % 2] + thread * 10
        for number in range(60):
            try:
                client.finish(uid, "node-1", f"e{number}", ADD_ONE, deadline_ms=20_000)
                counts[thread] += 1
            except DBSvrError as error:
                failed.append(error)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    eventually(lambda: min(counts) >= 10)
    for process in pair.dbsvrs["a"].processes:
        process.kill()
    for thread in threads:
        thread.join()

    assert not failed
    for thread in range(4):
        snapshot = client.get((OF_A, OF_B)[thread % 2] + thread * 10, "node-1")
        assert (snapshot.version, snapshot.tasks[0].progress) == (60, 60)
    assert owners(pair) == {"of-a": "b", "of-b": "b"}


def test_reads_go_on_within_a_second_when_their_owner_is_frozen_and_find_back_to_him(pair: PrivateStack, client: DbInterface) -> None:
    client.finish(OF_A, "node-1", "e1", ADD_ONE)
    for process in pair.dbsvrs["a"].processes:
        process.freeze()
    try:
        began = time.monotonic()
        assert client.get(OF_A, "node-1", deadline_ms=3_000).version == 1
        took_s = time.monotonic() - began
        eventually(lambda: quick(client), within_s=10)
    finally:
        for process in pair.dbsvrs["a"].processes:
            process.thaw()

    assert took_s < 2.0, "a third of the deadline, then the other DBSvr"
    eventually(lambda: is_back(pair, client), within_s=60)
    assert client.get(OF_A, "node-1").version == 1


def is_back(pair: PrivateStack, client: DbInterface) -> bool:
    """a owns its half again, and its users are asked of it."""
    read = client.get(OF_A, "node-1")
    return (
        owners(pair).get("of-a") == "a"
        and client._reach("a").is_good
        and client._owners.owner_of(OF_A) == "a"
        and read.reason != "not_owner"
    )


def quick(client: DbInterface) -> bool:
    """The frozen one is left alone, so that a read costs no time-out."""
    began = time.monotonic()
    client.get(OF_A, "node-1", deadline_ms=3_000)
    return time.monotonic() - began < 0.5
