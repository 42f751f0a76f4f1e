"""Batches of writes on a real master, without a front: what one transaction does, and what it must not."""

from __future__ import annotations

import select
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from deploy.local.private_stack import PrivateStack
from tasksys_site.configuration import Segment
from tests.stack.locks import HeldLock
from tests.stack.task_client import new_event_id
from tests.stack.waiting import eventually
from workers import database, segment_rows, store
from workers.database import IDLE_TRANSACTION_S, Connection, DatabaseGone
from workers.messages import Write, Writes
from workers.ownership import Ownership
from workers.protocol import Change, WriteAnswer, decode_write_answer, encode
from workers.timelines import Known
from workers.traffic import Traffic
from workers.write_batches import WriteBatches
from workers.write_transaction import DueWrite, WriteTransaction

CHANGES = b'[{"task":1,"period":"once","op":"add","value":1}]'
NEVER_MS = 2**62


@pytest.fixture
def stack(make_stack: Callable[..., PrivateStack]) -> PrivateStack:
    """Whose DBSvr is stopped: we are the only worker of DBSvr a."""
    stack = make_stack()
    for process in (stack.master_worker, stack.front):
        process.stop()
    return stack


@pytest.fixture
def connections(stack: PrivateStack) -> Iterator[list[Connection]]:
    """Three."""
    databases = stack.configuration().databases
    opened = [Connection(databases.master[0], databases.accounts.workers, databases) for _ in range(3)]
    yield opened
    for each in opened:
        each.close()


@pytest.fixture
def connection(connections: list[Connection]) -> Connection:
    """To look at what was written."""
    return connections[2]


@pytest.fixture
def batches(connections: list[Connection]) -> WriteBatches:
    claim, ownership = store.claim_instance(connections[0], "a", Known()), Ownership("a", True, {})
    segment_rows.fill(connections[0], [Segment(name="all", first=1, last=2**63 - 1, home="a")], 2_000)
    return WriteBatches((connections[0], connections[1]), ownership, claim, Traffic())


def committed(batches: WriteBatches, due: list[DueWrite]) -> list[Writes]:
    return [*batches.write(due, time.monotonic()), *batches.drain()]


def write(number: int, uid: int, event_id: str) -> DueWrite:
    return DueWrite(Write(number, uid, event_id, CHANGES, False, []), NEVER_MS)


