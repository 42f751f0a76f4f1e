"""The front's part in holds: replicas that are not to be used until somebody releases them.

What the master's worker has seen of the table is what holds; this tells `servers`, and the replicas' workers. Taking a replica out
breaks no promise: its reads become the master's or another replica's, and what it still answers is handed back.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from workers.messages import Base, HoldReplica, Holds
from workers.protocol import BadArgument, DBSvrError, MasterDown, TimedOut
from workers.requests import Later
from workers.servers import MASTER, Servers
from workers.worker_links import WorkerLinks

if TYPE_CHECKING:
    from workers.clients import Client

ORDER_WITHIN_S = 2.0


def _error(error: DBSvrError) -> bytes:
    return f"-{error.code} {' '.join(str(error).split())}\r\n".encode()


class FrontHolds:
    def __init__(self, servers: Servers, links: WorkerLinks, log: logging.Logger) -> None:
        self._servers = servers
        self._links = links
        self._log = log
        self._orders: dict[int, tuple[Later, float]] = {}
        """Who waits for his order, by its number, and until when."""
        self._last_number = 0

    def order(self, client: Client, replica: str, by: str, reason: str | None, now: float) -> None:
        """Let a replica be held, or released (without a reason). Answered once the row is written and this front goes by it."""
        if replica not in self._servers.replicas:
            raise BadArgument(f"no replica named {replica!r} (there are: {', '.join(self._servers.replicas) or 'none'})")
        link = self._links.get(MASTER)
        if link is None or not self._servers.master.is_ready:
            raise MasterDown(self._servers.master.sentence or "a hold is a row on the master, and there is no worker for it just now")
        self._last_number += 1
        later = Later(client)
        client.pending.append(later)
        self._orders[self._last_number] = (later, now + ORDER_WITHIN_S)
        link.send(HoldReplica(self._last_number, replica, by, reason))
        self._links.wake(MASTER)

    def note(self, frame: Holds, now: float) -> None:
        for name in self._servers.note_holds(frame.holds, now):
            replica = self._servers.replicas[name]
            if replica.hold is not None:
                self._log.warning('a replica is held replica=%s by=%s why="%s"', name, replica.hold.by, replica.hold.reason)
            else:
                self._log.warning("a replica is released replica=%s", name)
            link = self._links.get(name)
            if link is not None:
                link.send(Base(self._servers.generation, self._servers.base_of(name)))
        later, _ = self._orders.pop(frame.order, (None, 0.0))
        if later is not None:
            self._answer(later, f"-ERR {' '.join(frame.refusal.split())}\r\n".encode() if frame.refusal else b"+OK\r\n")

    def look_around(self, now: float) -> None:
        for number in [number for number, (_, until) in self._orders.items() if until <= now]:
            later, _ = self._orders.pop(number)
            self._answer(later, _error(TimedOut("the master's worker has not said that it was done; it may be, all the same")))

    def _answer(self, later: Later, reply: bytes) -> None:
        later.reply = reply
        later.client.flush()
