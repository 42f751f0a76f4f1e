"""The figures that are kept, one column each: where they come from and how several of them become one.

Pure. Rates are combined by their mean, ages, lags and p99 by their worst, because a mean hides the spike that one is looking for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from apps.dbsvr.figures import MASTER, Figures

MEAN, WORST = "mean", "worst"

REASONS = ("in_flight", "recent_write", "replica_lag", "replica_down", "spill", "aged", "handed_back", "fresh_start", "not_owner")
ERRORS = ("BADARG", "TOOBIG", "NOAUTH", "OVERLOADED", "MASTERDOWN", "TIMEOUT", "REFUSED", "NOTOWNER")
QUEUES = ("finish", "query", "clear")


class Column(NamedTuple):
    pick: Callable[[Figures], float | None]
    combine: str


def _reason(name: str) -> Column:
    return Column(lambda figures: None if figures.reads is None else figures.reasons.get(name, 0.0), MEAN)


def _error(code: str) -> Column:
    return Column(lambda figures: None if figures.reads is None else figures.errors.get(code, 0.0), MEAN)


def _waiting(queue: str) -> Column:
    return Column(lambda figures: figures.queues[queue].waiting if queue in figures.queues else None, WORST)


def _oldest(queue: str) -> Column:
    return Column(lambda figures: figures.queues[queue].oldest_ms if queue in figures.queues else None, WORST)


SAMPLE: dict[str, Column] = {
    "reads": Column(lambda it: it.reads, MEAN),
    "reads_master": Column(lambda it: it.reads_master, MEAN),
    "safe": Column(lambda it: it.safe, MEAN),
    **{f"reason_{name}": _reason(name) for name in REASONS},
    "writes": Column(lambda it: it.writes, MEAN),
    "writes_repeated": Column(lambda it: it.writes_repeated, MEAN),
    "writes_refused": Column(lambda it: it.writes_refused, MEAN),
    "batches": Column(lambda it: it.batches, MEAN),
    "commit_ms": Column(lambda it: it.commit_ms, WORST),
    "clears": Column(lambda it: it.clears, MEAN),
    **{f"{queue}_waiting": _waiting(queue) for queue in QUEUES},
    **{f"{queue}_oldest_ms": _oldest(queue) for queue in QUEUES},
    "read_p50_ms": Column(lambda it: it.read_p50_ms, MEAN),
    "read_p99_ms": Column(lambda it: it.read_p99_ms, WORST),
    "write_p50_ms": Column(lambda it: it.write_p50_ms, MEAN),
    "write_p99_ms": Column(lambda it: it.write_p99_ms, WORST),
    **{f"error_{code.lower()}": _error(code) for code in ERRORS},
    "stamps": Column(lambda it: it.stamps, WORST),
    "in_flight": Column(lambda it: it.in_flight, WORST),
    "connections": Column(lambda it: it.connections, WORST),
}

SERVER_SAMPLE: dict[str, str] = {"reads": MEAN, "lag_ms": WORST, "answer_age_ms": WORST}


def sample_row(figures: Figures) -> dict[str, float | None]:
    """The columns of one second of a DBSvr."""
    return {name: column.pick(figures) for name, column in SAMPLE.items()}


def server_rows(figures: Figures) -> dict[str, dict[str, float | None]]:
    """The columns of one second of each of its servers. The master is never behind itself, so it has no lag."""
    rows: dict[str, dict[str, float | None]] = {
        MASTER: {"reads": figures.reads_master, "lag_ms": None, "answer_age_ms": figures.master.beat_age_ms}
    }
    for name, replica in figures.replicas.items():
        gone = replica.state in ("silent", "down")
        rows[name] = {"reads": replica.reads, "lag_ms": None if gone else replica.lag_ms, "answer_age_ms": replica.answer_age_ms}
    return rows
