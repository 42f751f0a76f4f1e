"""DbInterface against a DBSvr that says exactly what the test tells it: when it repeats, what it repeats, when it gives up."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator

import pytest

from apps.dbsvr.db_interface import DbInterface, Write
from tasksys_site.configuration import DBSvr, Instance
from tests.unit.scripted_dbsvr import HANG_UP, SILENCE, ScriptedDBSvr, bulk, snapshot, write_answer
from workers.protocol import (
    BadArgument,
    Change,
    DBSvrError,
    MasterDown,
    NotAuthenticated,
    OldRules,
    Overloaded,
    Snapshot,
    TimedOut,
    Unreachable,
    WriteAnswer,
)


@pytest.fixture
def dbsvr() -> Iterator[ScriptedDBSvr]:
    server = ScriptedDBSvr()
    yield server
    server.close()


@pytest.fixture
def client(dbsvr: ScriptedDBSvr) -> Iterator[DbInterface]:
    interface = DbInterface(DBSvr(instances={"a": Instance(port=dbsvr.port, queue_key=1)}), deadline_ms=4_000)
    yield interface
    interface.close()


def test_a_read_returns_the_snapshot_and_names_the_asking_node(dbsvr: ScriptedDBSvr, client: DbInterface) -> None:
    dbsvr.script = [bulk(snapshot(7, version=3))]

    answer = client.get(7, "node-1")

    assert (answer.uid, answer.version, answer.served_by, answer.storable) == (7, 3, "r1", True)
    assert dbsvr.commands == [[b"TASK.GET", b"7", b"node-1"]]


def test_an_overloaded_write_is_sent_again_with_the_same_event_id(dbsvr: ScriptedDBSvr, client: DbInterface) -> None:
    dbsvr.script = [b"-OVERLOADED too much, retry after 30 ms\r\n", b"-MASTERDOWN the master is away\r\n", write_answer(7)]
    began = time.monotonic()

    answer = client.finish(7, "node-1", "e-1", [Change(task=1, period="once", op="complete")])

    assert answer.applied
    assert [command[3] for command in dbsvr.commands] == [b"e-1", b"e-1", b"e-1"]
    assert dbsvr.commands[0] == dbsvr.commands[2]
    assert time.monotonic() - began >= 0.030, "the DBSvr's own word for when to come back is respected"


def test_what_is_wrong_once_is_not_sent_again(dbsvr: ScriptedDBSvr, client: DbInterface) -> None:
    dbsvr.script = [b"-BADARG uid must be in 1 ... 2^63-1, not 0\r\n"]

    with pytest.raises(BadArgument, match="uid must be in"):
        client.get(0, "node-1")

    assert len(dbsvr.commands) == 1


def test_a_wait_longer_than_the_deadline_is_not_begun(dbsvr: ScriptedDBSvr, client: DbInterface) -> None:
    dbsvr.script = [b"-OVERLOADED too much, retry after 5000 ms\r\n"]
    began = time.monotonic()

    with pytest.raises(Overloaded) as caught:
        client.get(7, "node-1")

    assert time.monotonic() - began < 2
    assert caught.value.retry_after_ms == 5000


def test_silence_ends_at_the_deadline_and_the_write_was_sent_once(dbsvr: ScriptedDBSvr, client: DbInterface) -> None:
    dbsvr.script = [SILENCE]
    began = time.monotonic()

    with pytest.raises(TimedOut) as caught:
        client.finish(7, "node-1", "e-1", [], deadline_ms=200)

    assert 0.15 < time.monotonic() - began < 2
    assert caught.value.outcome_unknown
    assert len(dbsvr.commands) == 1, "redis-py does not repeat behind our back"


def test_the_answer_of_a_timed_out_request_never_reaches_the_next_one(dbsvr: ScriptedDBSvr, client: DbInterface) -> None:
    dbsvr.script = [SILENCE, bulk(snapshot(8))]
    with pytest.raises(TimedOut):
        client.get(7, "node-1", deadline_ms=100)

    assert client.get(8, "node-1").uid == 8
    assert dbsvr.accepted == 2, "the uncertain connection was thrown away"


def test_a_connection_cut_in_the_middle_is_replaced_and_the_request_repeated(dbsvr: ScriptedDBSvr, client: DbInterface) -> None:
    dbsvr.script = [HANG_UP, bulk(snapshot(7))]

    assert client.get(7, "node-1").uid == 7
    assert dbsvr.accepted == 2


def test_a_dbsvr_that_is_not_there_is_unreachable(dbsvr: ScriptedDBSvr, client: DbInterface) -> None:
    dbsvr.close()

    with pytest.raises(Unreachable, match=r"127\.0\.0\.1"):
        client.get(7, "node-1", deadline_ms=100)


def test_codes_that_redis_py_has_classes_for_are_ours_all_the_same(dbsvr: ScriptedDBSvr, client: DbInterface) -> None:
    dbsvr.script = [b"-NOAUTH authenticate first\r\n"]
    with pytest.raises(NotAuthenticated):
        client.get(7, "node-1")

    dbsvr.script = [b"-MASTERDOWN the master does not answer, retry after 9000 ms\r\n"]
    with pytest.raises(MasterDown) as caught:
        client.get(7, "node-1")
    assert caught.value.retry_after_ms == 9000


def test_many_are_asked_in_batches_and_come_back_in_order(dbsvr: ScriptedDBSvr, client: DbInterface) -> None:
    uids = list(range(1, 1101))
    dbsvr.script = [
        b"*%d\r\n" % len(batch) + b"".join(bulk(snapshot(uid)) for uid in batch) for batch in (uids[:500], uids[500:1000], uids[1000:])
    ]

    answers = client.get_many(uids, "node-1")

    assert [answer.uid for answer in answers if isinstance(answer, Snapshot)] == uids
    assert [len(command) - 2 for command in dbsvr.commands] == [500, 500, 100]


def test_only_the_users_whose_read_may_be_repeated_are_asked_again(dbsvr: ScriptedDBSvr, client: DbInterface) -> None:
    dbsvr.script = [
        b"*4\r\n" + bulk(snapshot(1)) + b"-OVERLOADED retry after 5 ms\r\n" + b"-BADARG no such uid\r\n" + b"-NOAUTH no\r\n",
        b"*1\r\n" + bulk(snapshot(2)),
    ]

    answers = client.get_many([1, 2, 3, 4], "node-1")

    assert [answer.uid for answer in answers if isinstance(answer, Snapshot)] == [1, 2]
    assert isinstance(answers[2], BadArgument)
    assert isinstance(answers[3], NotAuthenticated)
    assert dbsvr.commands[1] == [b"TASK.MGET", b"node-1", b"2"]


def test_many_from_a_dead_dbsvr_are_as_many_errors(dbsvr: ScriptedDBSvr, client: DbInterface) -> None:
    dbsvr.close()

    answers = client.get_many([1, 2], "node-1", deadline_ms=100)

    assert [type(answer) for answer in answers] == [Unreachable, Unreachable]


def write(uid: int, event_id: str = "e") -> Write:
    return Write(uid, "node-1", event_id, [Change(task=1, period="once", op="complete")])


def sent(dbsvr: ScriptedDBSvr) -> list[tuple[int, str]]:
    return [(int(command[1]), command[3].decode()) for command in dbsvr.commands]


def test_many_writes_share_a_connection_and_are_answered_in_order(dbsvr: ScriptedDBSvr, client: DbInterface) -> None:
    uids = list(range(1, 251))
    dbsvr.script = [write_answer(uid) for uid in uids]

    answers = client.finish_many([write(uid) for uid in uids], deadline_ms=5000)

    assert [answer.snapshot.uid for answer in answers if isinstance(answer, WriteAnswer)] == uids
    assert dbsvr.accepted == 1


def test_of_many_writes_only_those_are_sent_again_that_may_be_and_with_their_event_id(dbsvr: ScriptedDBSvr, client: DbInterface) -> None:
    dbsvr.script = [
        write_answer(1),
        b"-OVERLOADED retry after 5 ms\r\n",
        b"-OLDRULES 44 is the revision\r\n",
        b"-MASTERDOWN away\r\n",
        write_answer(2),
        write_answer(4),
    ]

    answers = client.finish_many([write(1, "a"), write(2, "b"), write(3, "c"), write(4, "d")])

    assert [answer.snapshot.uid for answer in answers if isinstance(answer, WriteAnswer)] == [1, 2, 4]
    assert isinstance(answers[2], OldRules)
    assert sent(dbsvr) == [(1, "a"), (2, "b"), (3, "c"), (4, "d"), (2, "b"), (4, "d")]


def test_writes_of_one_user_are_sent_in_order_each_when_the_one_before_has_its_answer(dbsvr: ScriptedDBSvr, client: DbInterface) -> None:
    dbsvr.script = [b"-OVERLOADED retry after 5 ms\r\n", write_answer(2), write_answer(1), write_answer(1)]

    client.finish_many([write(1, "a"), write(1, "b"), write(2, "c")])

    assert sent(dbsvr) == [(1, "a"), (2, "c"), (1, "a"), (1, "b")]


def test_a_connection_cut_among_many_writes_leaves_the_rest_unknown_until_they_are_repeated(
    dbsvr: ScriptedDBSvr, client: DbInterface
) -> None:
    dbsvr.script = [write_answer(1), HANG_UP, write_answer(2), write_answer(3)]

    answers = client.finish_many([write(1), write(2), write(3)])

    assert [answer.snapshot.uid for answer in answers if isinstance(answer, WriteAnswer)] == [1, 2, 3]
    assert dbsvr.accepted == 2


def test_of_a_write_that_may_have_happened_nobody_hears_that_it_did_not(dbsvr: ScriptedDBSvr, client: DbInterface) -> None:
    dbsvr.script = [HANG_UP, b"-OVERLOADED retry after 60000 ms\r\n"]

    (answer,) = client.finish_many([write(1)])

    assert isinstance(answer, Unreachable)
    assert answer.outcome_unknown


def test_many_writes_to_a_dead_dbsvr_are_as_many_errors(dbsvr: ScriptedDBSvr, client: DbInterface) -> None:
    dbsvr.close()

    answers = client.finish_many([write(1), write(2), write(1)], deadline_ms=100)

    assert [answer.retryable for answer in answers if isinstance(answer, DBSvrError)] == [True] * 3


@pytest.mark.parametrize("answer", [b"+PONG\r\n", b":1\r\n", b"$-1\r\n", b"$2\r\n{}\r\n", b"$4\r\nnull\r\n", b"!!!garbage\r\n"])
def test_another_server_on_the_port_is_an_error_that_says_so(dbsvr: ScriptedDBSvr, client: DbInterface, answer: bytes) -> None:
    dbsvr.script = [answer]

    with pytest.raises(DBSvrError):
        client.get(7, "node-1", deadline_ms=100)


def test_more_threads_than_connections_wait_for_their_turn(dbsvr: ScriptedDBSvr, client: DbInterface) -> None:
    dbsvr.script = [bulk(snapshot(7))]
    failed: list[Exception] = []

    def ask() -> None:
        try:
            for _ in range(5):
                client.get(7, "node-1", deadline_ms=5000)
        except DBSvrError as error:
            failed.append(error)

    threads = [threading.Thread(target=ask) for _ in range(100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert not failed
    assert len(dbsvr.commands) == 500
    assert dbsvr.accepted <= 64


def test_a_forked_child_opens_its_own_connections(dbsvr: ScriptedDBSvr, client: DbInterface) -> None:
    dbsvr.script = [bulk(snapshot(7))]
    client.get(7, "node-1")

    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = 0 if client.get(7, "node-1").uid == 7 else 1
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)

    assert os.waitstatus_to_exitcode(status) == 0
    assert dbsvr.accepted == 2
    assert client.get(7, "node-1").uid == 7, "the parent's connection still works"
    assert dbsvr.accepted == 2
