"""A client's connection: RESP in, replies in order out, or in any order where the client has asked for that.

Replies are held per connection until their turn comes, since RESP answers in the order of asking. A connection in any order
(TASK.ANYORDER) gets each reply when it is there, with the number of its request. Everything a client can
make us hold is bounded: an unfinished request, replies not read, requests without an answer. Garbage ends its own
connection and nothing else.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections import deque
from typing import TYPE_CHECKING, cast

import hiredis

from workers.protocol import MAX_CHANGES_BYTES, BadArgument, DBSvrError
from workers.requests import Gather, Later, Request

if TYPE_CHECKING:
    from workers.commands import Commands

MAX_REQUEST_BYTES = MAX_CHANGES_BYTES + 64 * 1024
MAX_PENDING = 20_000
# The parser allots an array's room when it has read the array's head, so a head that promises too much is refused before.
_HUGE_ARRAY = re.compile(rb"\n[*%~>]\d{5}")
_LINE_END = b"\n"
_ONLY_BYTES = {bytes}
_CARRY = 8
MAX_PENDING_IN_ANY_ORDER = 2_000
"""All of them are looked at whenever one is answered."""
LARGE = 64 * 1024
"""Answers from this size on are written by themselves."""


class Client(asyncio.Protocol):
    """One connection. `pending` holds replies to come, `writes` this connection's undecided writes by uid."""

    def __init__(self, commands: Commands, max_output_bytes: int) -> None:
        self._commands = commands
        self._max_output_bytes = max_output_bytes
        self._reader = hiredis.Reader()
        self._unfinished_bytes = 0
        self._tail = _LINE_END
        self._transport: asyncio.Transport | None = None
        self.pending: deque[bytes | Request | Gather | Later] = deque()
        self.writes: dict[int, Request] = {}
        self.protocol = 2
        self.is_authenticated = not commands.needs_auth
        self.name = b""
        self.peer = ""
        """The name of the DBSvr whose front this is; what comes from there is never forwarded."""
        self.client_id = 0
        self._unanswered: dict[int, bytes | Request | Gather | Later] | None = None
        """In any order: the replies to come, by the numbers of their requests."""
        self._number = 0
        self._leaving = False
        self.is_gone = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(high=self._max_output_bytes)
        if not self._commands.admit(self):
            self._transport.write(b"-OVERLOADED too many connections, retry after 1000 ms\r\n")
            self._transport.close()

    def connection_lost(self, error: Exception | None) -> None:
        self._transport = None
        self.is_gone = True
        self.pending.clear()
        self._unanswered = None
        self._commands.dismiss(self)

    def eof_received(self) -> bool:
        """The client has closed its half, and may still read: what it asked for is owed. False closes at once."""
        self.leave()
        return self._owes

    def pause_writing(self) -> None:
        """The output bound is passed: this client does not read."""
        self.cut("it does not read its answers")

    def data_received(self, data: bytes) -> None:
        reader = self._reader
        seen = self._tail + data
        if _HUGE_ARRAY.search(seen):
            self._refuse(b"-TOOBIG an array of so many elements is no request\r\n")
            return
        self._unfinished_bytes += len(data)
        now = time.monotonic()
        try:
            reader.feed(data)
            while (request := reader.gets()) is not False:
                self._unfinished_bytes = 0
                self._obey(request, now)
        except hiredis.ProtocolError:
            self._refuse(b"-ERR Protocol error: a request is a RESP array of bulk strings\r\n")
            return
        self._tail = data[-_CARRY:] if reader.has_data() else _LINE_END
        if self._unfinished_bytes > MAX_REQUEST_BYTES:
            self._refuse(b"-TOOBIG a request has at most %d bytes\r\n" % MAX_REQUEST_BYTES)
            return
        self.flush()
        if len(self.pending) > MAX_PENDING or (self._unanswered is not None and len(self._unanswered) > MAX_PENDING_IN_ANY_ORDER):
            self.cut("too many requests without having read an answer")

    def _obey(self, request: object, now: float) -> None:
        if self._leaving:
            return
        if not isinstance(request, list) or set(map(type, request)) != _ONLY_BYTES:
            raise hiredis.ProtocolError("not an array of bulk strings")
        try:
            self._commands.obey(self, request, now)
        except DBSvrError as error:
            self._commands.count_error(error.code)
            self.pending.append(f"-{error.code} {' '.join(str(error).split())}\r\n".encode())
        self._number_last()

    def _number_last(self) -> None:
        """In any order: what was appended for a request waits under its number."""
        if self._unanswered is not None and self.pending:
            self._number += 1
            self._unanswered[self._number] = self.pending.pop()

    def begin_any_order(self) -> None:
        """From the request that is being obeyed on, which is number 0. Raises BadArgument: an answer is owed in order."""
        if self.pending or self._unanswered is not None:
            raise BadArgument("TASK.ANYORDER comes once, and when no answer is owed")
        self._unanswered, self._number = {}, -1

    @property
    def _owes(self) -> bool:
        return bool(self.pending or self._unanswered)

    def flush(self) -> None:
        """Write out the replies whose turn has come."""
        if self._unanswered:
            self._flush_in_any_order(self._unanswered)
            return
        pending = self.pending
        if not pending or self._transport is None:
            return
        first = pending[0]
        if (first if type(first) is bytes else first.reply) is None:  # type: ignore[union-attr]
            return
        out: list[bytes] = []
        for head in pending:
            reply = head if type(head) is bytes else head.reply  # type: ignore[union-attr]
            if reply is None:
                break
            out.append(reply)
        for _ in out:
            pending.popleft()
        self._write(out)
        if self._leaving and not pending:
            self._transport.close()

    def _flush_in_any_order(self, unanswered: dict[int, bytes | Request | Gather | Later]) -> None:
        out = []
        for number, waiting in list(unanswered.items()):
            reply = waiting if type(waiting) is bytes else waiting.reply  # type: ignore[union-attr]
            if reply is not None:
                del unanswered[number]
                out.append(b"*2\r\n:%d\r\n%b" % (number, reply))
        if out:
            self._write(out)
        if self._leaving and not unanswered and self._transport is not None:
            self._transport.close()

    def _write(self, replies: list[bytes]) -> None:
        if len(replies) == 1:
            self._write_joined(replies)
            return
        small: list[bytes] = []
        for reply in replies:
            if len(reply) < LARGE:
                small.append(reply)
                continue
            # By itself, since joining copies: a bundle is one object, however many connections it is on its way to.
            self._write_joined(small)
            small = []
            self._write_joined([reply])
        self._write_joined(small)

    def _write_joined(self, replies: list[bytes]) -> None:
        if replies and self._transport is not None and not self._transport.is_closing():
            self._transport.write(replies[0] if len(replies) == 1 else b"".join(replies))

    def allow_unread(self, more: int) -> None:
        """An answer of this size is on its way, which may be larger than all that a client may leave unread."""
        if self._transport is not None:
            self._transport.set_write_buffer_limits(high=self._max_output_bytes + more)

    @property
    def unread_bytes(self) -> int:
        """What has been written and not taken, the kernel's share left out."""
        return 0 if self._transport is None else self._transport.get_write_buffer_size()

    def leave(self) -> None:
        """Close once everything before has been answered (QUIT)."""
        self._leaving = True

    def leave_once_answered(self) -> None:
        self.leave()
        if not self._owes and self._transport is not None:
            self._transport.close()

    def _refuse(self, reply: bytes) -> None:
        """Say why, and close: after this nothing on the connection can be understood."""
        if self._transport is not None:
            self.pending.append(reply)
            self._number_last()
            self.leave()
            self.flush()
            if self._transport is not None:
                self._transport.pause_reading()

    def cut(self, why: str) -> None:
        self._commands.note_cut(why)
        if self._transport is not None:
            self._transport.abort()
