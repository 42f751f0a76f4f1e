"""RESP connections of our own against a server that says exactly what the test tells it."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator

import pytest

from apps.dbsvr import resp
from apps.dbsvr.resp import AllInUse, ErrorLine, Garbled, RespConnection, RespPool, Silence, open_tcp, pack
from tests.stack.waiting import eventually
from tests.unit.scripted_dbsvr import HANG_UP, SILENCE, ScriptedDBSvr, bulk

PING = pack(("PING",))


def soon(within_s: float = 3.0) -> float:
    return time.monotonic() + within_s


@pytest.fixture
def server() -> Iterator[ScriptedDBSvr]:
    made = ScriptedDBSvr()
    yield made
    made.close()


def pool_to(server: ScriptedDBSvr, most: int = 8) -> RespPool:
    return RespPool(lambda until: open_tcp("127.0.0.1", server.port, until), most)


def test_requests_one_after_another_share_a_connection(server: ScriptedDBSvr) -> None:
    server.script = [b"+PONG\r\n"]
    pool = pool_to(server)

    assert [pool.ask(PING, soon()) for _ in range(3)] == [b"PONG"] * 3
    assert server.accepted == 1


def test_what_is_asked_between_sending_and_receiving_goes_over_another_connection(server: ScriptedDBSvr) -> None:
    server.script = [b"+FIRST\r\n", b"+SECOND\r\n", b"+THIRD\r\n"]
    pool = pool_to(server)

    begun = pool.send(PING, soon())
    eventually(lambda: not begun.is_quiet)  # its answer has come, and waits
    second = pool.ask(PING, soon())

    assert (pool.receive(begun, soon()), second) == (b"FIRST", b"SECOND")
    assert pool.ask(PING, soon()) == b"THIRD"
    assert server.accepted == 2


def test_who_receives_too_late_throws_the_connection_away(server: ScriptedDBSvr) -> None:
    server.script = [SILENCE, b"+PONG\r\n"]
    pool = pool_to(server, most=1)
    begun = pool.send(PING, soon(0.05))

    with pytest.raises(Silence):
        pool.receive(begun, soon(0.05))

    assert pool.ask(PING, soon()) == b"PONG"
    assert server.accepted == 2


def test_an_answer_larger_than_the_buffer_comes_whole(server: ScriptedDBSvr) -> None:
    text = "x" * (3 * resp.BUFFER_BYTES + 1)
    server.script = [bulk(text)]

    assert pool_to(server).ask(PING, soon()) == text.encode()


def test_an_error_line_is_an_answer_within_an_array_too_and_the_connection_stands(server: ScriptedDBSvr) -> None:
    server.script = [b"-BADARG no\r\n", b"*2\r\n:0\r\n-OVERLOADED later\r\n"]
    pool = pool_to(server)

    alone, (zero, within) = pool.ask(PING, soon()), pool.ask(PING, soon())

    assert (str(alone), zero, str(within)) == ("BADARG no", 0, "OVERLOADED later")
    assert isinstance(alone, ErrorLine)
    assert isinstance(within, ErrorLine)
    assert server.accepted == 1


def test_who_does_not_answer_is_waited_for_until_the_deadline_and_his_late_answer_reaches_nobody(server: ScriptedDBSvr) -> None:
    server.script = [SILENCE, b"+second\r\n"]
    pool, began = pool_to(server), time.monotonic()

    with pytest.raises(Silence):
        pool.ask(PING, soon(0.2))

    assert 0.15 < time.monotonic() - began < 2
    assert pool.ask(PING, soon()) == b"second"
    assert server.accepted == 2


def test_an_answer_that_trickles_in_does_not_stretch_the_deadline() -> None:
    ours, theirs = socket.socketpair()
    stop = threading.Event()

    def trickle() -> None:
        theirs.sendall(b"$100000\r\n")
        while not stop.wait(0.02):
            theirs.sendall(b"x")

    thread = threading.Thread(target=trickle)
    thread.start()
    began = time.monotonic()
    try:
        with pytest.raises(Silence):
            RespConnection(ours).ask(PING, soon(0.3))
        assert time.monotonic() - began < 2
    finally:
        stop.set()
        thread.join()
        ours.close()
        theirs.close()


def test_each_request_has_its_own_deadline(server: ScriptedDBSvr) -> None:
    server.script = [b"+PONG\r\n", SILENCE]
    pool = pool_to(server)
    pool.ask(PING, soon(30))
    began = time.monotonic()

    with pytest.raises(Silence):
        pool.ask(PING, soon(0.1))

    assert time.monotonic() - began < 2


def test_a_connection_whose_server_went_while_it_rested_is_not_used_again(server: ScriptedDBSvr, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resp, "LOOK_AFTER_S", 0.0)  # a rest of any length is long enough to be looked at
    server.script = [b"+PONG\r\n"]
    pool = pool_to(server)
    pool.ask(PING, soon())
    (resting,) = pool._resting
    server._open[0].shutdown(socket.SHUT_RDWR)
    eventually(lambda: not resting.is_quiet)

    assert pool.ask(PING, soon()) == b"PONG"
    assert server.accepted == 2


def test_a_server_that_refuses_and_hangs_up_is_found_out_by_the_next_request(server: ScriptedDBSvr) -> None:
    server.script = [b"-OVERLOADED too many connections\r\n"]
    pool = pool_to(server)
    pool.ask(PING, soon())
    (resting,) = pool._resting
    server._open[0].shutdown(socket.SHUT_RDWR)
    eventually(lambda: not resting.is_quiet)

    server.script = [b"+PONG\r\n"]

    assert pool.ask(PING, soon()) == b"PONG"


@pytest.mark.parametrize(("line", "error"), [(HANG_UP, ConnectionResetError), (b"!nonsense\r\n", Garbled)])
def test_after_what_is_no_answer_the_connection_is_thrown_away(server: ScriptedDBSvr, line: bytes, error: type[Exception]) -> None:
    server.script = [line, b"+PONG\r\n"]
    pool = pool_to(server)

    with pytest.raises(error):
        pool.ask(PING, soon())

    assert pool.ask(PING, soon()) == b"PONG"
    assert server.accepted == 2


def test_of_many_commands_those_before_the_cut_have_their_answers(server: ScriptedDBSvr) -> None:
    server.script = [b"+first\r\n", b"-BADARG second\r\n", HANG_UP]

    first, second, third, fourth = pool_to(server).ask_many([PING] * 4, soon())

    assert (first, str(second)) == (b"first", "BADARG second")
    assert isinstance(third, ConnectionResetError)
    assert isinstance(fourth, ConnectionResetError)


def test_who_finds_all_in_use_waits_for_one_and_hears_so_when_none_comes(server: ScriptedDBSvr) -> None:
    server.script = [SILENCE, b"+PONG\r\n"]
    pool = pool_to(server, most=1)

    def wait_in_vain() -> None:
        with pytest.raises(Silence):
            pool.ask(PING, soon(0.5))

    slow = threading.Thread(target=wait_in_vain)
    slow.start()
    eventually(lambda: server.commands)

    with pytest.raises(AllInUse):
        pool.ask(PING, soon(0.05))
    assert pool.ask(PING, soon()) == b"PONG", "the slow one's place became free"
    slow.join()


def test_many_threads_use_no_more_connections_than_there_may_be(server: ScriptedDBSvr) -> None:
    server.script = [b"+PONG\r\n"]
    pool = pool_to(server, most=3)
    answers: list[object] = []
    threads = [threading.Thread(target=lambda: answers.extend(pool.ask(PING, soon(10)) for _ in range(50))) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert answers == [b"PONG"] * 600
    assert server.accepted <= 3


def test_a_server_that_is_not_there_takes_no_place_in_the_pool(server: ScriptedDBSvr) -> None:
    pool = pool_to(server, most=1)
    server.close()

    for _ in range(3):
        with pytest.raises(OSError, match="refused"):
            pool.ask(PING, soon(0.5))
