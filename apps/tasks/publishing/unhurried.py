"""A transaction in which Python may compute for a while between two statements.

The databases end a transaction that is idle for two seconds, so that a frozen worker of the DBSvr does not keep its rows. Ten thousand
documents take longer than that on a busy machine, and the rows that are held here are only those of drafts and of publishing itself.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import DatabaseError, connection, transaction

IDLE_S = 30


@contextmanager
def unhurried() -> Iterator[None]:
    """`transaction.atomic()`, which the database takes for dead after IDLE_S. Inside another one, that one's time holds."""
    if connection.in_atomic_block:
        with transaction.atomic():
            yield
        return
    with connection.cursor() as cursor:
        cursor.execute("SET idle_transaction_timeout = %s", [IDLE_S])
    try:
        with transaction.atomic():
            yield
    finally:
        # On a connection that broke there is nothing to set back.
        with contextlib.suppress(DatabaseError), connection.cursor() as cursor:
            cursor.execute("SET idle_transaction_timeout = DEFAULT")
