"""Connections to one DBSvr: pooled, shared by threads, and never waited for longer than the request's deadline.

redis-py underneath, with its own repeats off: it would send a timed-out command again by itself. Each wait (for a free
connection, for the TCP handshake, for AUTH, for the answer) takes its time-out from what is left of the calling thread's request.
Errors leave here as the errors of workers.protocol; whether to repeat is decided by DbInterface.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from typing import Any

import redis
from redis.backoff import NoBackoff
from redis.connection import BlockingConnectionPool, Connection
from redis.retry import Retry

from tasksys_site.configuration import Instance, read_secret
from workers.protocol import DBSvrError, NotAuthenticated, Overloaded, TimedOut, Unreachable, error_from_wire

MAX_CONNECTIONS = 64
"""For each process; a thread holds one only while its request is on the way."""


class NoAnswer(TimedOut):
    """Nothing came back in the time that the request was given; not even a TIMEOUT of the DBSvr's own."""


class NoConnection(Overloaded):
    """All connections of this process to the DBSvr are in use; nothing was sent. It says nothing about the DBSvr."""


class _Deadline(threading.local):
    """Until when the calling thread's request may wait."""

    until = 0.0

    @property
    def left_s(self) -> float:
        # Never zero: to a socket that means "do not block", to a queue "do not wait", and the error would be another one.
        return max(0.001, self.until - time.monotonic())


_deadline = _Deadline()


class _DeadlineConnection(Connection):
    """A connection whose time-outs are what is left of the request."""

    @property  # type: ignore[misc]
    def socket_timeout(self) -> float:
        return _deadline.left_s

    @property  # type: ignore[misc]
    def socket_connect_timeout(self) -> float:
        return _deadline.left_s


class _DeadlinePool(BlockingConnectionPool):
    """A bounded pool in which one waits for a free connection no longer than the request may."""

    @property
    def timeout(self) -> float:
        return _deadline.left_s

    @timeout.setter
    def timeout(self, value: float) -> None:
        """The pool's constructor sets one for all requests; each has its own here."""


class Connections:
    """To one DBSvr. A forked child opens its own: the parent's pool may have been locked, or in use, at the fork."""

    def __init__(self, instance: Instance, max_connections: int = MAX_CONNECTIONS, client_name: str = "") -> None:
        """`client_name`: by which the DBSvr knows these connections."""
        self.address = f"{instance.host}:{instance.port}"
        self._max_connections = max_connections
        self._options: dict[str, Any] = {
            "host": instance.host,
            "port": instance.port,
            "protocol": 2,
            "driver_info": None,
            "retry": Retry(NoBackoff(), 0),
            "decode_responses": False,
        }
        if client_name:
            self._options["client_name"] = client_name
        if instance.auth_user and instance.auth_secret_file:
            self._options |= {"username": instance.auth_user, "password": read_secret(instance.auth_secret_file)}
        self._open()

    def _open(self) -> None:
        # Any: redis-py's pools and connections are only half typed.
        self._pool: Any = _DeadlinePool(  # type: ignore[no-untyped-call]
            connection_class=_DeadlineConnection, max_connections=self._max_connections, **self._options
        )
        self._pid = os.getpid()

    def ask(self, *command: str | bytes | int, until: float) -> Any:
        """Send one command and return its answer. `until` is a moment of time.monotonic().

        In an array an element may be a DBSvrError. Raises the DBSvrError that the DBSvr answered, NoConnection when none
        became free, NoAnswer and Unreachable. A connection of which one cannot know what it will say next is closed.
        """
        if self._pid != os.getpid():
            self._open()
        _deadline.until = until
        try:
            connection = self._pool.get_connection()
        except redis.RedisError as error:
            raise self._translated(error) from error
        try:
            connection.update_current_socket_timeout(_deadline.left_s)
            connection.send_command(*command)
            answer = connection.read_response()
        except redis.RedisError as error:
            raise self._translated(error) from error
        except BaseException:
            # Stopped half-way: the answer would come to the next one who takes this connection.
            connection.disconnect()
            raise
        finally:
            self._pool.release(connection)
        if isinstance(answer, list):
            return [self._translated(element) if isinstance(element, redis.RedisError) else element for element in answer]
        return answer

    def ask_many(self, commands: Sequence[Sequence[str | bytes | int]], *, until: float) -> list[Any]:
        """Send all of them over one connection, then take their answers, in order. Raises nothing: an answer may be a DBSvrError; after one
        that says that the connection is gone, or silent, all that follow are the same."""
        if self._pid != os.getpid():
            self._open()
        _deadline.until = until
        answers: list[Any] = []
        try:
            connection = self._pool.get_connection()
        except redis.RedisError as error:
            return [self._translated(error)] * len(commands)
        try:
            connection.update_current_socket_timeout(_deadline.left_s)
            connection.send_packed_command(connection.pack_commands(commands))
            for _command in commands:
                try:
                    connection.update_current_socket_timeout(_deadline.left_s)
                    answers.append(connection.read_response())
                except redis.ResponseError as error:
                    answers.append(self._translated(error))
        except redis.RedisError as error:
            connection.disconnect()
            answers += [self._translated(error)] * (len(commands) - len(answers))
        except BaseException:
            connection.disconnect()
            raise
        finally:
            self._pool.release(connection)
        return answers

    def close(self) -> None:
        self._pool.disconnect()

    def _translated(self, error: redis.RedisError) -> DBSvrError:
        # redis-py has classes of its own for some codes (NOAUTH, MASTERDOWN) and cuts the code from the message then.
        code = getattr(error, "status_code", None)
        if code:
            return error_from_wire(f"{code} {error}")
        match error:
            case redis.TimeoutError():
                return NoAnswer(f"no answer from the DBSvr at {self.address} within the deadline")
            case redis.AuthenticationError():
                return NotAuthenticated(f"the DBSvr at {self.address} did not take the configured user and secret")
            case redis.ConnectionError() if str(error) == "No connection available.":
                return NoConnection(f"all {self._max_connections} connections to the DBSvr at {self.address} are in use; nothing was sent")
            case redis.ConnectionError():
                return Unreachable(f"the DBSvr at {self.address} cannot be reached: {error}")
            case redis.ResponseError():
                return error_from_wire(str(error))
        return DBSvrError(f"the DBSvr at {self.address} answered what is no RESP: {error}")
