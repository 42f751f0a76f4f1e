"""Table `replica_hold`, as the master's worker looks at it and writes it: which replicas are not to be used, and why.

The row is the truth: it outlives every process, and the workers of all DBSvrs look at it. A look is one small statement a few times a
second; the first of a life comes before the front hears of its fresh tick, so that no front uses a replica before it knows the holds.
"""

from __future__ import annotations

import time

from workers.database import Connection, NoRoom, NoSuchTable, StatementRefused, TryAgain
from workers.messages import Hold, HoldReplica, Holds

LOOK_EVERY_S = 0.38
"""Not 0.4: a worker that wakes for its beat every 0.1 s should not come a moment too early."""


def read_holds(connection: Connection) -> dict[str, Hold]:
    rows = connection.rows("SELECT replica, reason, held_by, since_ms FROM replica_hold")
    return {name: Hold(reason, held_by, int(since_ms)) for name, reason, held_by, since_ms in rows}


def write_hold(connection: Connection, order: HoldReplica) -> None:
    """Hold or release, as the order says. A hold that stands keeps its beginning, and gets the newer reason."""
    if order.reason is None:
        connection.execute("DELETE FROM replica_hold WHERE replica = %s", (order.replica,))
        return
    connection.execute(
        "INSERT INTO replica_hold (replica, reason, held_by, since_ms) VALUES (%s, %s, %s, ROUND(UNIX_TIMESTAMP(NOW(3)) * 1000))"
        " ON DUPLICATE KEY UPDATE reason = VALUES(reason), held_by = VALUES(held_by)",
        (order.replica, order.reason, order.by),
    )


class HoldLooks:
    """The looks of one life of the master's worker."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._said: dict[str, Hold] | None = None
        self._next_look_at = 0.0

    def is_due(self, now: float) -> bool:
        return now >= self._next_look_at

    def first_look(self) -> Holds:
        """What the front must hear before anything else. Raises what the database says: without it a held replica might be used."""
        try:
            self._said = read_holds(self._connection)
        except NoSuchTable:
            self._said = {}  # it is an older schema, in which nothing can be held
        self._next_look_at = time.monotonic() + LOOK_EVERY_S
        return Holds(self._said)

    def look(self) -> Holds | None:
        """What the front is to hear; None when nothing has changed, or nothing could be seen: then what it knows stands."""
        self._next_look_at = time.monotonic() + LOOK_EVERY_S
        try:
            holds = read_holds(self._connection)
        except (StatementRefused, TryAgain, NoRoom):  # NoSuchTable is a StatementRefused
            return None
        if holds == self._said:
            return None
        self._said = holds
        return Holds(holds)

    def obey(self, order: HoldReplica) -> Holds:
        """Write it, and say what holds now, with why it was not done, if it was not."""
        refusal = ""
        try:
            write_hold(self._connection, order)
        except (StatementRefused, TryAgain, NoRoom) as error:
            refusal = str(error)
        seen = self.look()
        return Holds(self._said or {} if seen is None else seen.holds, order.number, refusal)
