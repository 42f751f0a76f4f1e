"""Batches of writes on a real master, without a front: what one transaction does, and what it must not."""

from __future__ import annotations

import select
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from deploy.local.private_stack import PrivateStack
from tasksys_site.configuration import Segment
from tests.stack.task_client import new_event_id
from tests.stack.waiting import eventually
from workers import segment_rows, store
from workers.database import Connection, DatabaseGone, StatementRefused
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
def connections(make_stack: Callable[..., PrivateStack]) -> Iterator[list[Connection]]:
    """Three, as the only worker of DBSvr a: its own are stopped."""
    stack = make_stack()
    for process in (stack.master_worker, stack.front):
        process.stop()
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
    return WriteBatches((connections[0], connections[1]), ownership, claim.epoch, claim.timeline.generation, Traffic())


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
    add = WriteTransaction.add
    monkeypatch.setattr(WriteTransaction, "add", lambda self, due, are_new=True: (tried.append(len(due)), add(self, due, are_new))[1])

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


def test_a_transaction_that_waits_for_a_slow_commit_says_what_it_was_refused_for(
    batches: WriteBatches, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is kept alive meanwhile, which finds out that an event of it is known."""
    known, uid = new_event_id(), 6_100_000_500
    committed(batches, [write(1, uid, known)])
    frames = list(batches.write([write(2, uid + 1, new_event_id())], time.monotonic()))
    assert batches._committing is not None
    monkeypatch.setattr(batches, "go_on", lambda: iter(()))  # as if the COMMIT took long
    frames += batches.write([write(3, uid, known), write(4, uid + 2, new_event_id())], time.monotonic())
    assert batches._open is not None
    batches._open.keep_alive()
    monkeypatch.undo()

    frames += batches.drain()

    assert {number: is_new for frame in frames for number, is_new, _ in frame.outcomes} == {2: True, 3: False, 4: True}


@pytest.fixture
def slow_commit(monkeypatch: pytest.MonkeyPatch, batches: WriteBatches) -> Callable[[], None]:
    """While a COMMIT is under way, its end is not seen before this is called."""
    look, is_over = select.select, []

    def see_no_end(readers: list[Any], *rest: Any) -> Any:
        slow = batches._committing.transaction.connection if batches._committing and not is_over else None
        return ([], [], []) if slow in readers else look(readers, *rest)

    monkeypatch.setattr(select, "select", see_no_end)
    return lambda: is_over.append(True)


def one_in_its_commit_and_one_open(batches: WriteBatches, uid: int) -> list[Writes]:
    frames = list(batches.write([write(1, uid, new_event_id())], time.monotonic()))
    frames += batches.write([write(2, uid + 1, new_event_id())], time.monotonic())
    assert batches._open is not None
    eventually(lambda: not batches._open.is_busy)
    return frames


def test_what_has_grown_as_large_as_the_transaction_before_asks_for_its_tick_and_takes_no_more(
    batches: WriteBatches, slow_commit: Callable[[], None], connection: Connection
) -> None:
    uid = 6_100_000_600
    frames = one_in_its_commit_and_one_open(batches, uid)
    assert batches.room

    frames += batches.go_on()
    assert not batches.room
    frames += batches.write([write(3, uid + 2, new_event_id()), write(4, uid + 1, new_event_id())], time.monotonic())
    assert batches._open is not None
    batches._open.keep_alive()
    slow_commit()
    frames += batches.drain()

    ticks = [(frame.tick, [number for number, _, _ in frame.outcomes]) for frame in frames]
    assert ticks == sorted(ticks)
    assert [numbers for _, numbers in ticks][:2] == [[1], [2]]
    assert sorted(number for _, numbers in ticks for number in numbers) == [1, 2, 3, 4]
    rows = connection.execute("SELECT version FROM user_state WHERE uid BETWEEN %s AND %s ORDER BY uid", (uid, uid + 2))
    assert rows == [(1,), (2,), (1,)]


def test_a_superseded_worker_that_asks_for_its_tick_beside_its_commit_gets_none(
    batches: WriteBatches, slow_commit: Callable[[], None], connection: Connection
) -> None:
    uid = 6_100_000_610
    frames = one_in_its_commit_and_one_open(batches, uid)
    store.claim_instance(connection, "a", Known())
    frames += batches.go_on()
    slow_commit()

    with pytest.raises(store.Superseded):
        frames += batches.drain()

    assert connection.execute("SELECT uid FROM user_state WHERE uid BETWEEN %s AND %s", (uid, uid + 1)) == [(uid,)]


def test_a_tick_whose_row_stays_locked_for_long_is_asked_for_once_more(
    batches: WriteBatches, slow_commit: Callable[[], None], connection: Connection
) -> None:
    """As when the disk takes longer for the COMMIT before than a statement waits for a row."""
    uid = 6_100_000_620
    frames = one_in_its_commit_and_one_open(batches, uid)
    connection.execute("SET SESSION idle_transaction_timeout = 0")
    connection.execute("BEGIN")
    connection.execute("SELECT 1 FROM db_info WHERE instance = 'a' FOR UPDATE")
    frames += batches.go_on()
    waiting = batches._open.connection if batches._open is not None else None
    assert waiting is not None
    eventually(lambda: select.select([waiting], [], [], 0)[0], within_s=20)
    connection.execute("COMMIT")
    slow_commit()

    frames += batches.drain()

    assert [[number for number, _, _ in frame.outcomes] for frame in frames] == [[1], [2]]


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


def test_a_superseded_worker_commits_nothing_of_what_it_has_made(
    batches: WriteBatches, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    uid = 6_100_000_090
    committed(batches, [write(1, uid, new_event_id())])
    monkeypatch.setattr(batches, "go_on", lambda: iter(()))  # as if the COMMIT took long
    list(batches.write([write(2, uid + 1, new_event_id())], time.monotonic()))
    list(batches.write([write(3, uid, new_event_id())], time.monotonic()))
    list(batches.settle())
    assert not batches.is_idle
    store.claim_instance(connection, "a", Known())

    with pytest.raises(store.Superseded):
        list(batches.drain())

    assert connection.execute("SELECT version FROM user_state WHERE uid = %s", (uid,)) == [(1,)]


def test_a_refused_commit_ends_the_life_and_no_write_is_told_anything(
    batches: WriteBatches, connections: list[Connection], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> None:
        raise StatementRefused("no such commit")

    list(batches.write([write(1, 6_100_000_100, new_event_id())], time.monotonic()))
    monkeypatch.setattr(connections[0], "receive", refuse)

    with pytest.raises(DatabaseGone):
        list(batches.drain())


def test_a_refused_tick_refuses_no_write(batches: WriteBatches, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*rest: object) -> int:
        raise StatementRefused("no such tick")

    monkeypatch.setattr(store, "take_tick", refuse)

    with pytest.raises(DatabaseGone):
        list(batches.write([write(1, 6_100_000_110, new_event_id())], time.monotonic()))


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
