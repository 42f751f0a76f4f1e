"""Table `config_revision`, as the master's worker looks at it: which revision is the newest, and its bundle when the front lacks it.

The one place of `workers` that knows that table; publishing alone writes it. A look is one small statement on the worker's own
connection, a few times a second and never more often than the worker wakes up anyway. Whatever is wrong with the table (it is not there
yet, it is locked by a migration, the account may not read it) is said to the front, and harms no read and no write.
"""

from __future__ import annotations

import time

from workers.database import Connection, NoRoom, StatementRefused, TryAgain
from workers.messages import Frame, RevisionSeen, RevisionTaken
from workers.protocol import MAX_BODY_BYTES

LOOK_EVERY_S = 0.18
"""Not 0.2: a worker that wakes for its beat every 0.1 s should not come a moment too early."""
LOOK_AGAIN_S = 1.0
"""After a look that failed."""


def newest_revision(connection: Connection, schema: str) -> tuple[int, str]:
    """Number and ETag of the newest revision; (0, "") when none is published. Raises StatementRefused, TryAgain, NoRoom."""
    rows = connection.query(f"{_impatient(connection)}SELECT number, etag FROM `{schema}`.config_revision ORDER BY number DESC LIMIT 1")
    if not rows:
        return 0, ""
    return int(rows[0][0] or 0), (rows[0][1] or b"").decode()


def bundle_of(connection: Connection, schema: str, number: int) -> tuple[bytes | None, int]:
    """The revision's bundle as gzip, and its size; None when it is larger than MAX_BODY_BYTES, or gone."""
    rows = connection.query(
        f"{_impatient(connection)}SELECT IF(LENGTH(bundle) <= {MAX_BODY_BYTES}, bundle, NULL), LENGTH(bundle)"
        f" FROM `{schema}`.config_revision WHERE number = {number}"
    )
    return (rows[0][0], int(rows[0][1] or 0)) if rows else (None, 0)


def _impatient(connection: Connection) -> str:
    """Never behind a lock on the table's definition: while a migration changes it, the last known stands."""
    return "SET STATEMENT lock_wait_timeout = 0 FOR " if connection.is_mariadb else ""


class Revisions:
    """The looks of one life of the master's worker."""

    def __init__(self, connection: Connection, schema: str, held_etag: str) -> None:
        """`held_etag`: of what the front holds already."""
        self._connection = connection
        self._schema = schema
        self._held_etag = held_etag
        self._next_look_at = 0.0

    def is_due(self, now: float) -> bool:
        return now >= self._next_look_at

    def look(self) -> Frame:
        """What the front is to hear. Raises DatabaseGone, as everything on this connection may."""
        looked_at = time.monotonic()
        self._next_look_at = looked_at + LOOK_EVERY_S
        try:
            number, etag = newest_revision(self._connection, self._schema)
            if not number or etag == self._held_etag:
                return RevisionSeen(looked_at, number, etag, "")
            body, size = bundle_of(self._connection, self._schema, number)
        except (StatementRefused, TryAgain, NoRoom) as error:
            self._next_look_at = looked_at + LOOK_AGAIN_S
            return RevisionSeen(looked_at, 0, "", str(error))
        if body is None:
            self._next_look_at = looked_at + LOOK_AGAIN_S
            return RevisionSeen(
                looked_at, number, etag, f"its bundle has {size} bytes as gzip, at most {MAX_BODY_BYTES} can be handed down"
            )
        self._held_etag = etag
        return RevisionTaken(looked_at, number, etag, body)
