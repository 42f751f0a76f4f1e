"""One connection of a front to the front of another DBSvr: commands in, their answers handed to whoever asked, in order.

Speaks RESP as any client does, and says first that it is a peer, so that what it asks is not forwarded again. It is opened again
after a while when it breaks; nothing is repeated here. `peers` has several to each DBSvr, and decides when one has been silent too long.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from typing import TypeAlias, cast

import hiredis

from tasksys_site.configuration import Instance, read_secret

CONNECT_WITHIN_S = 1.0
AGAIN_AFTER_S = 0.2

Answer: TypeAlias = "object"
Take: TypeAlias = Callable[[Answer], None]
"""Called once with what the peer answered (bytes, int, hiredis.ReplyError), or with None when the connection was lost before."""


def encode_command(words: list[bytes]) -> bytes:
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%b\r\n" % (len(word), word) for word in words)


class PeerLink(asyncio.Protocol):
    def __init__(self, name: str, peer: Instance, own_name: str, log: logging.Logger) -> None:
        self.name = name
        self._peer = peer
        self._own_name = own_name
        self._log = log
        self._transport: asyncio.Transport | None = None
        self._reader = hiredis.Reader()
        self._waiting: deque[tuple[Take, float]] = deque()
        self._connecting: asyncio.Task[None] | None = None
        self._try_at = 0.0
        self._heard_at = 0.0
        self._is_greeted = False
        self.failed = 0
        """Commands whose answer was lost with the connection."""

    @property
    def is_open(self) -> bool:
        """Connected and welcomed."""
        return self._transport is not None and self._is_greeted

    @property
    def owes(self) -> int:
        """Answers that have not come yet."""
        return len(self._waiting)

    def silent_s(self, now: float) -> float:
        """For how long it has said nothing while it owes an answer."""
        return now - max(self._heard_at, self._waiting[0][1]) if self._waiting else 0.0

    def open_if_closed(self, now: float) -> None:
        if self._transport is None and self._connecting is None and now >= self._try_at:
            self._try_at = now + AGAIN_AFTER_S
            self._connecting = asyncio.create_task(self._connect())

    def cut(self) -> None:
        """Give up what it owes."""
        if self._transport is not None:
            self._transport.abort()

    async def _connect(self) -> None:
        try:
            loop = asyncio.get_running_loop()
            async with asyncio.timeout(CONNECT_WITHIN_S):
                await loop.create_connection(lambda: self, self._peer.host, self._peer.port)
        except (OSError, TimeoutError):
            # Tried again soon; the state says that it is away. A connection that was made as the time ran out is closed by the loop, which
            # tells nobody: a lost SYN is sent again after a second, too.
            if self._transport is not None:
                self._transport.abort()
                self.connection_lost(None)
        finally:
            self._connecting = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._reader = hiredis.Reader()
        now = asyncio.get_running_loop().time()
        self._heard_at = now
        if self._peer.auth_user and self._peer.auth_secret_file:
            secret = read_secret(self._peer.auth_secret_file)
            self.ask([b"AUTH", self._peer.auth_user.encode(), secret.encode()], self._note_auth, now)
        self.ask([b"TASK.PEER", self._own_name.encode()], self._note_greeting, now)

    def _note_auth(self, answer: Answer) -> None:
        if isinstance(answer, hiredis.ReplyError):
            self._log.error('a peer does not let us in peer=%s why="%s"', self.name, answer)

    def _note_greeting(self, answer: Answer) -> None:
        self._is_greeted = answer is not None and not isinstance(answer, hiredis.ReplyError)

    def connection_lost(self, error: Exception | None) -> None:
        """Also when it is said twice."""
        self._transport, self._is_greeted = None, False
        waiting, self._waiting = self._waiting, deque()
        for take, _ in waiting:
            self.failed += 1
            take(None)

    def data_received(self, data: bytes) -> None:
        self._heard_at = asyncio.get_running_loop().time()
        self._reader.feed(data)
        try:
            while self._waiting and (answer := self._reader.gets()) is not False:
                take, _ = self._waiting.popleft()
                take(answer)
        except hiredis.ProtocolError as error:
            self._log.error('a peer speaks another language peer=%s why="%s"', self.name, error)
            self.close()

    def ask(self, words: list[bytes], take: Take, now: float) -> None:
        """Send a command; `take` is called once. Call it only while the link is up."""
        assert self._transport is not None, "ask a link that is up"
        self._waiting.append((take, now))
        self._transport.write(encode_command(words))

    def close(self) -> None:
        if self._connecting is not None:
            self._connecting.cancel()
        self.cut()
