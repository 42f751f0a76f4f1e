"""Requests of a front from acceptance to answer: the table of all, and the lanes in which their tickets wait.

A lane is a bounded share of a kernel queue with a line behind it: long kernel queues are slow to scan, so the line stands
here. Every ticket ends in one way: answered, handed back, or reported expired; a worker that dies with tickets in its hands
is the reason why `sent` remembers them.

Reads that came in one turn of the event loop (a TASK.MGET's, and those of all clients) and go the same way are one request, a *group*: one
ticket, one answer from the worker. Whatever counts, counts users.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from copy import copy
from typing import TYPE_CHECKING

from workers.messages import NOT_NOW, encode_ticket, users_in
from workers.queues import Queue, QueueGone

if TYPE_CHECKING:
    from workers.clients import Client

FINISH, CLEAR, READ = "finish", "clear", "read"


class Gather:
    """Several reads that are answered together, in order (TASK.MGET)."""

    __slots__ = ("_missing", "_parts", "client", "reply")

    def __init__(self, client: Client, size: int) -> None:
        self.client = client
        self.reply: bytes | None = None
        self._parts: list[bytes] = [b""] * size
        self._missing = size

    def put(self, places: Sequence[int], replies: Iterable[bytes]) -> Sequence[Client]:
        """Whose replies have come with these."""
        parts = self._parts
        for place, reply in zip(places, replies, strict=True):
            parts[place] = reply
        self._missing -= len(places)
        if self._missing:
            return ()
        self.reply = b"*%d\r\n%b" % (len(parts), b"".join(parts))
        return (self.client,)


class Later:
    """An answer to come that is no request by itself. `reply` is set once it is known."""

    __slots__ = ("client", "reply")

    def __init__(self, client: Client) -> None:
        self.client = client
        self.reply: bytes | None = None


class Apart:
    """Several reads that travel together and are answered each by itself."""

    __slots__ = ("_answers",)

    def __init__(self, answers: Sequence[Later]) -> None:
        self._answers = answers

    def put(self, places: Sequence[int], replies: Iterable[bytes]) -> Sequence[Client]:
        """Whose replies have come with these."""
        answers = self._answers
        for place, reply in zip(places, replies, strict=True):
            answers[place].reply = reply
        return [answers[place].client for place in places]


class Request:
    """One write, or the reads of one or more users. `reply` is the RESP answer once there is one; `answered` may come before the request
    is over: a write that has timed out is answered, and still undecided."""

    __slots__ = (
        "accept_number",
        "answered",
        "arrived",
        "client",
        "event_id",
        "expires_at_ms",
        "followers",
        "gather",
        "is_repair",
        "kind",
        "lane",
        "line_moment",
        "may_have_happened",
        "node",
        "payload",
        "places",
        "purge_nodes",
        "reason",
        "reply",
        "request_id",
        "stamp",
        "ticket_bytes",
        "trail_mask",
        "uids",
        "waits_for_replication",
    )

    def __init__(
        self, request_id: int, kind: str, uids: Sequence[int], client: Client, node: str, arrived: float, expires_at_ms: int
    ) -> None:
        self.request_id = request_id
        self.kind = kind
        self.uids = uids
        self.client = client
        self.node = node
        self.arrived = arrived
        self.expires_at_ms = expires_at_ms
        self.reply: bytes | None = None
        self.answered = False
        self.reason: str | None = None
        self.stamp = 0
        """A read's: of its users' the largest. Who shows that may answer all of them (INV 2, INV 5)."""
        self.waits_for_replication = False
        self.accept_number = 0
        self.gather: Gather | Apart | None = None
        self.places: Sequence[int] = ()
        """Where in `gather` the users' answers belong."""
        self.lane: Lane | None = None
        self.ticket_bytes = 0
        self.line_moment = 0.0
        self.event_id = ""
        self.is_repair = False
        self.payload = b""
        self.followers: list[Request] | None = None
        self.trail_mask: int | None = None
        """The trail as it was before this write was handed over; None while it was not."""
        self.purge_nodes: list[str] = []
        self.may_have_happened = False
        """An earlier life of the master's worker was handed this write, and ended."""

    @property
    def uid(self) -> int:
        """Of a write, or of a read of one user."""
        return self.uids[0]

    def split_off(self, bodies: list[bytes]) -> tuple[Request, list[bytes]]:
        """Those of a group who have a snapshot among the `bodies`, as a request of their own; the others stay."""
        known = [number for number, body in enumerate(bodies) if body != NOT_NOW]
        others = [number for number, body in enumerate(bodies) if body == NOT_NOW]
        answered, uids, places = copy(self), self.uids, self.places
        for request, numbers in ((answered, known), (self, others)):
            request.uids, request.places = [uids[number] for number in numbers], [places[number] for number in numbers]
        return answered, [bodies[number] for number in known]


