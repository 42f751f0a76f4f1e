"""Who travels with whom, and who waits for whom, against a DBSvr that answers what the test says, when the test says it."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

import hiredis
import pytest

from apps.dbsvr.connections import Connections, NoAnswer, NoConnection
from apps.dbsvr.convoys import Convoy, Convoys, Traveller
from apps.dbsvr.resp import pack
from tasksys_site.configuration import Instance
from tests.stack.waiting import eventually
from workers.protocol import MasterDown, TimedOut, Unreachable

WITHIN_S = 10.0


class AnyOrderDBSvr:
    """What it has been asked, connection by connection; it answers nothing by itself but TASK.ANYORDER."""

    def __init__(self, is_old: bool = False) -> None:
        self.asked: list[list[str]] = []
        """Of each connection, the writes by name, and PASSED."""
        self._greeting = b"-ERR unknown command 'TASK.ANYORDER'\r\n" if is_old else b"*2\r\n:0\r\n+OK\r\n"
        self._open: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self._open.append(connection)
                self.asked.append([])
                threading.Thread(target=self._read, args=(connection, self.asked[-1]), daemon=True).start()

    def _read(self, connection: socket.socket, asked: list[str]) -> None:
        reader = hiredis.Reader()
        with contextlib.suppress(OSError):
            while data := connection.recv(65536):
                reader.feed(data)
                while (command := reader.gets()) is not False:
                    if command == [b"TASK.ANYORDER"]:
                        connection.sendall(self._greeting)
                    else:
                        asked.append(command[-1].decode().removeprefix("TASK."))

    def answer(self, name: str, line: bytes = b"+done\r\n", place: int = -1) -> None:
        """To the newest command of that name on this connection."""
        asked = self.asked[place]
        number = len(asked) - asked[::-1].index(name)
        self._open[place].sendall(b"*2\r\n:%d\r\n%b" % (number, line))

    def hang_up(self) -> None:
        self._open[-1].shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for connection in self._open:
            connection.close()


class Named(Traveller):
    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name


class Notes:
    """The convoys' work: what it was given, by name."""

    def __init__(self) -> None:
        self.prepared: list[list[str]] = []
        self.taken: list[str] = []
        self.taken_alone: list[str] = []
        self.left_out: set[str] = set()
        self.fails: set[str] = set()

    def prepare(self, travellers: Sequence[Named]) -> None:
        self.prepared.append([each.name for each in travellers])
        for each in travellers:
            if each.name in self.fails:
                raise ValueError(each.name)
            if each.name not in self.left_out:
                each.packed = pack(("WRITE", each.name))

    def take(self, answered: Sequence[Named]) -> None:
        self.taken += [each.name for each in answered]
        if any(each.name in self.fails for each in answered):
            raise ValueError("not to be taken")

    def take_alone(self, answered: Named) -> None:
        self.taken_alone.append(answered.name)


@pytest.fixture
def dbsvr() -> Iterator[AnyOrderDBSvr]:
    server = AnyOrderDBSvr()
    yield server
    server.close()


@pytest.fixture
def notes() -> Notes:
    return Notes()


@pytest.fixture
def convoys(dbsvr: AnyOrderDBSvr, notes: Notes) -> Iterator[Convoys]:
    made = Convoys(Connections(Instance(port=dbsvr.port, queue_key=1)), notes)
    yield made
    made.close()


Send = Callable[..., list["Future[object]"]]


@pytest.fixture
def send(convoys: Convoys) -> Iterator[Send]:
    """One thread for each name, in this order; the future is what it was answered."""
    pool = ThreadPoolExecutor(32)

    def go(traveller: Named, within_s: float) -> object:
        by_itself = convoys.set_out(traveller, time.monotonic() + within_s)
        assert by_itself is None, "somebody was under way"
        return traveller.answer

    def make(*names: str, within_s: float = WITHIN_S) -> list[Future[object]]:
        begun = []
        for name in names:
            begun.append(pool.submit(go, Named(name), within_s))
            eventually(lambda name=name: name in known(convoys))  # type: ignore[misc]
        return begun

    yield make
    pool.shutdown(wait=False, cancel_futures=True)


def known(convoys: Convoys) -> list[str]:
    """All who have come, whether they wait or were handed to the convoys' work."""
    notes = convoys._work
    assert isinstance(notes, Notes)
    return [*(name for names in notes.prepared for name in names), *(each.name for each in convoys._waiting if isinstance(each, Named))]


