"""DbInterface with two DBSvrs: whom it asks for whom, when it goes to the other, and how it finds back."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from apps.dbsvr.breaker import FAILURES
from apps.dbsvr.db_interface import DbInterface
from tasksys_site.configuration import SECOND_HALF, DBSvr, Instance
from tests.stack.waiting import eventually
from tests.unit.scripted_dbsvr import HANG_UP, SILENCE, ScriptedDBSvr, bulk, snapshot, write_answer
from workers.protocol import BadArgument, MasterDown, NotOwner, Overloaded, Refused, Snapshot, TimedOut, Unreachable

LOW, HIGH = 7, SECOND_HALF + 7
PONG = b"+PONG\r\n"


class Pair(NamedTuple):
    a: ScriptedDBSvr
    b: ScriptedDBSvr
    client: DbInterface


@pytest.fixture
def pair() -> Iterator[Pair]:
    a, b = ScriptedDBSvr(), ScriptedDBSvr()
    a.script = b.script = [PONG]
    instances = {"a": Instance(port=a.port, queue_key=1), "b": Instance(port=b.port, queue_key=11)}
    client = DbInterface(DBSvr(instances=instances), deadline_ms=900)
    yield Pair(a, b, client)
    client.close()
    a.close()
    b.close()


def many(*uids: int) -> bytes:
    return b"*%d\r\n" % len(uids) + b"".join(bulk(snapshot(uid)) for uid in uids)


def asked(dbsvr: ScriptedDBSvr) -> list[bytes]:
    """The commands without the prober's."""
    return [command[0] for command in dbsvr.commands if command[0] != b"PING"]


def test_each_user_is_asked_of_the_dbsvr_that_owns_him(pair: Pair) -> None:
    pair.a.script = [bulk(snapshot(LOW))]
    pair.b.script = [bulk(snapshot(HIGH))]

    assert pair.client.get(LOW, "node-1").uid == LOW
    assert pair.client.get(HIGH, "node-1").uid == HIGH
    assert (len(pair.a.commands), len(pair.b.commands)) == (1, 1)


def test_explain_is_the_owners_to_answer(pair: Pair) -> None:
    pair.b.script = [bulk('{"uid":1}')]

    pair.client.explain(HIGH)

    assert asked(pair.b) == [b"TASK.EXPLAIN"]
    assert not pair.a.commands


def test_when_the_owner_is_gone_the_other_gets_the_same_event_at_once(pair: Pair) -> None:
    pair.a.close()
    pair.b.script = [write_answer(LOW)]

    pair.client.finish(LOW, "node-1", "e-1", [])

    assert pair.b.commands == [[b"TASK.FINISH", b"7", b"node-1", b"e-1", b"[]"]]


def test_an_answer_that_was_lost_is_asked_of_the_other_with_the_same_event(pair: Pair) -> None:
    pair.a.script = [HANG_UP]
    pair.b.script = [write_answer(LOW)]

    pair.client.clear(LOW, "node-1", "e-1")

    assert pair.a.commands == pair.b.commands == [[b"TASK.CLEAR", b"7", b"node-1", b"e-1"]]


def test_an_owner_who_is_silent_costs_a_third_of_the_deadline(pair: Pair) -> None:
    pair.a.script = [SILENCE]
    pair.b.script = [write_answer(LOW)]
    began = time.monotonic()

    pair.client.finish(LOW, "node-1", "e-1", [], deadline_ms=1_500)

    assert 0.45 < time.monotonic() - began < 1.2
    assert asked(pair.b) == [b"TASK.FINISH"]


def test_who_is_asked_last_may_take_all_the_time_that_is_left(pair: Pair) -> None:
    pair.a.close()
    pair.b.script = [SILENCE]
    began = time.monotonic()

    with pytest.raises(TimedOut):
        pair.client.get(LOW, "node-1", deadline_ms=600)

    assert time.monotonic() - began > 0.5
    assert asked(pair.b) == [b"TASK.GET"]


def test_who_is_told_the_owner_asks_him_from_then_on(pair: Pair) -> None:
    pair.a.script = [b"-NOTOWNER low b owns user 7\r\n"]
    pair.b.script = [write_answer(LOW)]

    for number in range(3):
        pair.client.finish(LOW, "node-1", f"e-{number}", [])

    assert (len(asked(pair.a)), len(asked(pair.b))) == (1, 3)


