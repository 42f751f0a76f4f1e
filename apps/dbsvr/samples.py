"""Samples in the database: written each second, rolled up into coarser steps, deleted when old, read for charts.

Everything is safe to repeat: a step that is rolled up twice is written over with the same figures. Statements are bounded in rows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from django.db import connection
from django.db.models import Max, Model

from apps.dbsvr.columns import SAMPLE, SERVER_SAMPLE, sample_row, server_rows
from apps.dbsvr.figures import Sample as SecondSample
from apps.dbsvr.models import Sample, ServerSample
from apps.dbsvr.steps import FINER, STEPS, closed_before, combine, step_start

DELETE_AT_ONCE = 5_000
ROLL_UP_AT_ONCE_S = 4 * 3600
"""The longest stretch that one call rolls up; what is left follows at the next."""


def write_seconds(samples: Iterable[SecondSample]) -> None:
    """Write the samples that have figures. A second that is there already stays as it is (a clock that was set back)."""
    rows: list[Sample] = []
    servers: list[ServerSample] = []
    for sample in samples:
        if sample.figures is None:
            continue
        key: dict[str, Any] = {"step_s": 1, "instance": sample.instance, "at": int(sample.at)}
        rows.append(Sample(**key, **sample_row(sample.figures)))
        servers += [ServerSample(**key, server=name, **row) for name, row in server_rows(sample.figures).items()]
    Sample.objects.bulk_create(rows, ignore_conflicts=True)
    ServerSample.objects.bulk_create(servers, ignore_conflicts=True)


def roll_up(seconds: int, now: float) -> int:
    """Make all closed steps of `seconds` that are missing from the finer one. Returns the number of rows written."""
    how = {name: column.combine for name, column in SAMPLE.items()}
    return _roll_up(Sample, (), how, seconds, now) + _roll_up(ServerSample, ("server",), SERVER_SAMPLE, seconds, now)


def _roll_up(model: type[Model], names: Sequence[str], how: dict[str, str], seconds: int, now: float) -> int:
    finer, end = FINER[seconds], closed_before(now, seconds)
    groups = ("instance", *names)
    newest = {
        tuple(row[name] for name in groups): row["newest"]
        for row in model._default_manager.filter(step_s=seconds).values(*groups).annotate(newest=Max("at"))
    }
    written = 0
    for key in model._default_manager.filter(step_s=finer).values_list(*groups).distinct():
        # The newest row is made again: it may have been made before all of its seconds were there.
        start = max(newest.get(tuple(key), 0), step_start(now - STEPS[finer].keep_s, seconds))
        named = dict(zip(groups, key, strict=True))
        upto = min(end, start + ROLL_UP_AT_ONCE_S * max(1, seconds // 10))
        by_step: dict[int, list[Any]] = defaultdict(list)
        for row in model._default_manager.filter(step_s=finer, at__gte=start, at__lt=upto, **named).values():
            by_step[step_start(row["at"], seconds)].append((row, row["known"]))
        rows = [
            model(step_s=seconds, at=at, known=sum(known for _row, known in rows), **named, **combine(rows, how))
            for at, rows in by_step.items()
        ]
        model._default_manager.bulk_create(rows, update_conflicts=True, update_fields=["known", *how], batch_size=500)
        written += len(rows)
    return written


def delete_old(now: float) -> int:
    """Delete what is older than its step is kept. Small statements, so that nothing waits for them."""
    deleted = 0
    with connection.cursor() as cursor:
        for model in (Sample, ServerSample):
            for step in STEPS.values():
                for (instance,) in model._default_manager.filter(step_s=step.seconds).values_list("instance").distinct():
                    while True:
                        cursor.execute(
                            f"DELETE FROM {model._meta.db_table} WHERE step_s = %s AND instance = %s AND at < %s LIMIT {DELETE_AT_ONCE}",
                            [step.seconds, instance, int(now) - step.keep_s],
                        )
                        deleted += cursor.rowcount
                        if cursor.rowcount < DELETE_AT_ONCE:
                            break
    return deleted


def newest_at(step_s: int, instance: str) -> int | None:
    """The beginning of the newest step there is."""
    return _edge(step_s, instance, "-at")


def oldest_at(step_s: int, instance: str) -> int | None:
    """The beginning of the oldest step there is."""
    return _edge(step_s, instance, "at")


def _edge(step_s: int, instance: str, order: str) -> int | None:
    return Sample.objects.filter(step_s=step_s, instance=instance).order_by(order).values_list("at", flat=True).first()


def read_columns(step_s: int, instance: str, columns: Sequence[str], after: int, upto: int) -> dict[int, tuple[float | None, ...]]:
    """The named columns of a DBSvr's samples with after < at <= upto, by `at`."""
    rows = Sample.objects.filter(step_s=step_s, instance=instance, at__gt=after, at__lte=upto).values_list("at", *columns)
    return {row[0]: tuple(row[1:]) for row in rows}


def read_servers(step_s: int, instance: str, column: str, after: int, upto: int) -> dict[int, dict[str, float | None]]:
    """One column of all its servers with after < at <= upto, by `at` and server."""
    by_at: dict[int, dict[str, float | None]] = defaultdict(dict)
    for name in servers(instance, step_s, after):
        rows = ServerSample.objects.filter(step_s=step_s, instance=instance, server=name, at__gt=after, at__lte=upto)
        for at, value in rows.values_list("at", column):
            by_at[at][name] = value
    return by_at


def servers(instance: str, step_s: int, since: int) -> list[str]:
    """The servers that have samples since then."""
    rows = ServerSample.objects.filter(step_s=step_s, instance=instance).values("server").annotate(newest=Max("at"))
    return sorted(row["server"] for row in rows if row["newest"] >= since)


def worst_lag_ms(instance: str, since: int) -> float | None:
    """The worst lag of any replica since then, from the steps of ten seconds."""
    rows = ServerSample.objects.filter(step_s=10, instance=instance, at__gte=since)
    worst: float | None = rows.aggregate(worst=Max("lag_ms"))["worst"]
    return worst
