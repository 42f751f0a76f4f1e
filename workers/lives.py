"""The lives of a worker process, master's or replica's alike.

A *life* lasts from one connection to the front to the end of it, or of the database's. What was under way when it ended is
undecided: the front hands it to the next life, and event ids make that safe.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tasksys_site.configuration import Databases
from workers.database import Connection, DatabaseGone, DatabaseUnfit, NoRoom, StatementRefused, TryAgain
from workers.front_link import FrontGone, FrontLink
from workers.messages import Down, FromFront, Leave
from workers.process import Exit, StopFlag
from workers.queues import QueueGone
from workers.store import Superseded

RECONNECT_S = 0.1
DATABASE_RETRY_S = 0.5


@dataclass(frozen=True)
class WorkerProcess:
    """`server` is "master" or the replica's name; `faults` says why a database must not be used; `live` is one life."""

    server: str
    socket_path: Path
    endpoints: Sequence[str]
    databases: Databases
    faults: Callable[[Connection], list[str]]
    live: Callable[[FrontLink, Connection], None]
    stop: StopFlag
    log: logging.Logger

    def run(self) -> Exit:
        """Live until asked to stop, or until superseded."""
        complaint = Complaint(self.log)
        while not self.stop:
            link = None
            try:
                link = FrontLink(self.socket_path, self.server)
                connection = self._connect(link, complaint)
                if connection is not None:
                    try:
                        complaint.over()
                        self.live(link, connection)
                    finally:
                        connection.close()
            except FrontGone as error:
                if link is not None and link.was_told_to_leave():
                    self.log.error("superseded, leaving for good: another worker has come to this front")
                    return Exit.SUPERSEDED
                complaint.say(f"no front: {error}")
            except (DatabaseGone, DatabaseUnfit, StatementRefused, NoRoom, TryAgain, QueueGone) as error:
                complaint.say(f"starting over: {type(error).__name__} {error}")
            except Superseded as error:
                self.log.error("superseded, leaving for good: %s", error)
                return Exit.SUPERSEDED
            finally:
                if link is not None:
                    link.close()
            self.stop.wait(RECONNECT_S)
        return Exit.STOPPED

    def _connect(self, link: FrontLink, complaint: Complaint) -> Connection | None:
        """A database that may be used, however long it takes; None when asked to stop. The front hears why there is none."""
        while not self.stop:
            for endpoint in self.endpoints:
                try:
                    connection = Connection(endpoint, self.databases.accounts.workers, self.databases)
                    faults = self.faults(connection)
                    if not faults:
                        return connection
                    connection.close()
                    sentence = f"{endpoint} must not be used as {self.server}: {'; '.join(faults)}"
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