def alone(convoys: Convoys) -> Convoy:
    by_itself = convoys.set_out(Named("alone"), time.monotonic() + WITHIN_S)
    assert by_itself is not None
    return by_itself


def sent(dbsvr: AnyOrderDBSvr, *asked: str) -> None:
    """What the newest connection was asked, in all."""
    eventually(lambda: dbsvr.asked and dbsvr.asked[-1] == list(asked))


def test_who_finds_nobody_under_way_goes_by_himself_each_time(convoys: Convoys, dbsvr: AnyOrderDBSvr) -> None:
    for _ in range(3):
        convoys.end(alone(convoys))

    assert dbsvr.asked == []


def test_who_comes_meanwhile_waits_and_travels_with_all_others_who_came(
    convoys: Convoys, dbsvr: AnyOrderDBSvr, notes: Notes, send: Send
) -> None:
    first = alone(convoys)
    (a,) = send("a")  # as many as travel in the one before
    others = send("b", "c", "d")
    sent(dbsvr, "a", "PASSED")

    convoys.end(first)
    sent(dbsvr, "a", "PASSED", "b", "c", "d", "PASSED")
    for name in "acdb":
        dbsvr.answer(name)

    assert [each.result(WITHIN_S) for each in (a, *others)] == [b"done"] * 4
    assert notes.prepared == [["a"], ["b", "c", "d"]]


def test_who_is_stuck_holds_up_nobody_who_travelled_with_him_nor_who_comes_after(
    convoys: Convoys, dbsvr: AnyOrderDBSvr, send: Send
) -> None:
    first = alone(convoys)
    send("a")
    stuck, b, c = send("stuck", "b", "c")
    convoys.end(first)
    sent(dbsvr, "a", "PASSED", "stuck", "b", "c", "PASSED")
    dbsvr.answer("b")

    assert b.result(WITHIN_S) == b"done"
    alone(convoys)  # nobody counts as under way
    (d,) = send("d")
    eventually(lambda: "d" in dbsvr.asked[-1])
    for name in "cd":
        dbsvr.answer(name)

    assert [each.result(WITHIN_S) for each in (c, d)] == [b"done"] * 2
    assert not stuck.done()


def test_a_convoy_in_which_all_are_stuck_holds_up_nobody_once_it_is_passed(convoys: Convoys, dbsvr: AnyOrderDBSvr, send: Send) -> None:
    alone(convoys)  # who is stuck, too
    send("stuck")
    (b,) = send("b")
    sent(dbsvr, "stuck", "PASSED")

    dbsvr.answer("PASSED")
    sent(dbsvr, "stuck", "PASSED", "b", "PASSED")
    dbsvr.answer("b")

    assert b.result(WITHIN_S) == b"done"


def test_as_many_as_travel_in_the_one_before_need_not_wait_for_it(convoys: Convoys, dbsvr: AnyOrderDBSvr, send: Send) -> None:
    first = alone(convoys)
    (a,) = send("a")
    send("b", "c")
    convoys.end(first)
    sent(dbsvr, "a", "PASSED", "b", "c", "PASSED")
    dbsvr.answer("a")
    assert a.result(WITHIN_S) == b"done"

    send("d")
    assert "d" not in dbsvr.asked[-1]
    send("e")

    sent(dbsvr, "a", "PASSED", "b", "c", "PASSED", "d", "e", "PASSED")


def test_what_the_dbsvr_refuses_is_its_askers_alone(convoys: Convoys, dbsvr: AnyOrderDBSvr, send: Send) -> None:
    first = alone(convoys)
    send("a")
    b, c = send("b", "c")
    convoys.end(first)
    eventually(lambda: dbsvr.asked and "c" in dbsvr.asked[-1])
    dbsvr.answer("b", b"-MASTERDOWN away\r\n")
    dbsvr.answer("c")

    assert isinstance(b.result(WITHIN_S), MasterDown)
    assert c.result(WITHIN_S) == b"done"


def test_who_is_not_to_be_sent_comes_back_at_once_and_the_next_set_out(
    convoys: Convoys, dbsvr: AnyOrderDBSvr, notes: Notes, send: Send
) -> None:
    notes.left_out = {"a"}
    alone(convoys)

    (a,) = send("a")
    send("b")

    assert a.result(WITHIN_S) is None
    sent(dbsvr, "b", "PASSED")


