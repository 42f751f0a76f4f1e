"""Builders of what a sampler sees: a healthy DBSvr, of which a test changes the one thing that it is about."""

from __future__ import annotations

from typing import Any

import msgspec

from apps.dbsvr.figures import Figures, MasterFigures, QueueFigures, ReplicaFigures, Sample
from apps.dbsvr.stats import Stats, decode_stats

START = 1_796_000_000.0


def replica(**changes: Any) -> ReplicaFigures:
    """In step, answering 90 reads/s."""
    well = ReplicaFigures("serving", tick=1000, lag_ms=20.0, answer_age_ms=100.0, io_running=True, sql_running=True, reads=90.0)
    return msgspec.structs.replace(well, **changes)


def healthy(second: int = 0, **changes: Any) -> Figures:
    """One master, replicas r1 and r2, 200 reads/s of which the master answers 20. Ticks move with the seconds."""
    tick = 1000 + second * 10
    well = Figures(
        run_id=1,
        started_at=START - 3600,
        master=MasterFigures("up", tick=tick, beat_age_ms=50.0),
        replicas={"r1": replica(tick=tick), "r2": replica(tick=tick)},
        queues={name: QueueFigures(waiting=1, oldest_ms=4.0) for name in ("finish", "query", "clear")},
        stamps=10,
        in_flight=1,
        connections=5,
        reads_total=1000 + second * 200,
        reads=200.0,
        reads_master=20.0,
        reasons={"recent_write": 20.0},
        safe=180.0,
        writes=30.0,
        clears=0.0,
        errors={"OVERLOADED": 0.0, "MASTERDOWN": 0.0},
    )
    return msgspec.structs.replace(well, **changes)


def sample(second: int, **changes: Any) -> Sample:
    return Sample("a", START + second, healthy(second, **changes))


def missed(second: int, why: str = "timeout", tick: int | None = None) -> Sample:
    return Sample("a", START + second, None, why, tick)


def stats(**changes: Any) -> Stats:
    """An answer to TASK.STATS, as it comes over the wire."""
    answer: dict[str, Any] = {
        "instance": "a",
        "run_id": 7,
        "now": START,
        "started_at": START - 60,
        "master": {"state": "up", "tick": 5, "beat_age_ms": 20.0, "pid": 10},
        "replicas": {"r1": {"state": "serving", "tick": 5, "lag_ms": 1.0, "pid": 11}},
        "reads": {"total": 0, "by_server": {"master": 0, "r1": 0}, "by_reason": {"spill": 0}, "safe": 0},
        "writes": {"total": 0, "batches": 0, "commit_ms_total": 0.0},
        "clears": {"total": 0},
        "queues": {"query": {"depth": 2, "backlog": 3, "oldest_ms": 4.0}},
        "latency_ms": {"read": {"p50": 1.0, "p99": 2.0}, "write": {"p50": None, "p99": None}},
        "errors": {"OVERLOADED": 0},
        "users": {"stamps": 1, "in_flight": 0},
        "connections": {"now": 1},
    }
    return decode_stats(msgspec.json.encode({**answer, **changes}))
