"""Writes before reads, reads before deletions: tested by order, not by time.

Everything is queued while the workers are frozen; then the master's worker alone does the work, in its own order.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest

from deploy.local.private_stack import PrivateStack
from tests.stack.asking import Asked
from tests.stack.task_client import TaskClient, change
from tests.stack.waiting import eventually

BATCH = 16
WRITE = ("TASK.FINISH", 1, "node-1", "write-1", json.dumps([change()]))


@pytest.fixture
def frozen(make_stack: Callable[..., PrivateStack]) -> Iterator[PrivateStack]:
    """A stack whose workers are frozen, whose requests may wait for long, and whose master takes any read."""
    stack = make_stack(batch=BATCH, deadline_ms=60_000, age_limit_ms=50_000, spill_depth=0)
    for worker in (stack.master_worker, stack.replica_worker):
        worker.freeze()
    yield stack
    for worker in (stack.master_worker, stack.replica_worker):
        worker.thaw()


def depth(stack: PrivateStack, queue: str) -> int:
    counts = TaskClient(stack).stats()["queues"][queue]
    return int(counts["depth"] + counts["backlog"])


def test_writes_go_before_reads_and_reads_before_deletions(frozen: PrivateStack) -> None:
    clear = Asked(frozen, "TASK.CLEAR", 1, "node-1", "clear-1")
    eventually(lambda: depth(frozen, "clear") == 1)
    read = Asked(frozen, "TASK.GET", 1, "node-1")
    eventually(lambda: depth(frozen, "query") == 1)
    write = Asked(frozen, *WRITE)
    eventually(lambda: depth(frozen, "finish") == 1)

    frozen.master_worker.thaw()

    assert write.answer["base_version"] == 0, "the write, queued last, went first"
    assert read.answer["version"] == 1, "the read saw the write and not the deletion"
    assert clear.answer["base_version"] == 1, "the deletion, queued first, went last"


def test_a_write_waits_for_one_batch_of_reads_at_most_though_2000_wait(frozen: PrivateStack) -> None:
    reads = [Asked(frozen, "TASK.MGET", "node-1", *[1] * 500) for _ in range(4)]
    eventually(lambda: depth(frozen, "query") == 2_000)
    write = Asked(frozen, *WRITE)
    eventually(lambda: depth(frozen, "finish") == 1)

    frozen.master_worker.thaw()

    assert write.answer["applied"]
    versions = [snapshot["version"] for read in reads for snapshot in read.answer]
    assert len(versions) == 2_000
    assert versions.count(0) <= BATCH, "reads queued before the write were served before it"


def test_a_clear_waits_until_2000_reads_are_answered(frozen: PrivateStack) -> None:
    clear = Asked(frozen, "TASK.CLEAR", 1, "node-1", "clear-1")
    eventually(lambda: depth(frozen, "clear") == 1)
    reads = [Asked(frozen, "TASK.MGET", "node-1", *[1] * 500) for _ in range(4)]
    eventually(lambda: depth(frozen, "query") == 2_000)

    frozen.master_worker.thaw()

    assert clear.answer["snapshot"]["version"] == 1
    assert {snapshot["version"] for read in reads for snapshot in read.answer} == {0}, "no read saw the deletion"
