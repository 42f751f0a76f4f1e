"""Differences as they are kept: seen again, gone, and what follows from too many of them.

A key has one row for each replica, whenever it was seen: `first_seen_at` begins anew when it comes back after it was gone.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from django.db.models import Count, Max, QuerySet
from django.utils import timezone

from apps.dbsvr.diff.comparison import Comparison, Found
from apps.dbsvr.diff.keys import Row, decode_key, encode_key, key_digest, row_as_json
from apps.dbsvr.diff.models import CHANGED, ENDED, EQUAL, EXTRA, GONE, MISSING, OPEN, Difference, DiffRun
from apps.dbsvr.diff.table_shape import TableShape


def note(run: DiffRun, table: TableShape, differing: Sequence[Found], now: datetime) -> None:
    """Keep what a chunk has found."""
    for found in differing:
        _keep(run.replica, table, found, now, run)


def _keep(replica: str, table: TableShape, found: Found, now: datetime, run: DiffRun | None) -> None:
    key = encode_key(found.key)
    row = found.master_row or found.replica_row
    if row is None:
        return  # deleted on both since it was judged
    seen = {
        "kind": MISSING if found.replica_row is None else EXTRA if found.master_row is None else CHANGED,
        "master_row": row_as_json(found.master_row),
        "replica_row": row_as_json(found.replica_row),
        "uid": _uid(table, row),
        "state": OPEN,
        "last_seen_at": now,
        "gone_at": None,
        **({"run": run} if run is not None else {}),
    }
    place = {"replica": replica, "schema": table.schema, "table": table.name, "key_digest": key_digest(key)}
    before = Difference.objects.filter(**place).first()
    if before is None:
        Difference.objects.create(**place, key=key, first_seen_at=now, **seen)
        return
    if before.state == GONE:
        seen |= {"first_seen_at": now, "repaired_by": "", "repair_reason": "", "repair_error": ""}
    Difference.objects.filter(pk=before.pk).update(**seen)


def look_again(differences: Sequence[Difference], table: TableShape, comparison: Comparison) -> None:
    """Settle these keys of one table on one replica: gone, still there, or not to be decided now."""
    by_key = {decode_key(each.key): each for each in differences}
    settled = comparison.settle(list(by_key))
    now = timezone.now()
    gone = [by_key[key].pk for key in settled.equal]
    Difference.objects.filter(pk__in=gone).update(state=GONE, gone_at=now, repair_error="")
    for found in settled.differing:
        before = by_key[found.key]
        _keep(before.replica, table, found, now, None)
        if before.repaired_by:
            Difference.objects.filter(pk=before.pk).update(repair_error="it still differs after the repair")
    for key in settled.undecided:
        Difference.objects.filter(pk=by_key[key].pk).update(state=OPEN, repair_error="it could not be compared again: it kept changing")


def recheck_unseen(run: DiffRun, table: TableShape, comparison: Comparison) -> None:
    """What stood open of this table and was not seen by this run: it may have gone, or lie outside of its range."""
    open_ones = Difference.objects.filter(replica=run.replica, schema=run.schema, table=run.table).exclude(state=GONE)
    unseen = list(open_ones.exclude(run=run)[:10_000])
    if unseen:
        look_again(unseen, table, comparison)


def open_differences() -> dict[tuple[str, str, str], int]:
    """For each (replica, schema, table) how many keys differ."""
    rows = Difference.objects.exclude(state=GONE).values_list("replica", "schema", "table").annotate(Count("pk"))
    return {(replica, schema, table): count for replica, schema, table, count in rows}


def last_clean_runs() -> dict[tuple[str, str, str], datetime]:
    """For each (replica, schema, table) when a run of the whole table, or of a sample, ended equal last."""
    rows = DiffRun.objects.filter(state=ENDED, outcome=EQUAL, first="", last="").values_list("replica", "schema", "table")
    return {(replica, schema, table): at for replica, schema, table, at in rows.annotate(Max("ended_at"))}


def seen_by(run: DiffRun) -> QuerySet[Difference]:
    return Difference.objects.filter(run=run).order_by("state", "pk")


def _uid(table: TableShape, row: Row) -> int | None:
    value = row.get("uid") if table.has_uid else None
    return int(value) if isinstance(value, str) and value.isdigit() else None
