"""Batches of writes on a real master, without a front: what one transaction does, and what it must not."""

from __future__ import annotations

import time

import pytest

from deploy.local.private_stack import PrivateStack
from tests.stack.task_client import new_event_id
from workers import store
from workers.database import Connection
from workers.messages import Write
from workers.timelines import Known
from workers.write_batches import DueWrite, WriteBatches

CHANGES = b'[{"task":1,"period":"once","op":"add","value":1}]'
NEVER_MS = 2**62


@pytest.fixture
def connection(stack: PrivateStack) -> Connection:
    databases = stack.configuration().databases
    return Connection(databases.master[0], databases.accounts.workers, databases)


def write(number: int, uid: int, event_id: str) -> DueWrite:
    return DueWrite(Write(number, uid, event_id, CHANGES, False), NEVER_MS)


def test_a_known_event_at_the_end_of_a_large_batch_leaves_the_others_to_be_applied(
    connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ids before it went into the table with an earlier statement: they must not be taken for known ones."""
    monkeypatch.setattr(store, "STATEMENT_BYTES", 1)
    claim = store.claim_instance(connection, "batches", Known())
    batches = WriteBatches(connection, "batches", claim.epoch, claim.timeline.generation)
    known, uid = new_event_id(), 6_100_000_000
    batches.write([write(1, uid, known)], time.monotonic())

    (frame,) = batches.write([write(2, uid + 1, new_event_id()), write(3, uid + 2, new_event_id()), write(4, uid, known)], time.monotonic())

    assert [applied for _, applied, _ in frame.outcomes] == [True, True, False]
    users = store.load_users(connection, {uid, uid + 1, uid + 2})
    assert [users[each].version for each in sorted(users)] == [1, 1, 1]
    connection.close()
