"""The port on which Prometheus asks a front for its metrics: `GET /metrics`, and nothing else.

Lives in the front's own loop, without a thread: an answer takes a few milliseconds, so one rendering serves all who ask within
KEEP_S, and whoever asks slowly or in crowds is cut. A port that is taken is said and tried again: the front serves without it.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import time
from collections.abc import Callable
from typing import cast

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
KEEP_S = 0.25
ASK_WITHIN_S = 5.0
MOST_ASKERS = 16
LONGEST_REQUEST = 8_192
TRY_AGAIN_S = 5.0


class MetricsPort:
    def __init__(self, host: str, port: int, setting: str, render: Callable[[], bytes], log: logging.Logger) -> None:
        """`setting` names where the port is configured, for whoever finds it taken."""
        self._host, self._port, self._setting = host, port, setting
        self._render = render
        self._log = log
        self._rendered, self._rendered_at = b"", 0.0
        self._askers: set[_Asker] = set()

    async def serve(self) -> None:
        """Until cancelled."""
        loop = asyncio.get_running_loop()
        complained = False
        while True:
            try:
                server = await loop.create_server(lambda: _Asker(self), self._host, self._port, backlog=MOST_ASKERS)
                break
            except OSError as error:
                if not complained:
                    taken = error.errno == errno.EADDRINUSE
                    why = f"port {self._port} is taken; set {self._setting}" if taken else str(error)
                    self._log.error("serving without metrics, trying again: %s host=%s port=%d", why, self._host, self._port)
                    complained = True
                await asyncio.sleep(TRY_AGAIN_S)
        self._log.info("metrics are served host=%s port=%d", self._host, self._port)
        try:
            await asyncio.Event().wait()
        finally:
            server.close()
            for asker in list(self._askers):
                asker.cut()

    def admit(self, asker: _Asker) -> bool:
        if len(self._askers) >= MOST_ASKERS:
            return False
        self._askers.add(asker)
        return True

    def dismiss(self, asker: _Asker) -> None:
        self._askers.discard(asker)

    def answer(self, request: bytes) -> bytes:
        """The whole HTTP answer to a request's head."""
        method, _, rest = request.partition(b" ")
        path = rest.split(b" ", 1)[0].split(b"?", 1)[0]
        if method not in (b"GET", b"HEAD"):
            return _http("405 Method Not Allowed", b"GET /metrics\n")
        if path != b"/metrics":
            return _http("404 Not Found", b"The metrics are at /metrics\n")
        now = time.monotonic()
        if now - self._rendered_at > KEEP_S:
            self._rendered, self._rendered_at = self._render(), now
        return _http("200 OK", self._rendered, CONTENT_TYPE, with_body=method == b"GET")


class _Asker(asyncio.Protocol):
    """One connection, one question."""

    def __init__(self, port: MetricsPort) -> None:
        self._port = port
        self._asked = b""
        self._transport: asyncio.Transport | None = None
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        if self._port.admit(self):
            self._timer = asyncio.get_running_loop().call_later(ASK_WITHIN_S, self.cut)
        else:
            self._transport.abort()

    def connection_lost(self, error: Exception | None) -> None:
        self._port.dismiss(self)
        if self._timer is not None:
            self._timer.cancel()

    def data_received(self, data: bytes) -> None:
        if self._transport is None or self._transport.is_closing():
            return
        self._asked += data
        if b"\r\n\r\n" in self._asked:
            self._transport.write(self._port.answer(self._asked))
            self._transport.close()
        elif len(self._asked) > LONGEST_REQUEST:
            self.cut()

    def cut(self) -> None:
        if self._transport is not None:
            self._transport.abort()


def _http(status: str, body: bytes, content_type: str = "text/plain; charset=utf-8", with_body: bool = True) -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    return head.encode() + (body if with_body else b"")
