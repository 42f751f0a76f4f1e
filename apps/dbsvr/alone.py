"""One at a time, whichever process it is: a lock of the database `default` by its name, which ends with its holder's connection."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from django.db import DatabaseError, connection


@contextlib.contextmanager
def alone(lock: str) -> Iterator[bool]:
    """True to whoever has it; nobody waits. Raises DatabaseError."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT GET_LOCK(%s, 0)", [lock])
        is_alone = cursor.fetchone()[0] == 1
        try:
            yield is_alone
        finally:
            if is_alone:
                with contextlib.suppress(DatabaseError):  # gone with its connection then
                    cursor.execute("SELECT RELEASE_LOCK(%s)", [lock])
