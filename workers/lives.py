"""The lives of a worker process, master's or replica's alike.

A *life* lasts from one connection to the front to the end of it, or of the database's. What was under way when it ended is
undecided: the front hands it to the next life, and event ids make that safe.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from workers.database import Connection, DatabaseGone, DatabaseUnfit, NoRoom, StatementRefused, TryAgain
from workers.endpoints import Look
from workers.front_link import FrontGone, FrontLink
from workers.messages import Down, Endpoints, FromFront, Leave, Welcome
from workers.probes import Probes
from workers.process import Exit, StopFlag
from workers.queues import QueueGone
from workers.store import Superseded

RECONNECT_S = 0.1
DATABASE_RETRY_S = 0.5
REPORT_EVERY_S = 1.0


class Role(Protocol):
    """What a master's worker and a replica's do differently about their endpoints."""

    def open(self, endpoint: str) -> Connection:
        """Raises DatabaseGone; DatabaseUnfit with every reason why it must not be used."""

    def look_at(self, endpoint: str) -> Look:
        """One look, every wait in it bounded; raises nothing."""

    def choose(self, looks: list[Look], welcome: Welcome) -> Look | None:
        """The endpoint to use; None when none may be."""

    def complain(self, looks: list[Look], welcome: Welcome) -> str:
        """Why none may be."""

    def better(self, current: Look, probes: Probes) -> str | None:
        """An endpoint that is to be preferred to the current one, for long enough now."""

    def warn(self, current: Look, probes: Probes) -> str:
        """What is wrong beside the endpoint in use, and must be mended; empty when nothing is."""


class Moved(Exception):
    """An endpoint that is preferred is fit again: this life ends between two batches, and the next begins there."""


@dataclass(frozen=True)
class Place:
    """Where a life is lived: called between batches, it looks after the endpoints."""

    link: FrontLink
    look: Look
    role: Role
    probes: Probes
    log: logging.Logger
    _reported: list[float]

    def look_around(self) -> None:
        """Once a second: tell the front of the endpoints. Raises Moved when a better one has been fit for long enough."""
        now = time.monotonic()
        if now < self._reported[0] + REPORT_EVERY_S:
            return
        self._reported[0] = now
        standings = self.probes.standings
        states = {
            endpoint: ("in use", "") if endpoint == self.look.endpoint else (standing.state, _why(standing.last))
            for endpoint, standing in standings.items()
        }
        self.link.hold(Endpoints([(endpoint, *state) for endpoint, state in states.items()], self.role.warn(self.look, self.probes)))
        better = self.role.better(self.look, self.probes)
        if better is not None:
            raise Moved(better)


def _why(look: Look | None) -> str:
    return "" if look is None else "; ".join(look.faults)


@dataclass(frozen=True)
class WorkerProcess:
    """`server` is "master" or the replica's name; `live` is one life on a connection that is fit for the role."""

    server: str
    socket_path: Path
    role: Role
    probes: Probes
    live: Callable[[Place, Connection], None]
    stop: StopFlag
    log: logging.Logger

    def run(self) -> Exit:
        """Live until asked to stop, or until superseded."""
        complaint = Complaint(self.log)
        while not self.stop:
            link = None
            try:
                link = FrontLink(self.socket_path, self.server)
                chosen = self._connect(link, complaint)
                if chosen is not None:
                    look, connection = chosen
                    try:
                        complaint.over()
                        self.live(Place(link, look, self.role, self.probes, self.log, [0.0]), connection)
                    finally:
                        connection.close()
            except Moved as better:
                self.log.warning("moves to the preferred endpoint endpoint=%s", better)
                continue
            except (FrontGone, DatabaseGone, DatabaseUnfit, StatementRefused, NoRoom, TryAgain, QueueGone) as error:
                # Also when the database was lost first: coming again, it would drive out its successor.
                if link is not None and link.was_told_to_leave():
                    self.log.error("superseded, leaving for good: another worker has come to this front")
                    return Exit.SUPERSEDED
                complaint.say(f"no front: {error}" if isinstance(error, FrontGone) else f"starting over: {type(error).__name__} {error}")
            except Superseded as error:
                self.log.error("superseded, leaving for good: %s", error)
                return Exit.SUPERSEDED
            finally:
                if link is not None:
                    link.close()
            self.stop.wait(RECONNECT_S)
        return Exit.STOPPED

    def _connect(self, link: FrontLink, complaint: Complaint) -> tuple[Look, Connection] | None:
        """A database that may be used, however long it takes; None when asked to stop. The front hears why there is none."""
        while not self.stop:
            looks = self.probes.looks(self.stop)
            look = self.role.choose(looks, link.welcome)
            try:
                if look is not None:
                    connection = self.role.open(look.endpoint)
                    self.probes.use(look.endpoint)
                    return look, connection
                sentence = self.role.complain(looks, link.welcome)
            except (DatabaseGone, DatabaseUnfit, StatementRefused) as error:
                sentence = str(error)
            complaint.say(sentence)
            link.send(Down(sentence))
            self.stop.wait(DATABASE_RETRY_S)
            frames = link.receive(0)
            for frame in frames:
                heed_leave(frame)
            link.put_back(frames)  # a base set meanwhile is for the life to come
        return None


def heed_leave(frame: FromFront) -> None:
    if isinstance(frame, Leave):
        raise Superseded("another worker for the same database has come to this front")


class Complaint:
    """Logs a trouble once, not at every try."""

    def __init__(self, log: logging.Logger) -> None:
        self._log = log
        self._said = ""

    def say(self, sentence: str) -> None:
        if sentence != self._said:
            self._log.warning(sentence)
            self._said = sentence

    def over(self) -> None:
        self._said = ""
