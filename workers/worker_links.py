"""The front's end of the local socket: one connection for each worker, and when to wake it.

A worker sleeps only after it has said how far it has drained (Idle with the number of the last wake-up it heard). It is
woken again when something was queued since: no wake-up is lost, and a busy worker is sent none (INV 6).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, cast

import msgspec

from workers.messages import Frame, FrameSplitter, Hello, Idle, Wake, decode_from_worker, encode_frame

if TYPE_CHECKING:
    from workers.dispatch import Dispatch


class WorkerLink(asyncio.Protocol):
    def __init__(self, dispatch: Dispatch, log: logging.Logger, after: Callable[[], None] = lambda: None) -> None:
        """`after` is called when something was heard, and done."""
        self._dispatch = dispatch
        self._after = after
        self._log = log
        self._splitter = FrameSplitter()
        self._transport: asyncio.Transport | None = None
        self.server = ""
        self.pid: int | None = None
        self._asleep = False
        self._wakes = 0
        self._queued_since_wake = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        try:
            for body in self._splitter.feed(data):
                self._hear(body)
        except (ValueError, msgspec.MsgspecError) as error:
            self._log.error('cut a worker that speaks another protocol server=%s error="%s"', self.server or "unknown", error)
            self.close()
        self._after()

    def _hear(self, body: bytes) -> None:
        frame = decode_from_worker(body)
        if isinstance(frame, Idle):
            self._note_idle(frame.number)
        elif isinstance(frame, Hello):
            self.server, self.pid = frame.server, frame.pid
            self._dispatch.greet(self)
        else:
            self._dispatch.hear(self, frame)

    def connection_lost(self, error: Exception | None) -> None:
        self._transport = None
        self._dispatch.part(self)

    def send(self, frame: Frame) -> None:
        if self._transport is not None:
            self._transport.write(encode_frame(frame))

    def send_all(self, frames: Sequence[Frame]) -> None:
        """As one: each write to a socket is a system call."""
        if self._transport is not None:
            self._transport.write(b"".join(map(encode_frame, frames)))

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def wake(self) -> None:
        """Something was queued that this worker may take."""
        if self._asleep:
            self._asleep = False
            self._queued_since_wake = False
            self._wakes += 1
            self.send(Wake(self._wakes))
        else:
            self._queued_since_wake = True

    def _note_idle(self, number: int) -> None:
        if number < self._wakes:
            return  # said before it heard our last wake-up
        self._asleep = True
        # What was queued since may be in its answers already.
        if self._queued_since_wake and self._dispatch.may_have_work(self.server):
            self.wake()


class WorkerLinks:
    """The link of each server, and who is to be woken at the end of this turn of the event loop."""

    def __init__(self, before_waking: Callable[[], None]) -> None:
        """`before_waking` is called at the end of each turn in which somebody is to be woken, or that was asked for; it may add to them."""
        self._before_waking = before_waking
        self._links: dict[str, WorkerLink] = {}
        self._to_wake: set[str] = set()
        self._turn_will_end = False

    def get(self, server: str) -> WorkerLink | None:
        return self._links.get(server)

    def put(self, link: WorkerLink) -> None:
        self._links[link.server] = link

    def drop(self, link: WorkerLink) -> bool:
        """False when the link is none of these, or not any more."""
        if self._links.get(link.server) is not link:
            return False
        del self._links[link.server]
        return True

    def all(self) -> list[WorkerLink]:
        return list(self._links.values())

    def wake(self, server: str) -> None:
        """Once for everything that is queued in this turn: a wake-up costs more than a ticket."""
        self._to_wake.add(server)
        self.end_turn_soon()

    def end_turn_soon(self) -> None:
        if not self._turn_will_end:
            self._turn_will_end = True
            asyncio.get_running_loop().call_soon(self._end_turn)

    def _end_turn(self) -> None:
        try:
            self._before_waking()
        finally:
            to_wake, self._to_wake = self._to_wake, set()
            self._turn_will_end = False
        for server in to_wake:
            link = self._links.get(server)
            if link is not None:
                link.wake()
