"""RESP connections for what every request does, as cheap as Python makes them: one send, one receive, and a pool that is a list.

hiredis packs the commands and parses the answers. redis-py around the same two system calls costs several times what they cost: its pool
(locks, a poll before each use, figures for observers), its commands (events, repeats that are switched off), and two system calls more,
because Python polls before each call on a socket that has a time-out. Here the kernel keeps the time-outs.

Shared by threads: a connection is one thread's while its request is on the way. After whatever went wrong on it, it is closed: nobody can
know what it would say next. What an error means for a request says who asks.
"""

from __future__ import annotations

import contextlib
import math
import select
import socket
import struct
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import hiredis

pack: Callable[[tuple[str | bytes | int, ...]], bytes] = hiredis.pack_command  # type: ignore[assignment]  # its stub means one word
"""The words of one command as they go over the wire."""

LOOK_AFTER_S = 0.1
"""A connection that has rested longer is looked at before it is used: its server may have gone. After a shorter rest it goes unseen, as it
would if it went a moment after the look."""
STEP_S = 0.01
"""Time-outs are rounded up to it, so that most requests find theirs set already."""
BUFFER_BYTES = 64 * 1024


class ErrorLine(Exception):
    """The server has answered `CODE sentence`. That is an answer: the connection stands."""


class Silence(Exception):
    """No whole answer came in time."""


class Garbled(Exception):
    """What came is no RESP."""


class AllInUse(Exception):
    """No connection became free in time; nothing was sent."""


