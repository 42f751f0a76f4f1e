"""Asks one DBSvr for TASK.STATS, once a second, in a thread of its own.

A DBSvr that hangs delays nobody else, and the thread that waits for it dies with the process. While there is no answer, it looks at the
DBSvr's tick in the database as well, from which one can tell a DBSvr that is gone from one that cannot be seen.
"""

from __future__ import annotations

import logging
import threading
import time

import msgspec
from django.db import DatabaseError, connections

from apps.dbsvr.connections import Connections
from apps.dbsvr.figures import Sample, figures
from apps.dbsvr.stats import Stats, decode_stats
from tasksys_site.configuration import Instance
from workers.protocol import DBSvrError, NotAuthenticated, TimedOut

log = logging.getLogger(__name__)

ANSWER_WITHIN_S = 1.0


class Asker:
    def __init__(self, name: str, instance: Instance) -> None:
        self.name = name
        self._connections = Connections(instance, max_connections=1)
        self._ask_now = threading.Event()
        self._done = threading.Event()
        self._at = 0.0
        self._sample = Sample(name, 0.0, why_not="timeout")
        self._previous: tuple[Stats, float] | None = None
        self._complaint = ""
        threading.Thread(target=self._run, name=f"asker-{name}", daemon=True).start()

    def ask(self, at: float) -> None:
        """Begin to ask. If it still waits for an earlier answer, that wait is this second's outcome."""
        self._at = at
        self._done.clear()
        self._ask_now.set()

    def sample(self, until: float) -> Sample:
        """This second's outcome, waited for until a moment of time.monotonic()."""
        self._done.wait(max(0.0, until - time.monotonic()))
        found = self._sample
        return found if found.at == self._at else Sample(self.name, self._at, why_not=found.why_not or "timeout")

    def _run(self) -> None:
        while True:
            self._ask_now.wait()
            self._ask_now.clear()
            at = self._at
            self._sample = self._asked(at)
            if self._sample.figures is None:
                # Set first without the tick: a database that hangs must not hide why the DBSvr gave no answer.
                self._sample = msgspec.structs.replace(self._sample, master_tick=self._tick())
            self._done.set()

    def _asked(self, at: float) -> Sample:
        try:
            answer = self._connections.ask("TASK.STATS", until=time.monotonic() + ANSWER_WITHIN_S)
            received = time.monotonic()
            stats = decode_stats(answer)
        except (DBSvrError, msgspec.MsgspecError, TypeError) as error:
            self._previous = None
            self._complain(f"DBSvr {self.name} gives no figures: {error}")
            return Sample(self.name, at, why_not=_why(error))
        self._complain("")
        previous, then = self._previous or (None, received)
        self._previous = (stats, received)
        return Sample(self.name, at, figures(previous, stats, received - then))

    def _tick(self) -> int | None:
        try:
            with connections["userdata"].cursor() as cursor:
                cursor.execute("SELECT tick FROM db_info WHERE instance = %s", [self.name])
                row = cursor.fetchone()
            return int(row[0]) if row else None
        except DatabaseError:
            connections["userdata"].close()
            return None

    def _complain(self, complaint: str) -> None:
        """Once when it begins and once when it ends, not every second."""
        if bool(complaint) != bool(self._complaint):
            log.warning("%s", complaint or f"DBSvr {self.name} answers again")
        self._complaint = complaint


def _why(error: BaseException) -> str:
    match error:
        case TimedOut():
            return "timeout"
        case NotAuthenticated():
            return "login"
        case DBSvrError():
            cause: BaseException | None = error
            while cause is not None:
                if isinstance(cause, ConnectionRefusedError):
                    return "refused"
                cause = cause.__cause__ or cause.__context__
            return "unreachable"
    return "garbled"
