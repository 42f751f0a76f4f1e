"""How the replica diff stands now: for the sampler, which judges it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable

from django.db.models import Count, Max, Min, Sum

from apps.dbsvr import diff_rules
from apps.dbsvr.diff.models import ENDED, GONE, NOT_COMPARED, STOPPED, DiffChunk, Difference, DiffRun

NAMED = 3


def diff_now(held: Iterable[str]) -> diff_rules.DiffNow:
    """`held`: the replicas that are not used. Raises the database's errors."""
    held = frozenset(held)
    found = Difference.objects.exclude(state=GONE).values("replica").annotate(rows=Count("id"), first=Min("first_seen_at"))
    differing = tuple(
        diff_rules.Differing(it["replica"], it["rows"], it["first"].timestamp(), _named(it["replica"]), it["replica"] in held)
        for it in found.order_by("replica")
    )
    return diff_rules.DiffNow(time.time(), differing, tuple(_gaps()))


def _named(replica: str) -> str:
    rows = Difference.objects.filter(replica=replica).exclude(state=GONE).order_by("id").values_list("table", "key")[:NAMED]
    return ", ".join(f"{table} {_key(key)}" for table, key in rows)


def _key(key: str) -> str:
    try:
        return "·".join(map(str, json.loads(key)))
    except (ValueError, TypeError):
        return key


def _gaps() -> Iterable[diff_rules.Gap]:
    """Of the newest run of each table on each replica: what it has not compared."""
    newest = DiffRun.objects.values("replica", "schema", "table").annotate(newest=Max("id")).values_list("newest", flat=True)
    runs = DiffRun.objects.filter(pk__in=list(newest), outcome=NOT_COMPARED, state__in=(ENDED, STOPPED)).order_by("pk")
    for run in runs:
        skipped = DiffChunk.objects.filter(run=run, outcome=NOT_COMPARED).aggregate(
            chunks=Count("id"), known=Count("rows"), rows=Sum("rows"), why=Max("why")
        )
        rows = int(skipped["rows"] or 0) + run.keys_not_compared
        is_known = skipped["chunks"] == skipped["known"] and bool(run.rows_compared)
        share = rows / (rows + run.rows_compared) if is_known and rows else None
        at = run.ended_at or run.created_at
        yield diff_rules.Gap(run.replica, run.table, run.pk, at.timestamp(), run.why or skipped["why"] or "", share)
