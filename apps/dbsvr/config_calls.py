"""Asking the DBSvrs for the task configuration: one of them, for as long as it answers, then the next.

Each hands the same configuration down, so anyone will do. There is one connection to each, apart from those of users' requests: RESP
answers in order, and this answer may be a second away.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Mapping

from apps.dbsvr.connections import Connections
from tasksys_site.configuration import Instance
from workers.protocol import DamagedRevision, DBSvrError, PublishedBundle, Unreachable

GRACE_S = 1.0
"""So much longer than it was asked to wait may a DBSvr take: a frozen one is left for another then."""


class ConfigCalls:
    """For one thread of a process at a time."""

    def __init__(self, instances: Mapping[str, Instance]) -> None:
        self._instances = instances
        self._connections: list[Connections] = []
        self._pid = 0
        self._asked = 0
        """The place of the DBSvr that is asked first: the one that has answered last."""

    def wait(self, known: int | str, block_ms: int, using: int | None) -> PublishedBundle | None:
        """See DbInterface.wait_for_config."""
        self._open()
        command: list[str | bytes | int] = ["TASK.CONFIG", known, "BLOCK", block_ms]
        if using is not None:
            command += ["USING", using]
        worst: DBSvrError = Unreachable("no DBSvr is configured")
        for step in range(len(self._connections)):
            place = (self._asked + step) % len(self._connections)
            try:
                answer = self._connections[place].ask(*command, until=time.monotonic() + block_ms / 1000 + GRACE_S)
            except DamagedRevision:
                self._asked = place
                raise
            except DBSvrError as error:
                worst = error
                continue
            self._asked = place
            return None if answer is None else _bundle(answer)
        raise worst

    def close(self) -> None:
        for each in self._connections:
            each.close()

    def _open(self) -> None:
        """In a forked child the parent's connections are not its own."""
        if self._pid != os.getpid():
            self._pid = os.getpid()
            # By this name a front shows who uses which revision.
            name = f"{socket.gethostname()}/{self._pid}"[:64]
            self._connections = [Connections(each, max_connections=1, client_name=name) for each in self._instances.values()]
            self._asked = self._pid % max(1, len(self._connections))  # not all processes at the same one


def _bundle(answer: object) -> PublishedBundle:
    if isinstance(answer, list) and [type(each) for each in answer] == [int, bytes, bytes]:
        number, etag, body = answer
        return PublishedBundle(number, etag.decode("ascii", "replace"), body)
    raise DBSvrError(f"TASK.CONFIG was answered with {str(answer)[:100]!r}")