def test_a_read_that_another_dbsvr_owns_is_asked_of_its_home_again(pair: Pair) -> None:
    pair.a.script = [b"-NOTOWNER low b owns user 7\r\n", bulk(snapshot(LOW))]
    pair.b.script = [bulk(snapshot(LOW).replace('"reason":null', '"reason":"not_owner"'))]

    pair.client.get(LOW, "node-1")
    pair.client.get(LOW, "node-1")

    assert (len(asked(pair.a)), len(asked(pair.b))) == (2, 1)


def test_an_answer_of_the_owners_shows_that_he_owns(pair: Pair) -> None:
    pair.a.script = [HANG_UP]
    pair.b.script = [bulk(snapshot(LOW))]

    pair.client.get(LOW, "node-1")
    pair.client.get(LOW, "node-1")

    assert (len(asked(pair.a)), len(asked(pair.b))) == (1, 2)


def test_while_nobody_owns_the_user_both_are_asked_in_turn_until_the_deadline(pair: Pair) -> None:
    pair.a.script = [b"-NOTOWNER low b owns user 7\r\n"]
    pair.b.script = [b"-NOTOWNER low a owns user 7\r\n"]
    began = time.monotonic()

    with pytest.raises(NotOwner):
        pair.client.finish(LOW, "node-1", "e-1", [], deadline_ms=500)

    assert time.monotonic() - began < 1
    assert abs(len(pair.a.commands) - len(pair.b.commands)) <= 1
    assert 4 <= len(pair.a.commands) + len(pair.b.commands) < 60, "with pauses between the rounds"


def test_trouble_that_the_other_cannot_help_with_is_waited_out_at_the_owner(pair: Pair) -> None:
    pair.a.script = [b"-OVERLOADED too much\r\n"]

    with pytest.raises(Overloaded):
        pair.client.finish(LOW, "node-1", "e-1", [], deadline_ms=200)

    assert len(pair.a.commands) > 1
    assert not pair.b.commands


def test_an_owner_that_cannot_see_the_master_is_passed_by_since_the_other_may_see_it(pair: Pair) -> None:
    pair.a.script = [b"-MASTERDOWN away\r\n"]
    pair.b.script = [write_answer(LOW)]

    assert pair.client.finish(LOW, "node-1", "e-1", []).applied
    assert [command[3] for command in (*pair.a.commands, *pair.b.commands)] == [b"e-1", b"e-1"]

    pair.b.script = [b"-MASTERDOWN away\r\n"]
    with pytest.raises(MasterDown):
        pair.client.finish(LOW, "node-1", "e-2", [], deadline_ms=200)


@pytest.mark.parametrize(("line", "error"), [(b"-BADARG no such uid\r\n", BadArgument), (b"-REFUSED too long\r\n", Refused)])
def test_what_is_wrong_is_not_asked_of_the_other(pair: Pair, line: bytes, error: type[Exception]) -> None:
    pair.a.script = [line]

    with pytest.raises(error):
        pair.client.get(LOW, "node-1")

    assert len(pair.a.commands) == 1
    assert not pair.b.commands


@pytest.mark.parametrize("line", [b"-NOTOWNER low a owns user 7\r\n", b"-OVERLOADED too much\r\n", b"-REFUSED too long\r\n"])
def test_a_write_that_may_have_happened_stays_one_whatever_is_said_after(pair: Pair, line: bytes) -> None:
    pair.a.script = [HANG_UP, line]
    pair.b.script = [line]

    with pytest.raises(Exception, match=r"127\.0\.0\.1") as caught:
        pair.client.finish(LOW, "node-1", "e-1", [], deadline_ms=200)

    assert caught.value.outcome_unknown  # type: ignore[attr-defined]


def test_many_are_split_by_owner_and_come_back_in_order(pair: Pair) -> None:
    pair.a.script = [many(1, 2)]
    pair.b.script = [many(HIGH, HIGH + 1)]

    answers = pair.client.get_many([1, HIGH, 2, HIGH + 1], "node-1")

    assert [answer.uid for answer in answers if isinstance(answer, Snapshot)] == [1, HIGH, 2, HIGH + 1]
    assert [len(command) for command in pair.a.commands + pair.b.commands] == [4, 4]


