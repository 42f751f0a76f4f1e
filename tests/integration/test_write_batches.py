"""Batches of writes on a real master, without a front: what one transaction does, and what it must not."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from deploy.local.private_stack import PrivateStack
from tests.stack.task_client import new_event_id
from workers import store
from workers.database import Connection
from workers.messages import Write
from workers.ownership import Ownership
from workers.protocol import decode_write_answer
from workers.timelines import Known
from workers.traffic import Traffic
from workers.write_batches import DueWrite, WriteBatches

CHANGES = b'[{"task":1,"period":"once","op":"add","value":1}]'
NEVER_MS = 2**62


@pytest.fixture
def connection(make_stack: Callable[..., PrivateStack]) -> Connection:
    """As the only worker of DBSvr a: its own are stopped."""
    stack = make_stack()
    for process in (stack.master_worker, stack.front):
        process.stop()
    databases = stack.configuration().databases
    return Connection(databases.master[0], databases.accounts.workers, databases)


def batches_of(connection: Connection) -> WriteBatches:
    claim, ownership = store.claim_instance(connection, "a", Known()), Ownership("a", True, {})
    return WriteBatches(connection, ownership, claim.epoch, claim.timeline.generation, Traffic())


def write(number: int, uid: int, event_id: str) -> DueWrite:
    return DueWrite(Write(number, uid, event_id, CHANGES, False, []), NEVER_MS)


def test_a_known_event_at_the_end_of_a_large_batch_leaves_the_others_to_be_applied(
    connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ids before it went into the table with an earlier statement: they must not be taken for known ones."""
    monkeypatch.setattr(store, "STATEMENT_BYTES", 1)
    batches = batches_of(connection)
    known, uid = new_event_id(), 6_100_000_000
    batches.write([write(1, uid, known)], time.monotonic())

    (frame,) = batches.write([write(2, uid + 1, new_event_id()), write(3, uid + 2, new_event_id()), write(4, uid, known)], time.monotonic())

    assert [applied for _, applied, _ in frame.outcomes] == [True, True, False]
    users = store.load(connection, "a", {uid, uid + 1, uid + 2}).users
    assert [users[each].version for each in sorted(users)] == [1, 1, 1]
    connection.close()


def test_purge_rows_are_committed_with_their_write_and_named_until_they_are_done(connection: Connection) -> None:
    batches, uid = batches_of(connection), 6_100_000_010
    first = DueWrite(Write(1, uid, new_event_id(), CHANGES, False, ["n2"]), NEVER_MS)
    second = DueWrite(Write(2, uid, new_event_id(), CHANGES, False, ["*"]), NEVER_MS)

    (frame,) = batches.write([first], time.monotonic())
    assert frame.purges == 1
    assert decode_write_answer(frame.outcomes[0][2]).purge == ["n2"]
    (frame,) = batches.write([second], time.monotonic())
    assert decode_write_answer(frame.outcomes[0][2]).purge == ["*", "n2"]

    rows = connection.execute("SELECT node, version FROM cache_purge WHERE uid = %s ORDER BY id", (uid,))
    assert rows == [("n2", 1), ("*", 2)]
    connection.close()


def test_a_write_also_names_what_an_earlier_one_of_its_batch_has_to_purge(connection: Connection) -> None:
    """It may be answered first, and who reads then at that node must not find the copy from before both."""
    batches, uid = batches_of(connection), 6_100_000_020
    first = DueWrite(Write(1, uid, new_event_id(), CHANGES, False, ["n2"]), NEVER_MS)
    second = DueWrite(Write(2, uid, new_event_id(), CHANGES, False, []), NEVER_MS)
    third = DueWrite(Write(3, uid + 1, new_event_id(), CHANGES, False, []), NEVER_MS)

    (frame,) = batches.write([first, second, third], time.monotonic())

    assert [decode_write_answer(answer).purge for _, _, answer in frame.outcomes] == [["n2"], ["n2"], []]
    connection.close()
