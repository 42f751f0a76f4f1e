"""Replies on their way to clients: encoded once, kept in each connection's order, written once a turn for each connection."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from workers.protocol import DBSvrError
from workers.requests import Request
from workers.snapshots import closing

if TYPE_CHECKING:
    from workers.clients import Client


class Replies:
    def __init__(self, errors: Counter[str]) -> None:
        """`errors` counts error replies by code."""
        self._errors = errors
        self._touched: set[Client] = set()
        self._closings: dict[tuple[str, str | None, bool], bytes] = {}

    def give(self, request: Request, reply: bytes) -> None:
        """The request is answered; `flush` writes it when its turn on its connection has come."""
        request.answered = True
        if request.gather is not None:
            request.gather.put(request.place, reply)
        else:
            request.reply = reply
        self._touched.add(request.client)

    def give_snapshot(self, request: Request, opened: bytes, served_by: str, reason: str | None, storable: bool) -> None:
        key = (served_by, reason, storable)
        end = self._closings.get(key)
        if end is None:
            end = self._closings[key] = closing(*key)
        self.give(request, b"$%d\r\n%b%b\r\n" % (len(opened) + len(end), opened, end))

    def give_json(self, request: Request, body: bytes) -> None:
        self.give(request, b"$%d\r\n%b\r\n" % (len(body), body))

    def fail(self, request: Request, error: DBSvrError) -> None:
        self.refuse(request, error.code, str(error))

    def refuse(self, request: Request, code: str, sentence: str) -> None:
        self._errors[code] += 1
        self.give(request, f"-{code} {' '.join(sentence.split())}\r\n".encode())

    def flush(self) -> None:
        """Write out what can be answered now."""
        touched, self._touched = self._touched, set()
        for client in touched:
            client.flush()