def test_of_many_only_those_of_the_lost_owner_are_asked_of_the_other(pair: Pair) -> None:
    pair.a.close()
    pair.b.script = [many(HIGH), many(1, 2)]

    answers = pair.client.get_many([1, HIGH, 2], "node-1")

    assert [answer.uid for answer in answers if isinstance(answer, Snapshot)] == [1, HIGH, 2]


def test_an_element_of_many_that_nobody_owns_here_is_asked_of_the_other(pair: Pair) -> None:
    pair.a.script = [b"*2\r\n" + bulk(snapshot(1)) + b"-NOTOWNER low b owns user 2\r\n"]
    pair.b.script = [many(2)]

    answers = pair.client.get_many([1, 2], "node-1")

    assert [answer.uid for answer in answers if isinstance(answer, Snapshot)] == [1, 2]


def test_a_dbsvr_that_keeps_failing_is_left_alone_and_found_again_by_its_ping(pair: Pair, caplog: pytest.LogCaptureFixture) -> None:
    pair.a.script = [HANG_UP]
    pair.b.script = [bulk(snapshot(LOW).replace('"reason":null', '"reason":"not_owner"'))]
    for _ in range(FAILURES + 5):
        pair.client.get(LOW, "node-1")
    left_alone = len(asked(pair.a))

    pair.a.script = [PONG]
    eventually(lambda: pair.client._reach("a").is_good)
    pair.a.script = [bulk(snapshot(LOW))]
    pair.client.get(LOW, "node-1")

    assert left_alone == FAILURES
    assert len(asked(pair.a)) == FAILURES + 1
    assert sum(command == [b"PING"] for command in pair.a.commands) >= 3, "it must stay before requests come back"

    def has_said_both_once() -> bool:
        said = [" ".join(it.getMessage().split()[:4]) for it in caplog.records]
        # A prober of an earlier test's client may say its last word here: that an `a` is asked again.
        return said.count("DBSvr a is left") == 1 and "DBSvr a is asked" in said[said.index("DBSvr a is left") :]

    eventually(has_said_both_once)


def test_when_both_are_left_alone_they_are_asked_all_the_same(pair: Pair) -> None:
    pair.a.script = pair.b.script = [HANG_UP]
    for _ in range(FAILURES):
        with pytest.raises((Unreachable, TimedOut)):
            pair.client.get(LOW, "node-1", deadline_ms=300)

    pair.a.script = [bulk(snapshot(LOW))]

    assert pair.client.get(LOW, "node-1").uid == LOW


def test_a_refusal_is_an_answer_and_no_reason_to_leave_the_dbsvr_alone(pair: Pair) -> None:
    pair.a.script = [b"-NOTOWNER low a owns user 7\r\n"]
    pair.b.script = [bulk(snapshot(LOW).replace('"reason":null', '"reason":"not_owner"'))]

    for _ in range(3 * FAILURES):
        pair.client.get(LOW, "node-1")

    assert pair.client._reach("a").is_good


def test_a_wait_too_short_for_an_answer_is_no_reason_to_leave_the_dbsvr_alone(pair: Pair) -> None:
    pair.a.script = pair.b.script = [SILENCE]
    for _ in range(2 * FAILURES):
        with pytest.raises(TimedOut):
            pair.client.get(LOW, "node-1", deadline_ms=20)

    assert pair.client._reach("a").is_good


def test_silence_opens_the_breaker_as_a_lost_connection_does(pair: Pair) -> None:
    pair.a.script = [SILENCE]
    pair.b.script = [bulk(snapshot(LOW).replace('"reason":null', '"reason":"not_owner"'))]
    for _ in range(FAILURES):
        pair.client.get(LOW, "node-1", deadline_ms=300)
    began = time.monotonic()

    pair.client.get(LOW, "node-1", deadline_ms=3_000)

    assert time.monotonic() - began < 0.8, "the silent one was not asked first"


def test_a_forked_child_judges_for_itself_who_can_be_reached(pair: Pair) -> None:
    pair.a.script = [HANG_UP]
    pair.b.script = [bulk(snapshot(LOW).replace('"reason":null', '"reason":"not_owner"'))]
    for _ in range(FAILURES):
        pair.client.get(LOW, "node-1")
    assert not pair.client._reach("a").is_good

    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = 0 if pair.client._reach("a").is_good and pair.client.get(LOW, "node-1").uid == LOW else 1
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)

    assert os.waitstatus_to_exitcode(status) == 0
