"""What the page Replica diff reads of runs and differences."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from django.db.models import Count, Max, Sum

from apps.dbsvr.console.diff.present import Stretches
from apps.dbsvr.diff.models import EQUAL, GONE, NOT_COMPARED, DiffChunk, Difference, DiffRun

REASONS_SHOWN = 5


def last_runs() -> list[DiffRun]:
    """The newest run of each table on each replica: what is known of it now."""
    newest = DiffRun.objects.values("replica", "schema", "table").annotate(newest=Max("id")).values_list("newest", flat=True)
    return list(DiffRun.objects.filter(pk__in=list(newest)).order_by("replica", "schema", "table"))


def stretches_of(runs: Iterable[DiffRun]) -> dict[int, Stretches]:
    """What each run has covered, by its number."""
    sums: dict[int, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    reasons: dict[int, dict[str, int | None]] = defaultdict(dict)
    found = (
        DiffChunk.objects.filter(run__in=[run.pk for run in runs])
        .values("run_id", "outcome", "why")
        .annotate(chunks=Count("id"), known=Count("rows"), all_rows=Sum("rows"))
    )
    for row in found:
        number, rows = row["run_id"], int(row["all_rows"] or 0)
        if row["outcome"] == NOT_COMPARED:
            unknown = row["chunks"] - row["known"]
            sums[number]["skipped"] += rows
            sums[number]["unknown"] += unknown
            reasons[number][row["why"]] = None if unknown else rows
        else:
            sums[number]["equal" if row["outcome"] == EQUAL else "different"] += rows
    return {
        number: Stretches(
            it["equal"],
            it["different"],
            it["skipped"],
            it["unknown"],
            tuple(sorted(reasons[number].items(), key=lambda item: -(item[1] or 2**63))[:REASONS_SHOWN]),
        )
        for number, it in sums.items()
    }


def open_differences() -> dict[str, int]:
    """How many rows differ now, by replica."""
    rows = Difference.objects.exclude(state=GONE).values("replica").annotate(differences=Count("id"))
    return {row["replica"]: row["differences"] for row in rows}
