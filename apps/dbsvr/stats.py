"""What a DBSvr answers to TASK.STATS, as typed values.

Pure. The counters are cumulative since `run_id` began; a null is an unknown. Keys that are not named here are passed over, so
that a newer DBSvr can be watched by an older console; a key that is missing is a fault of the answer, never a zero.
"""

from __future__ import annotations

import msgspec


class Master(msgspec.Struct, frozen=True):
    state: str  # up, starting, down
    endpoint: str = ""
    pid: int | None = None
    epoch: int | None = None
    tick: int | None = None
    beat_age_ms: float | None = None


class Replica(msgspec.Struct, frozen=True):
    state: str  # serving, catching_up, stopped, silent, down
    endpoint: str = ""
    pid: int | None = None
    tick: int | None = None
    lag_ms: float | None = None
    answer_age_ms: float | None = None
    io_running: bool | None = None
    sql_running: bool | None = None
    last_error: str = ""


class Reads(msgspec.Struct, frozen=True):
    total: int
    by_server: dict[str, int]
    by_reason: dict[str, int]
    safe: int


class Writes(msgspec.Struct, frozen=True):
    total: int
    applied: int = 0
    repeated: int = 0
    refused: int = 0
    batches: int = 0
    commit_ms_total: float = 0.0


class Clears(msgspec.Struct, frozen=True):
    total: int
    applied: int = 0
    repeated: int = 0


class Queue(msgspec.Struct, frozen=True):
    """`depth` tickets in the kernel's queue, `backlog` requests that the front still holds for it."""

    depth: int
    backlog: int
    oldest_ms: float


class Latency(msgspec.Struct, frozen=True):
    p50: float | None = None
    p99: float | None = None


class Users(msgspec.Struct, frozen=True):
    stamps: int
    in_flight: int


class Connections(msgspec.Struct, frozen=True):
    now: int
    accepted: int = 0
    cut: int = 0


class Stats(msgspec.Struct, frozen=True):
    instance: str
    run_id: int
    now: float
    started_at: float
    master: Master
    replicas: dict[str, Replica]
    reads: Reads
    writes: Writes
    clears: Clears
    queues: dict[str, Queue]
    latency_ms: dict[str, Latency]
    errors: dict[str, int]
    users: Users
    connections: Connections
    generation: int | None = None
    floor: int | None = None


decode_stats = msgspec.json.Decoder(Stats).decode
