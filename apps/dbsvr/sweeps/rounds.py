"""One round of a sweep: piece after piece, each written down before the next is looked at.

Who works holds a lock of the database by the table's name, so there is one at a time, and a worker that is killed holds it no longer.
The next one begins with the piece after the last that was written down; to delete a piece twice is harmless. No transaction is longer
than one statement that names the rows that it deletes by their primary keys: it waits for no row that anybody makes, and nobody waits
for a gap. After each statement the sweep rests for as long as it took.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Iterator, Sequence
from datetime import date
from typing import Any, NamedTuple, Protocol

from django.db import DatabaseError
from django.utils import timezone

from apps.dbsvr.alone import alone
from apps.dbsvr.sweeps.models import Sweep
from apps.dbsvr.sweeps.pace import Pace
from apps.dbsvr.sweeps.schedule import is_due, may_try
from tasksys_site.configuration import Configuration

log = logging.getLogger(__name__)

SLICE_S = 20.0
PIECE_ROWS = 2_000
LONGEST_REST_S = 1.0
WAIT_S = 0.25
DENIED = (1044, 1045, 1142, 1143, 1227, 1698)
TRY_AGAIN = (1205, 1213)
"""A row was locked for too long, or two transactions stood in each other's way: the same will work in a moment."""


class Piece(NamedTuple):
    """A stretch of the table, `looked` rows long. `doomed`: the primary keys of those to delete. `end`: the cursor after it; "": that
    was all. `oldest`: the oldest day of those that stay."""

    looked: int
    doomed: Sequence[tuple[Any, ...]]
    end: str
    oldest: date | None


class Table(Protocol):
    """What a sweep asks of a table; errors of the database come through."""

    name: str

    def first_day_kept(self) -> date | None:
        """None: rows are kept for ever."""

    def look(self, cursor: str, before: date, rows: int) -> Piece: ...

    def delete(self, keys: Sequence[tuple[Any, ...]], before: date) -> int:
        """Those of these rows that are still to be deleted; how many they were."""


def work(table: Table, configuration: Configuration, pace: Pace, slice_s: float = SLICE_S) -> bool:
    """A slice of time of the table's round, or the first slice of a new one if that is due. True when there is more to do."""
    with alone(f"{configuration.databases.configuration_schema}.sweep.{table.name}") as is_alone:
        if not is_alone:
            return False
        sweep = Sweep.objects.get_or_create(pk=table.name)[0]
        try:
            if not _is_to_work(sweep, table, configuration.sweep.at):
                return False
            is_more = _go_on(sweep, table, pace, configuration.sweep.rows_at_once, time.monotonic() + slice_s)
        except DatabaseError as error:
            _note_error(sweep, error, configuration)
            return False
        if sweep.error:
            log.warning("a table is swept again", extra={"table": table.name})
            sweep.error, sweep.failed_at, sweep.failing_since = "", None, None
            sweep.save()
        return is_more


def _is_to_work(sweep: Sweep, table: Table, at: str) -> bool:
    now = timezone.now()
    if not may_try(now, sweep.failed_at):
        return False
    if sweep.is_under_way:
        return bool(at)
    if not is_due(at, now, sweep.began_at) or (before := table.first_day_kept()) is None:
        return False
    sweep.before, sweep.began_at = before, now
    sweep.gone_before = before if sweep.gone_before is None else max(before, sweep.gone_before)
    sweep.cursor, sweep.looked, sweep.removed, sweep.oldest_so_far = "", 0, 0, None
    sweep.save()  # before the first row goes: who asks whether an event may be forgotten asks this row
    return True


def _go_on(sweep: Sweep, table: Table, pace: Pace, rows_at_once: int, until: float) -> bool:
    before = sweep.before
    assert before is not None
    while time.monotonic() < until:
        waits = pace.why_wait()
        if waits != sweep.waits:
            sweep.waits = waits[:200]
            sweep.save(update_fields=["waits"])
        if waits:
            time.sleep(WAIT_S)
            continue
        with _then_rest():
            piece = table.look(sweep.cursor, before, PIECE_ROWS)
        removed = 0
        for first in range(0, len(piece.doomed), rows_at_once):
            with _then_rest():
                removed += table.delete(piece.doomed[first : first + rows_at_once], before)
        sweep.cursor = piece.end
        sweep.looked += piece.looked
        sweep.removed += removed
        sweep.removed_ever += removed
        sweep.oldest_so_far = min((day for day in (sweep.oldest_so_far, piece.oldest) if day is not None), default=None)
        if not piece.end:
            sweep.oldest, sweep.ended_at = sweep.oldest_so_far, timezone.now()
        sweep.save()
        if not piece.end:
            log.info("a table was swept", extra={"table": table.name, "before": before, "looked": sweep.looked, "removed": sweep.removed})
            return False
    return True


def _note_error(sweep: Sweep, error: DatabaseError, configuration: Configuration) -> None:
    """Raises it again when there is nowhere to write it down."""
    number = error.args[0] if error.args and isinstance(error.args[0], int) else 0
    if number in TRY_AGAIN:
        return
    databases = configuration.databases
    said = " ".join(map(str, error.args))
    if number in DENIED:
        account = databases.accounts.web.user
        said = f"account {account} may not: GRANT SELECT, DELETE ON `{databases.user_schema}`.{sweep.table} TO {account} ({said})"
    now = timezone.now()
    noted = {"error": said[:500], "failed_at": now, "failing_since": sweep.failing_since or now}
    try:
        Sweep.objects.filter(pk=sweep.pk).update(**noted)
    except DatabaseError:
        raise error from None
    log.warning("a table cannot be swept", extra={"table": sweep.table, "error": said})


@contextlib.contextmanager
def _then_rest() -> Iterator[None]:
    began = time.monotonic()
    yield
    time.sleep(min(LONGEST_REST_S, time.monotonic() - began))