def test_a_known_event_at_the_end_of_a_large_batch_leaves_the_others_to_be_applied(
    batches: WriteBatches, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ids before it went into the table with an earlier statement: they must not be taken for known ones."""
    monkeypatch.setattr(store, "STATEMENT_BYTES", 1)
    known, uid = new_event_id(), 6_100_000_000
    committed(batches, [write(1, uid, known)])

    (frame,) = committed(batches, [write(2, uid + 1, new_event_id()), write(3, uid + 2, new_event_id()), write(4, uid, known)])

    assert [applied for _, applied, _ in frame.outcomes] == [True, True, False]
    users = store.load(connection, "a", {uid, uid + 1, uid + 2}).users
    assert [users[each].version for each in sorted(users)] == [1, 1, 1]


def test_purge_rows_are_committed_with_their_write_and_named_until_they_are_done(batches: WriteBatches, connection: Connection) -> None:
    uid = 6_100_000_010
    first = DueWrite(Write(1, uid, new_event_id(), CHANGES, False, ["n2"]), NEVER_MS)
    second = DueWrite(Write(2, uid, new_event_id(), CHANGES, False, ["*"]), NEVER_MS)

    (frame,) = committed(batches, [first])
    assert frame.purges == 1
    assert decode_write_answer(frame.outcomes[0][2]).purge == ["n2"]
    (frame,) = committed(batches, [second])
    assert decode_write_answer(frame.outcomes[0][2]).purge == ["*", "n2"]

    rows = connection.execute("SELECT node, version FROM cache_purge WHERE uid = %s ORDER BY id", (uid,))
    assert rows == [("n2", 1), ("*", 2)]


def test_a_write_also_names_what_an_earlier_one_of_its_batch_has_to_purge(batches: WriteBatches, connection: Connection) -> None:
    """It may be answered first, and who reads then at that node must not find the copy from before both."""
    uid = 6_100_000_020
    first = DueWrite(Write(1, uid, new_event_id(), CHANGES, False, ["n2"]), NEVER_MS)
    second = DueWrite(Write(2, uid, new_event_id(), CHANGES, False, []), NEVER_MS)
    third = DueWrite(Write(3, uid + 1, new_event_id(), CHANGES, False, []), NEVER_MS)

    (frame,) = committed(batches, [first, second, third])

    assert [decode_write_answer(answer).purge for _, _, answer in frame.outcomes] == [["n2"], ["n2"], []]


def test_the_next_batch_is_made_while_one_is_being_committed_and_follows_it(batches: WriteBatches, connection: Connection) -> None:
    uid = 6_100_000_030
    frames = list(batches.write([write(1, uid, new_event_id())], time.monotonic()))
    assert batches.filenos(), "the first is in its COMMIT"
    frames += batches.write([write(2, uid + 1, new_event_id())], time.monotonic())
    frames += batches.write([write(3, uid + 2, new_event_id())], time.monotonic())
    frames += batches.drain()

    numbers = [[number for number, _, _ in frame.outcomes] for frame in frames]
    assert sorted(number for each in numbers for number in each) == [1, 2, 3]
    assert [frame.tick for frame in frames] == sorted({frame.tick for frame in frames})
    assert batches.is_idle
    assert connection.execute("SELECT uid, version FROM user_state WHERE uid BETWEEN %s AND %s", (uid, uid + 2)) == [
        (uid, 1),
        (uid + 1, 1),
        (uid + 2, 1),
    ]


def test_a_users_next_write_waits_for_the_end_of_the_one_before(batches: WriteBatches) -> None:
    uid = 6_100_000_040
    frames = list(batches.write([write(1, uid, new_event_id())], time.monotonic()))

    frames += batches.write([write(2, uid, new_event_id()), write(3, uid + 1, new_event_id())], time.monotonic())
    frames += batches.drain()

    answers = {number: decode_write_answer(answer) for frame in frames for number, _, answer in frame.outcomes}
    assert [answers[number].base_version for number in (1, 2, 3)] == [0, 1, 0]
    assert [answers[number].snapshot.version for number in (1, 2, 3)] == [1, 2, 1]
    ticks = {number: frame.tick for frame in frames for number, _, _ in frame.outcomes}
    assert ticks[1] < ticks[2]


def test_writes_of_one_user_in_one_batch_each_answer_the_state_after_themselves(batches: WriteBatches) -> None:
    uid = 6_100_000_050

    (frame,) = committed(batches, [write(1, uid, new_event_id()), write(2, uid + 1, new_event_id()), write(3, uid, new_event_id())])

    answers = [decode_write_answer(answer) for _, _, answer in frame.outcomes]
    assert [(answer.base_version, answer.snapshot.version, answer.snapshot.tasks[0].progress) for answer in answers] == [
        (0, 1, 1),
        (0, 1, 1),
        (1, 2, 2),
    ]


def test_a_known_event_beside_a_commit_answers_its_first_results_and_the_others_are_applied(
    batches: WriteBatches, connection: Connection
) -> None:
    known, uid = new_event_id(), 6_100_000_060
    committed(batches, [write(1, uid, known)])
    frames = list(batches.write([write(2, uid + 1, new_event_id())], time.monotonic()))

    frames += batches.write([write(3, uid + 2, new_event_id()), write(4, uid, known)], time.monotonic())
    frames += batches.drain()

    applied = {number: is_new for frame in frames for number, is_new, _ in frame.outcomes}
    assert applied == {2: True, 3: True, 4: False}
    rows = connection.execute("SELECT version FROM user_state WHERE uid BETWEEN %s AND %s ORDER BY uid", (uid, uid + 2))
    assert rows == [(1,), (1,), (1,)]


def test_what_was_rolled_back_is_not_remembered(batches: WriteBatches, connections: list[Connection]) -> None:
    uid = 6_100_000_070
    committed(batches, [write(1, uid, new_event_id())])
    connections[2].execute("BEGIN")
    connections[2].execute("SELECT * FROM user_state WHERE uid = %s FOR UPDATE", (uid,))

    assert committed(batches, [write(2, uid, new_event_id())]) == [], "it waits for the lock"

    connections[2].execute("COMMIT")
    (frame,) = eventually(lambda: committed(batches, []))
    answer = decode_write_answer(frame.outcomes[0][2])
    assert (answer.base_version, answer.snapshot.version, answer.snapshot.tasks[0].progress) == (1, 2, 2)


def test_whose_rows_are_locked_is_asked_for_and_all_others_are_committed_at_once(
    batches: WriteBatches, connections: list[Connection], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not found out by halving: that made a transaction and a COMMIT for each half, again and again while the lock lasted."""
    uid, size = 6_100_000_400, 64
    committed(batches, [write(number, uid + number, new_event_id()) for number in range(size)])
    rest, locking = connections[2], connections[2].execute
    locking("SET SESSION idle_transaction_timeout = 0")
    rest.execute("BEGIN")
    locking("SELECT 1 FROM user_state WHERE uid IN (%s, %s) FOR UPDATE", (uid + 3, uid + 40))
    locking("SELECT 1 FROM user_task WHERE uid = %s FOR UPDATE", (uid + 20,))
    held = {3, 20, 40}
    tried = []
    send = WriteTransaction.send
    monkeypatch.setattr(WriteTransaction, "send", lambda self, due, are_new=True: (tried.append(len(due)), send(self, due, are_new))[1])

    (frame,) = committed(batches, [write(number, uid + number, new_event_id()) for number in range(size)])

    assert {number for number, _, _ in frame.outcomes} == set(range(size)) - held
    assert tried == [size, size - len(held)]
    eventually(lambda: time.monotonic() >= batches.next_try_at)
    (frame,) = committed(batches, [write(100 + number, uid + number, new_event_id()) for number in range(size)])
    assert {number for number, _, _ in frame.outcomes} == {100 + number for number in range(size) if number not in held}
    assert tried[2:] == [size - len(held)], "who waits for a lock is not tried with the others"

    rest.execute("COMMIT")
    frames: list[Writes] = []

    def are_done() -> bool:
        frames.extend(committed(batches, []))
        return answers_by_number(frames).keys() == {each + more for each in held for more in (0, 100)}

    eventually(are_done)
    answers = answers_by_number(frames)
    assert [(answers[each].base_version, answers[each + 100].base_version) for each in sorted(held)] == [(1, 2)] * 3


def test_what_waits_beside_a_transaction_goes_together_and_only_once_as_many_wait_as_are_in_it(
    batches: WriteBatches, connection: Connection
) -> None:
    uid = 6_100_000_600
    holding = hold_the_tick(connection)
    frames = list(batches.write([write(number, uid + number, new_event_id()) for number in (1, 2)], time.monotonic()))
    frames += batches.write([write(3, uid + 3, new_event_id())], time.monotonic())
    assert len(batches.filenos()) == 1
    frames += batches.write([write(4, uid + 4, new_event_id()), write(5, uid + 1, new_event_id())], time.monotonic())
    assert len(batches.filenos()) == 2
    assert batches.room

    holding()
    frames += batches.drain()

    assert [sorted(number for number, _, _ in frame.outcomes) for frame in frames] == [[1, 2], [3, 4], [5]]
    assert [frame.tick for frame in frames] == sorted({frame.tick for frame in frames})


def test_what_waited_beside_a_transaction_sets_out_also_when_its_end_was_waited_for(batches: WriteBatches, connection: Connection) -> None:
    """As before a read of the master: nobody writes after it, so nothing else sets it on its way."""
    uid = 6_100_000_602
    holding = hold_the_tick(connection)
    frames = list(batches.write([write(number, uid + number, new_event_id()) for number in (1, 2)], time.monotonic()))
    frames += batches.write([write(3, uid + 3, new_event_id())], time.monotonic())
    holding()
    frames += batches.settle()
    assert answers_by_number(frames).keys() == {1, 2}

    eventually(lambda: frames.extend(batches.go_on()) or 3 in answers_by_number(frames))


def test_ticks_are_told_in_their_order_also_when_the_end_of_the_later_is_heard_of_first(
    batches: WriteBatches, connection: Connection
) -> None:
    uid = 6_100_000_605
    holding = hold_the_tick(connection)
    frames = list(batches.write([write(1, uid, new_event_id())], time.monotonic()))
    frames += batches.write([write(2, uid + 1, new_event_id())], time.monotonic())
    assert [len(each.due) for each in batches._under_way] == [1, 1]
    batches._under_way.reverse()

    holding()
    frames += batches.drain()

    assert [frame.tick for frame in frames] == sorted(frame.tick for frame in frames)
    assert len(frames) == 2


def hold_the_tick(connection: Connection) -> Callable[[], None]:
    """Lock the row in which the ticks are; call what is returned to let go."""
    connection.execute("SET SESSION idle_transaction_timeout = 0")
    connection.execute("BEGIN")
    connection.execute("SELECT 1 FROM db_info WHERE instance = 'a' FOR UPDATE")
    return lambda: connection.execute("COMMIT") and None


@pytest.mark.parametrize("is_fenced", [True, False])
def test_a_block_that_the_master_finds_after_the_claim_of_a_successor_commits_nothing(
    batches: WriteBatches, connection: Connection, stack: PrivateStack, monkeypatch: pytest.MonkeyPatch, is_fenced: bool
) -> None:
    """It was sent long before, from BEGIN to COMMIT, and waits at its tick. Without the fence within it the write surfaces after the fresh
    tick."""
    uid = 6_100_000_610
    if not is_fenced:
        monkeypatch.setattr(store, "fence", lambda *anything: b"DO 0")
    holding = hold_the_tick(connection)
    frames = list(batches.write([write(1, uid, new_event_id())], time.monotonic()))
    eventually(lambda: stack.master.execute("SELECT 1 FROM information_schema.innodb_lock_waits"))
    connection.execute("UPDATE db_info SET worker_epoch = worker_epoch + 1, tick = tick + 1 WHERE instance = 'a'")
    holding()

    if is_fenced:
        with pytest.raises(store.Superseded):
            frames += batches.drain()
    else:
        frames += batches.drain()

    assert bool(connection.execute("SELECT 1 FROM user_state WHERE uid = %s", (uid,))) == (not is_fenced)


def test_what_is_too_large_for_one_packet_goes_in_several_blocks_and_is_one_transaction_all_the_same(
    batches: WriteBatches, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    uid = 6_100_000_612
    users = range(uid, uid + 3)
    monkeypatch.setattr(store, "STATEMENT_BYTES", 1)
    monkeypatch.setattr(database, "PACKET_BYTES", 1)
    for _ in ("read", "known"):
        frames = committed(batches, [write(number, each, new_event_id()) for number, each in enumerate(users)])
        assert [len(frame.outcomes) for frame in frames] == [3]
    store.claim_instance(connection, "a", Known())

    with pytest.raises(store.Superseded):
        committed(batches, [write(number, each, new_event_id()) for number, each in enumerate(users)])

    rows = connection.execute("SELECT s.version, COUNT(*) FROM user_state s JOIN applied_event e ON e.uid = s.uid GROUP BY s.uid")
    assert rows == [(2, 2)] * 3


def test_nothing_is_written_without_a_row_for_the_tick(batches: WriteBatches, connection: Connection) -> None:
    uid = 6_100_000_615
    connection.execute("DELETE FROM db_info")

    with pytest.raises(store.Superseded):
        committed(batches, [write(1, uid, new_event_id())])

    assert not connection.execute("SELECT 1 FROM user_state WHERE uid = %s", (uid,))


def test_a_tick_whose_row_stays_locked_by_somebody_else_ends_the_life_and_nothing_is_written(
    batches: WriteBatches, connection: Connection
) -> None:
    uid = 6_100_000_620
    holding = hold_the_tick(connection)

    with pytest.raises(DatabaseGone):
        committed(batches, [write(1, uid, new_event_id())])

    holding()
    assert not connection.execute("SELECT 1 FROM user_state WHERE uid = %s", (uid,))


def test_what_has_waited_too_long_for_the_commit_before_it_is_done_again_after_it(
    batches: WriteBatches, connection: Connection, stack: PrivateStack
) -> None:
    """As on a disk that needs longer for a COMMIT than a statement waits for a row."""
    uid = 6_100_000_625
    blocking = HeldLock(stack.master, "BACKUP STAGE START", "tasksys_user")
    try:
        blocking.execute("BACKUP STAGE BLOCK_COMMIT")
        frames = list(batches.write([write(1, uid, new_event_id())], time.monotonic()))
        eventually(lambda: connection.execute("SELECT 1 FROM information_schema.processlist WHERE state = 'Waiting for backup lock'"))
        frames += batches.write([write(2, uid + 1, new_event_id())], time.monotonic())
        second = batches._under_way[1].connection
        eventually(lambda: select.select([second], [], [], 0)[0], within_s=20)
    finally:
        blocking.release()
    frames += batches.drain()

    assert [[number for number, _, _ in frame.outcomes] for frame in frames] == [[1], [2]]


def test_a_transaction_that_does_not_end_ends_the_life(
    batches: WriteBatches, connection: Connection, stack: PrivateStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody waits for it alone: looks at the master go on beside it, on a connection of their own."""
    blocking = HeldLock(stack.master, "BACKUP STAGE START", "tasksys_user")
    try:
        blocking.execute("BACKUP STAGE BLOCK_COMMIT")
        frames = list(batches.write([write(1, 6_100_000_630, new_event_id())], time.monotonic()))
        assert not list(batches.go_on())
        monkeypatch.setattr(batches._under_way[0].connection, "patience_s", 0.0)
        with pytest.raises(DatabaseGone):
            list(batches.go_on())
    finally:
        blocking.release()
    assert not frames


def test_users_are_read_anew_when_the_segment_was_somebody_elses_meanwhile(batches: WriteBatches, connection: Connection) -> None:
    uid = 6_100_000_080
    committed(batches, [write(1, uid, new_event_id())])
    connection.execute("UPDATE segment_owner SET owner = 'b', epoch = epoch + 1")
    connection.execute("UPDATE user_state SET version = 7 WHERE uid = %s", (uid,))
    connection.execute("UPDATE segment_owner SET owner = 'a', epoch = epoch + 1")
    ((segment, epoch),) = connection.execute("SELECT segment, epoch FROM segment_owner")
    batches._ownership.possess(segment, epoch)

    (frame,) = committed(batches, [write(2, uid, new_event_id())])

    assert decode_write_answer(frame.outcomes[0][2]).base_version == 7


def test_a_superseded_worker_commits_nothing_of_what_it_has_made(batches: WriteBatches, connection: Connection) -> None:
    uid = 6_100_000_090
    committed(batches, [write(1, uid, new_event_id())])
    store.claim_instance(connection, "a", Known())

    with pytest.raises(store.Superseded):
        committed(batches, [write(2, uid, new_event_id())])

    assert connection.execute("SELECT version FROM user_state WHERE uid = %s", (uid,)) == [(1,)]


def test_a_write_that_meets_somebody_elses_numbering_of_purges_waits_and_is_not_refused(
    batches: WriteBatches, connections: list[Connection]
) -> None:
    uid = 6_100_000_230
    # given another DBSvr's INSERT … SELECT, which holds the table's AUTO_INCREMENT from its first row to its last
    connections[2].send(
        b"INSERT INTO cache_purge (uid, generation, version, node, created_ms)"
        b" SELECT %d, 1, 1, 'elsewhere', SLEEP(IF(seq = 1, 0, 1)) FROM seq_1_to_2" % uid
    )
    sleeping = "SELECT 1 FROM information_schema.processlist WHERE state = 'User sleep'"
    eventually(lambda: connections[0].execute(sleeping))

    # when
    purging = DueWrite(Write(1, uid, new_event_id(), CHANGES, False, ["node-1"]), NEVER_MS)
    frames = committed(batches, [purging])
    connections[2].receive()
    eventually(lambda: frames.extend(committed(batches, [])) or 1 in answers_by_number(frames))

    # then
    assert answers_by_number(frames)[1].applied
    assert not any(frame.refused for frame in frames)


def capped(number: int, uid: int, event_id: str, limit: int = 2) -> DueWrite:
    changes = encode(
        [Change(task=1, period="once", op="add", value=1), Change(task=2, period="once", op="complete", caps={"total": limit})]
    )
    return DueWrite(Write(number, uid, event_id, changes, False, []), NEVER_MS)


def answers_by_number(frames: list[Writes]) -> dict[int, WriteAnswer]:
    return {number: decode_write_answer(answer) for frame in frames for number, _, answer in frame.outcomes}


def test_a_write_for_which_a_cap_may_decide_comes_last_with_all_later_ones_of_its_user(
    batches: WriteBatches, connection: Connection
) -> None:
    uid, known = 6_100_000_200, new_event_id()
    due = [write(1, uid, new_event_id()), capped(2, uid, known), write(3, uid, new_event_id()), capped(4, uid, known)]
    due += [capped(number, uid + number, new_event_id()) for number in (5, 6)]

    (frame,) = committed(batches, [*due, write(7, uid + 7, new_event_id())])

    answers = answers_by_number([frame])
    assert [number for number, _, _ in frame.outcomes] == [1, 7, 2, 3, 4, 5, 6]
    assert [answers[number].base_version for number in (1, 2, 3, 4)] == [0, 1, 2, 3]
    assert [answers[number].snapshot.tasks[0].progress for number in (1, 2, 3, 4)] == [1, 2, 3, 3]
    assert [answers[number].applied for number in (3, 4)] == [True, False]
    assert answers[4].results == answers[2].results
    refused = {number: answers[number].results[1].refused for number in (2, 5, 6)}
    assert list(refused.values()).count("capped") == 1
    assert frame.capped == 1
    assert connection.execute("SELECT task_id, period_key, used FROM task_quota") == [(2, "total", 2)]
    (repeated,) = committed(batches, [capped(8, uid, known)])
    assert decode_write_answer(repeated.outcomes[0][2]).results == answers[2].results


def test_who_waits_for_quotas_that_somebody_else_holds_waits_alone(
    batches: WriteBatches, connections: list[Connection], monkeypatch: pytest.MonkeyPatch
) -> None:
    uid, patience_s = 6_100_000_210, 2.0
    monkeypatch.setattr(batches, "_quota_patience_s", patience_s)
    connections[2].execute("SET SESSION idle_transaction_timeout = 0")
    connections[2].execute("BEGIN")
    store.lock_quotas(connections[2], [(2, "total")], 0)

    due = [capped(1, uid, new_event_id()), write(2, uid, new_event_id()), write(3, uid + 1, new_event_id())]
    frames = committed(batches, due)
    assert answers_by_number(frames).keys() == {3}
    began = time.monotonic()
    frames = committed(batches, [write(4, uid + 2, new_event_id()), capped(5, uid + 3, new_event_id())])
    assert answers_by_number(frames).keys() == {4}
    assert time.monotonic() - began < patience_s, "who has waited once in vain does not hold up the others again"

    connections[2].execute("COMMIT")
    frames = []

    def are_done() -> bool:
        frames.extend(committed(batches, []))
        return answers_by_number(frames).keys() == {1, 2, 5}

    eventually(are_done)
    answers = answers_by_number(frames)
    assert (answers[1].base_version, answers[2].base_version) == (0, 1)
    assert connections[2].execute("SELECT used FROM task_quota") == [(2,)]


def test_what_is_done_again_leaves_alone_what_stands_open_until_it_has_its_quotas(
    batches: WriteBatches, stack: PrivateStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A transaction that was refused is done again on its own connection: a BEGIN on another would commit what stands open there."""
    uid, known = 6_100_000_240, new_event_id()
    committed(batches, [write(1, uid, known)])
    frames = list(batches.write([write(2, uid + 1, new_event_id())], time.monotonic()))
    frames += batches.write([write(3, uid, known)], time.monotonic())
    first, second = batches._under_way
    frames += batches._end(first)
    assert batches._under_way == [second]
    monkeypatch.setattr(batches, "_ended", list)  # as if it took longer
    holding = HeldLock(stack.master, "INSERT INTO task_quota (task_id, period_key, used) VALUES (2, 'total', 0)", "tasksys_user")

    frames += batches.write([write(4, uid + 2, new_event_id()), capped(5, uid + 3, new_event_id())], time.monotonic())
    monkeypatch.undo()
    frames += batches.drain()
    holding.release()
    eventually(lambda: frames.extend(committed(batches, [])) or 5 in answers_by_number(frames))

    assert {number: answer.applied for number, answer in answers_by_number(frames).items()} == {2: True, 3: False, 4: True, 5: True}


@pytest.mark.parametrize("is_known", [True, False])
def test_nothing_stands_open_beside_a_slow_commit_while_it_waits_for_quotas(
    batches: WriteBatches, connection: Connection, stack: PrivateStack, is_known: bool
) -> None:
    """The server ends a transaction that idles for so long, and with it the worker's life."""
    uid = 6_100_000_250
    if is_known:
        committed(batches, [write(1, uid + 1, new_event_id())])
    blocking = HeldLock(stack.master, "BACKUP STAGE START", "tasksys_user")
    committing = "SELECT 1 FROM information_schema.processlist WHERE state = 'Waiting for backup lock' AND time_ms > %s"

    def let_go() -> None:
        try:
            eventually(lambda: connection.execute(committing, (IDLE_TRANSACTION_S * 1_500,)), within_s=30)
        finally:
            blocking.release()

    blocking.execute("BACKUP STAGE BLOCK_COMMIT")
    frames = list(batches.write([write(2, uid, new_event_id())], time.monotonic()))
    letting_go = threading.Thread(target=let_go)
    letting_go.start()
    frames += batches.write([capped(3, uid + 1, new_event_id())], time.monotonic())
    letting_go.join()
    frames += batches.drain()

    assert answers_by_number(frames).keys() == {2, 3}


def test_a_user_comes_back_from_the_database_as_he_was_kept_in_memory(batches: WriteBatches, connection: Connection) -> None:
    uid = 6_100_000_220
    rules: dict[str, Any] = {"target": 4, "tiers": ((2, 5), (4, 6)), "revision": 3}
    events = [[Change(task=1, period="once", op="distinct", member=name, **rules)] for name in ("'", "\\", "朋友", "'")]
    events += [[Change(task=1, period="once", op="revert", mode="distinct", member=each, takes_back=True, **rules)] for each in "'\\"]
    for event in events:
        committed(batches, [DueWrite(Write(1, uid, new_event_id(), encode(event), False, []), NEVER_MS)])

    (kept,) = batches._users.take([uid]).values()
    (loaded,) = store.load(connection, "a", [uid]).users.values()

    assert kept == loaded
    record = loaded.tasks[1, "once"]
    assert (record.progress, record.granted, record.taken_back, len(record.members or b"")) == (1, 0, 1, 8)
    rows = connection.execute("SELECT grant_id, version, points, total, revision, state FROM grant_outbox WHERE uid = %s", (uid,))
    assert rows == [(f"{uid}:1:once:1", 2, 5, 5, 3, 0), (f"{uid}:1:once:1~back", 6, -5, 0, 3, 0)]
    assert (kept.points, kept.member_bytes) == (0, 8)

    batches._users.keep([kept])
    (frame,) = committed(batches, [DueWrite(Write(2, uid, new_event_id(), b"", True, []), NEVER_MS)])
    assert decode_write_answer(frame.outcomes[0][2]).snapshot.tasks == []
    assert connection.execute("SELECT COUNT(*) FROM grant_outbox WHERE uid = %s", (uid,)) == [(0,)]
    assert store.load(connection, "a", [uid]).users == batches._users.take([uid])


def test_a_grant_that_is_there_already_is_refused_with_its_write_alone(batches: WriteBatches, connection: Connection) -> None:
    """It cannot be: but should it, neither are others held up, nor is it given twice."""
    uid = 6_100_000_230
    connection.execute(
        "INSERT INTO grant_outbox (grant_id, uid, version, task_id, period_key, tier, points, total, revision, created_ms)"
        " VALUES (%s, %s, 1, 2, 'once', 0, 5, 5, 0, 0)",
        (f"{uid}:2:once:0", uid),
    )
    twice = encode([Change(task=2, period="once", op="complete", points=5)])

    frames = committed(batches, [DueWrite(Write(1, uid, new_event_id(), twice, False, []), NEVER_MS), write(2, uid + 1, new_event_id())])

    assert answers_by_number(frames).keys() == {2}
    assert [(number, code) for frame in frames for number, code, _ in frame.refused] == [(1, "REFUSED")]
