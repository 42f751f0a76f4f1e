"""Tells the DBSvrs not to use a replica, or to use it again, and writes it into the audit log.

Any DBSvr will do: the row that it writes is every DBSvr's, and outlives all their processes. What is held now is read from that row,
which the account of the logic side may look at.
"""

from __future__ import annotations

import time
from typing import NamedTuple

from django.db import DatabaseError, connections

from apps.dbsvr.connections import Connections
from apps.tasks.publishing.audit import Actor, name_of, record
from tasksys_site.configuration import load
from workers.protocol import DBSvrError

WITHIN_S = 3.0
LONGEST_REASON = 200


class NotHeld(Exception):
    """No DBSvr did it: `replica` stands as it was, as far as is known."""

    def __init__(self, replica: str, why: str) -> None:
        super().__init__(f"{replica}: {why}")
        self.replica, self.why = replica, why


class Held(NamedTuple):
    reason: str
    by: str
    since_ms: int


def hold_replica(replica: str, reason: str, user: Actor = None, by: str = "") -> None:
    """No read is served by it any more: by the DBSvr that is told at once, by the others within half a second. Raises NotHeld.

    `by`: the part of the system that says so, where it is no operator.
    """
    reason, by = " ".join(reason.split())[:LONGEST_REASON], (by or name_of(user))[:150]
    _tell(replica, ("TASK.HOLD", replica, by, reason))
    record(user, "hold_replica", "replica", replica, after={"held": True, "by": by}, note=reason)


def release_replica(replica: str, user: Actor = None, reason: str = "", by: str = "") -> None:
    """It is used again. Raises NotHeld."""
    by = (by or name_of(user))[:150]
    _tell(replica, ("TASK.RELEASE", replica, by))
    record(user, "release_replica", "replica", replica, after={"held": False, "by": by}, note=reason)


def held_replicas() -> dict[str, Held] | None:
    """Which are held now, by the master's row; None when it cannot be asked."""
    try:
        with connections["userdata"].cursor() as cursor:
            cursor.execute("SELECT replica, reason, held_by, since_ms FROM replica_hold")
            return {name: Held(reason, by, int(since_ms)) for name, reason, by, since_ms in cursor.fetchall()}
    except DatabaseError:
        connections["userdata"].close()
        return None


def _tell(replica: str, words: tuple[str, ...]) -> None:
    why = "no DBSvr is configured"
    for instance in load().dbsvr.instances.values():
        there = Connections(instance, max_connections=1)
        try:
            there.ask(*words, until=time.monotonic() + WITHIN_S)
        except DBSvrError as error:
            why = str(error)
        else:
            return
        finally:
            there.close()
    raise NotHeld(replica, why)
