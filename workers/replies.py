"""Replies on their way to clients: encoded once, kept in each connection's order, written once a turn for each connection."""

from __future__ import annotations

from collections import Counter
from collections.abc import Set
from typing import TYPE_CHECKING

from workers.protocol import DBSvrError
from workers.requests import Later, Request
from workers.snapshots import closing

if TYPE_CHECKING:
    from workers.clients import Client


class Replies:
    def __init__(self, errors: Counter[str]) -> None:
        """`errors` counts error replies by code."""
        self._errors = errors
        self._touched: set[Client] = set()
        self._closings: dict[tuple[str, str | None], tuple[bytes, bytes]] = {}

    def give(self, request: Request, replies: list[bytes]) -> None:
        """The request is answered, each of its users by his reply; `flush` writes it when its turn on its connection has come."""
        request.answered = True
        if request.gather is not None:
            self._touched.update(request.gather.put(request.places, replies))
        else:
            (request.reply,) = replies
            self._touched.add(request.client)

    def give_snapshots(self, request: Request, bodies: list[bytes], served_by: str, reason: str | None, unstorable: Set[int]) -> None:
        """`bodies`: the open snapshots of its users."""
        ends = self._closings.get((served_by, reason))
        if ends is None:
            ends = self._closings[served_by, reason] = closing(served_by, reason, False), closing(served_by, reason, True)
        if unstorable:
            parts = [(body, ends[uid not in unstorable]) for uid, body in zip(request.uids, bodies, strict=True)]
            self.give(request, [b"$%d\r\n%b%b\r\n" % (len(body) + len(end), body, end) for body, end in parts])
        else:
            end = ends[True]
            self.give(request, [b"$%d\r\n%b%b\r\n" % (len(body) + len(end), body, end) for body in bodies])

    def say(self, answer: Later, reply: bytes) -> None:
        answer.reply = reply
        self._touched.add(answer.client)

    def give_json(self, request: Request, body: bytes) -> None:
        self.give(request, [b"$%d\r\n%b\r\n" % (len(body), body)])

    def fail(self, request: Request, error: DBSvrError) -> None:
        self.refuse(request, error.code, str(error))

    def refuse(self, request: Request, code: str, sentence: str) -> None:
        users = len(request.uids)
        self._errors[code] += users
        self.give(request, [f"-{code} {' '.join(sentence.split())}\r\n".encode()] * users)

    def flush(self) -> None:
        """Write out what can be answered now."""
        touched, self._touched = self._touched, set()
        for client in touched:
            client.flush()