class Lane:
    """A share of one kernel queue, first come first served."""

    def __init__(self, name: str, capacity: int, ticket_life_ms: int | None = None) -> None:
        """`capacity`: how many bytes of tickets it may have in the queue."""
        self.name = name
        self._capacity = capacity
        self._bytes_sent = 0
        self._ticket_life_ms = ticket_life_ms
        """Tickets of this lane live only so long, so that the request can be sent again in another; None: as the request."""
        self._queue: Queue | None = None
        self.run_id = 0
        self.generation = 0
        self.sent: dict[int, Request] = {}
        self.line: deque[tuple[Request, int]] = deque()

    def attach(self, queue: Queue, run_id: int) -> None:
        self._queue, self.run_id = queue, run_id

    def __len__(self) -> int:
        return len(self.sent) + len(self.line)

    @property
    def users_sent(self) -> int:
        return users_in(len(self.sent), self._bytes_sent)

    @property
    def users_in_line(self) -> int:
        return sum(len(request.uids) for request, _ in self.line)

    def oldest_arrival(self) -> float | None:
        first = next(iter(self.sent.values()), None)
        if first is not None:
            return first.arrived
        return self.line[0][0].arrived if self.line else None

    def requests(self) -> list[Request]:
        """All that wait here, oldest first."""
        return [*self.sent.values(), *(request for request, _ in self.line if request.lane is self)]

    def put(self, request: Request, message_type: int, now: float) -> None:
        """Queue the request's ticket, or stand in line for it. Raises QueueGone."""
        request.lane = self
        request.line_moment = now
        try:
            if not self.line and self._send(request, message_type, now):
                return
        except QueueGone:
            self.line.append((request, message_type))
            raise
        self.line.append((request, message_type))

    def take(self, request: Request) -> None:
        """The request's ticket is gone from the queue, or counts no more."""
        if self.sent.pop(request.request_id, None) is not None:
            self._bytes_sent -= request.ticket_bytes
        request.lane = None

    def move_up(self, now: float) -> bool:
        """Queue tickets of those in line while there is room; True when one went. Raises QueueGone."""
        moved = False
        while self.line:
            request, message_type = self.line[0]
            if request.lane is self and not self._send(request, message_type, now):
                break
            self.line.popleft()
            moved = True
        return moved

    def empty(self) -> list[Request]:
        """All its requests, oldest first; the lane is empty then. (Their tickets may still be in the queue.)"""
        requests = self.requests()
        self.sent.clear()
        self._bytes_sent = 0
        self.line.clear()
        return requests

    def _send(self, request: Request, message_type: int, now: float) -> bool:
        expires, life = request.expires_at_ms, self._ticket_life_ms
        if life is not None and (sooner := int(now * 1000) + life) < expires:
            expires = sooner
        ticket = encode_ticket(self.run_id, self.generation, request.request_id, request.stamp, expires, request.uids)
        size = len(ticket)
        if self._bytes_sent + size > self._capacity or self._queue is None or not self._queue.send(ticket, message_type):
            return False
        request.ticket_bytes = size
        self._bytes_sent += size
        request.line_moment = now
        self.sent[request.request_id] = request
        return True