def test_work_that_fails_sends_nobody_and_they_go_by_themselves(convoys: Convoys, dbsvr: AnyOrderDBSvr, notes: Notes, send: Send) -> None:
    notes.fails = {"a"}
    alone(convoys)

    (a,) = send("a")
    send("b")

    assert a.result(WITHIN_S) is None
    sent(dbsvr, "b", "PASSED")


def test_answers_that_could_not_be_taken_are_unknown_and_the_next_set_out(
    convoys: Convoys, dbsvr: AnyOrderDBSvr, notes: Notes, send: Send
) -> None:
    alone(convoys)
    (a,) = send("a")
    (b,) = send("b")
    sent(dbsvr, "a", "PASSED")
    notes.fails = {"a"}

    dbsvr.answer("a")

    answer = a.result(WITHIN_S)
    assert isinstance(answer, TimedOut)
    assert answer.outcome_unknown
    eventually(lambda: dbsvr.asked and "b" in dbsvr.asked[-1])
    dbsvr.answer("b")
    assert b.result(WITHIN_S) == b"done"


def test_a_lost_connection_is_heard_by_all_who_were_under_way_and_the_others_take_another(
    convoys: Convoys, dbsvr: AnyOrderDBSvr, send: Send
) -> None:
    alone(convoys)
    (a,) = send("a")
    (b,) = send("b")
    sent(dbsvr, "a", "PASSED")

    dbsvr.hang_up()

    answer = a.result(WITHIN_S)
    assert isinstance(answer, Unreachable)
    eventually(lambda: len(dbsvr.asked) == 2)
    sent(dbsvr, "b", "PASSED")
    dbsvr.answer("b")
    assert b.result(WITHIN_S) == b"done"


def test_a_dbsvr_that_says_nothing_is_given_up_at_the_deadline_and_asked_over_another_connection(
    convoys: Convoys, dbsvr: AnyOrderDBSvr, send: Send
) -> None:
    alone(convoys)
    (a,) = send("a", within_s=0.2)
    (b,) = send("b")

    with pytest.raises(NoAnswer):
        a.result(WITHIN_S)

    eventually(lambda: len(dbsvr.asked) == 2)
    sent(dbsvr, "b", "PASSED")
    dbsvr.answer("b")
    assert b.result(WITHIN_S) == b"done"


def test_who_gives_up_before_he_was_sent_has_done_nothing(convoys: Convoys, dbsvr: AnyOrderDBSvr, send: Send) -> None:
    alone(convoys)
    send("a")
    (b,) = send("b", within_s=0.2)

    with pytest.raises(NoConnection):
        b.result(WITHIN_S)

    sent(dbsvr, "a", "PASSED")


def test_an_answer_for_which_nobody_waits_any_more_is_taken_all_the_same(
    convoys: Convoys, dbsvr: AnyOrderDBSvr, notes: Notes, send: Send
) -> None:
    first = alone(convoys)
    send("a")
    slow = send("slow", within_s=1.0)[0]
    (b,) = send("b")
    convoys.end(first)
    eventually(lambda: dbsvr.asked and "b" in dbsvr.asked[-1])
    dbsvr.answer("b")  # so the connection is well
    assert b.result(WITHIN_S) == b"done"
    with pytest.raises(NoAnswer):
        slow.result(WITHIN_S)

    dbsvr.answer("slow")

    eventually(lambda: notes.taken_alone == ["slow"])
    assert "slow" in notes.taken
    assert len(dbsvr.asked) == 1


def test_a_dbsvr_of_an_older_version_is_asked_by_each_for_himself(notes: Notes) -> None:
    old = AnyOrderDBSvr(is_old=True)
    convoys = Convoys(Connections(Instance(port=old.port, queue_key=1)), notes)
    alone(convoys)
    a = Named("a")

    assert convoys.set_out(a, time.monotonic() + WITHIN_S) is None
    assert isinstance(a.answer, NoConnection)
    assert convoys.set_out(Named("b"), time.monotonic() + WITHIN_S) is not None
    assert convoys.set_out(Named("c"), time.monotonic() + WITHIN_S) is not None
    old.close()