class RespConnection:
    """One open connection. After an OSError, Silence or Garbled it is good for nothing."""

    def __init__(self, sock: socket.socket, owner: object = None) -> None:
        """`owner`: what has to live as long as the socket is used."""
        self.rests_since = 0.0
        self._socket = sock
        self._owner = owner
        self._reader = hiredis.Reader(protocolError=Garbled, replyError=ErrorLine)
        self._buffer = bytearray(BUFFER_BYTES)
        self._steps = 0
        # Under TLS a call reads and writes more than it was asked to: Python's own time-outs stay.
        self._is_plain = type(sock) is socket.socket
        if self._is_plain:
            sock.settimeout(None)

    def ask(self, packed: bytes, until: float) -> Any:
        """The answer to one command. `until`: a moment of time.monotonic(). An ErrorLine is returned, not raised, within an array too."""
        self.send(packed, until)
        return self.receive(until)

    def send(self, packed: bytes, until: float) -> None:
        """The first half of `ask`: something else can be done before the answer is received."""
        self._wait_at_most(until)
        try:
            self._socket.sendall(packed)
        except (BlockingIOError, TimeoutError) as error:
            raise Silence from error

    def receive(self, until: float) -> Any:
        try:
            return self._answer(until)
        except (BlockingIOError, TimeoutError) as error:
            raise Silence from error

    def ask_many(self, packed: Sequence[bytes], until: float) -> list[Any]:
        """The same for commands that travel together. What went wrong half-way stands in the place of each answer that did not come."""
        answers: list[Any] = []
        self._wait_at_most(until)
        try:
            self._socket.sendall(b"".join(packed))
            for _command in packed:
                answers.append(self._answer(until))
        except (BlockingIOError, TimeoutError) as error:
            silence = Silence()
            silence.__cause__ = error
            answers += [silence] * (len(packed) - len(answers))
        except (OSError, Garbled) as error:
            answers += [error] * (len(packed) - len(answers))
        return answers

    def share(self, send_within_s: float) -> None:
        """From here on one thread at a time uses `send_shared`, and another one `receive_all`."""
        self._socket.settimeout(None)
        seconds, rest = divmod(send_within_s, 1)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", 0, 0))
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", int(seconds), int(rest * 1_000_000)))

    def send_shared(self, packed: bytes) -> None:
        self._socket.sendall(packed)

    def receive_all(self) -> list[Any]:
        """What has come, at least one answer, however long that takes. Raises OSError, Garbled."""
        reader, buffer = self._reader, self._buffer
        answers: list[Any] = []
        while not answers:
            count = self._socket.recv_into(buffer)
            if not count:
                raise ConnectionResetError("the server has closed the connection")
            reader.feed(buffer, 0, count)  # type: ignore[arg-type]  # its stub forgets buffers
            while (answer := reader.gets()) is not False:
                answers.append(answer)
        return answers

    @property
    def is_quiet(self) -> bool:
        """Nothing has come while it rested, not even its end."""
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        return not poll.poll(0)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.close()

    def hang_up(self) -> None:
        """Whoever is in `receive_all` hears the end, and closes."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def _answer(self, until: float) -> Any:
        reader, buffer = self._reader, self._buffer
        answer = reader.gets()
        while answer is False:
            count = self._socket.recv_into(buffer)
            if not count:
                raise ConnectionResetError("the server has closed the connection")
            reader.feed(buffer, 0, count)  # type: ignore[arg-type]  # its stub forgets buffers
            answer = reader.gets()
            if answer is False:
                if time.monotonic() >= until:
                    raise TimeoutError
                self._wait_at_most(until)
        return answer

    def _wait_at_most(self, until: float) -> None:
        steps = max(1, math.ceil((until - time.monotonic()) / STEP_S))
        if steps == self._steps:
            return
        self._steps = steps
        if not self._is_plain:
            self._socket.settimeout(steps * STEP_S)
            return
        seconds, rest = divmod(steps, round(1 / STEP_S))
        timeval = struct.pack("ll", seconds, rest * round(1_000_000 * STEP_S))
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, timeval)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, timeval)


class RespPool:
    """At most `most` connections to one server, opened when they are needed; the last that came back goes out first.

    Taking and giving back are one operation of a list each, which needs no lock; only who opens, closes or has to wait takes one.
    """

    def __init__(self, open_one: Callable[[float], RespConnection], most: int) -> None:
        """`open_one` is given until when it may take; what it raises, `ask` raises."""
        self._open_one = open_one
        self._most = most
        self._resting: list[RespConnection] = []
        self._opened = 0
        self._waiting = 0
        self._changed = threading.Condition()

    def ask(self, packed: bytes, until: float) -> Any:
        """Over one of them, as RespConnection.ask. Raises AllInUse too."""
        return self.receive(self.send(packed, until), until)

    def send(self, packed: bytes, until: float) -> RespConnection:
        """The first half of `ask`: on what comes back, `receive` is to be called, once and whatever happens meanwhile."""
        connection = self._take(until)
        try:
            connection.send(packed, until)
        except BaseException:
            self._drop(connection)
            raise
        return connection

    def receive(self, connection: RespConnection, until: float) -> Any:
        try:
            answer = connection.receive(until)
        except BaseException:
            self._drop(connection)
            raise
        # Who refuses may hang up behind it: it is looked at before it is used again.
        self._give_back(connection, is_well=type(answer) is not ErrorLine)
        return answer

    def ask_many(self, packed: Sequence[bytes], until: float) -> list[Any]:
        connection = self._take(until)
        try:
            answers = connection.ask_many(packed, until)
        except BaseException:
            self._drop(connection)
            raise
        if isinstance(answers[-1], OSError | Silence | Garbled):
            self._drop(connection)
        else:
            self._give_back(connection, is_well=type(answers[-1]) is not ErrorLine)
        return answers

    def close(self) -> None:
        """Those that rest."""
        while self._resting:
            self._drop(self._resting.pop())

    def _take(self, until: float) -> RespConnection:
        while True:
            try:
                connection = self._resting.pop()
            except IndexError:
                return self._open_or_wait(until)
            if time.monotonic() - connection.rests_since < LOOK_AFTER_S or connection.is_quiet:
                return connection
            self._drop(connection)

    def _give_back(self, connection: RespConnection, is_well: bool) -> None:
        connection.rests_since = time.monotonic() if is_well else 0.0
        self._resting.append(connection)
        # Who begins to wait looks at the list once more after it has counted itself, so none is missed.
        if self._waiting:
            with self._changed:
                self._changed.notify()

    def _drop(self, connection: RespConnection) -> None:
        connection.close()
        with self._changed:
            self._opened -= 1
            self._changed.notify()

    def _open_or_wait(self, until: float) -> RespConnection:
        with self._changed:
            self._waiting += 1
            try:
                while self._opened >= self._most:
                    if self._resting:
                        with contextlib.suppress(IndexError):  # another thread was quicker
                            return self._resting.pop()
                    if not self._changed.wait(until - time.monotonic()):
                        raise AllInUse
            finally:
                self._waiting -= 1
            self._opened += 1
        try:
            return self._open_one(until)
        except BaseException:
            with self._changed:
                self._opened -= 1
                self._changed.notify()
            raise


def open_tcp(host: str, port: int, until: float) -> RespConnection:
    """Raises OSError."""
    sock = socket.create_connection((host, port), timeout=max(0.001, until - time.monotonic()))
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return RespConnection(sock)
