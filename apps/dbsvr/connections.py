"""Connections to one DBSvr: pooled, shared by threads, and never waited for longer than the request's deadline.

Each wait (for a free connection, for the TCP handshake, for AUTH, for the answer) takes its time-out from what is left of the request.
Errors leave here as the errors of workers.protocol; whether to repeat is decided by DbInterface. `resp` carries the bytes, and repeats
nothing by itself.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from apps.dbsvr.resp import AllInUse, ErrorLine, Garbled, RespConnection, RespPool, Silence, open_tcp, pack
from tasksys_site.configuration import Instance, read_secret
from workers.protocol import DBSvrError, NotAuthenticated, Overloaded, TimedOut, Unreachable, error_from_wire

MAX_CONNECTIONS = 64
"""For each process; a thread holds one only while its request is on the way."""

FAILURES = (OSError, Silence, Garbled, AllInUse)
Command = Sequence[str | bytes | int]


class NoAnswer(TimedOut):
    """Nothing came back in the time that the request was given; not even a TIMEOUT of the DBSvr's own."""


class NoConnection(Overloaded):
    """All connections of this process to the DBSvr are in use; nothing was sent. It says nothing about the DBSvr."""


class Connections:
    """To one DBSvr. A forked child opens its own: the parent's pool may have been locked, or in use, at the fork."""

    def __init__(self, instance: Instance, max_connections: int = MAX_CONNECTIONS, client_name: str = "") -> None:
        """`client_name`: by which the DBSvr knows these connections."""
        self.address = f"{instance.host}:{instance.port}"
        self._instance = instance
        self._max_connections = max_connections
        self._first_words: list[tuple[str, ...]] = []
        if instance.auth_user and instance.auth_secret_file:
            self._first_words.append(("AUTH", instance.auth_user, read_secret(instance.auth_secret_file)))
        if client_name:
            self._first_words.append(("CLIENT", "SETNAME", client_name))
        self._open()

    def _open(self) -> None:
        self._pool = RespPool(self._open_one, self._max_connections)
        self._pid = os.getpid()

    def ask(self, *command: str | bytes | int, until: float) -> Any:
        """Send one command and return its answer. `until` is a moment of time.monotonic().

        In an array an element may be a DBSvrError. Raises the DBSvrError that the DBSvr answered, NoConnection when none
        became free, NoAnswer and Unreachable.
        """
        return self.ask_packed(pack(command), until=until)

    def ask_packed(self, packed: bytes, *, until: float) -> Any:
        if self._pid != os.getpid():
            self._open()
        try:
            answer = self._pool.ask(packed, until)
        except FAILURES as error:
            raise self.translated(error) from error
        if isinstance(answer, ErrorLine):
            raise error_from_wire(str(answer))
        return _with_errors(answer) if isinstance(answer, list) else answer

    def ask_many(self, commands: Sequence[Command], *, until: float) -> list[Any]:
        """Send all of them over one connection, then take their answers, in order. Raises nothing: an answer may be a DBSvrError; after one
        that says that the connection is gone, or silent, all that follow are the same."""
        if self._pid != os.getpid():
            self._open()
        try:
            answers = self._pool.ask_many([pack(tuple(command)) for command in commands], until)
        except (*FAILURES, DBSvrError) as error:
            answers = [error] * len(commands)
        return [self.translated(each) if isinstance(each, FAILURES) else each for each in _with_errors(answers)]

    def close(self) -> None:
        self._pool.close()

    def open_one(self, until: float) -> RespConnection:
        """One beside the pool, for who asks in another way. Raises the same."""
        try:
            return self._open_one(until)
        except FAILURES as error:
            raise self.translated(error) from error

    def _open_one(self, until: float) -> RespConnection:
        connection = open_tcp(self._instance.host, self._instance.port, until)
        try:
            for words in self._first_words:
                answer = connection.ask(pack(words), until)
                if isinstance(answer, ErrorLine):
                    raise self._refused(words[0], str(answer))
        except BaseException:
            connection.close()
            raise
        return connection

    def _refused(self, word: str, line: str) -> DBSvrError:
        error = error_from_wire(line)
        if word == "AUTH" and not error.retryable:
            return NotAuthenticated(f"the DBSvr at {self.address} did not take the configured user and secret")
        return error

    def translated(self, error: Exception) -> DBSvrError:
        match error:
            case Silence() | TimeoutError():
                return NoAnswer(f"no answer from the DBSvr at {self.address} within the deadline")
            case AllInUse():
                return NoConnection(f"all {self._max_connections} connections to the DBSvr at {self.address} are in use; nothing was sent")
            case OSError():
                return Unreachable(f"the DBSvr at {self.address} cannot be reached: {error}")
        return DBSvrError(f"the DBSvr at {self.address} answered what is no RESP: {error}")


def _with_errors(answers: list[Any]) -> list[Any]:
    return [error_from_wire(str(each)) if isinstance(each, ErrorLine) else each for each in answers]
