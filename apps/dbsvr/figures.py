"""From two answers to TASK.STATS to the figures of one second.

Pure. Counters become rates; a change of `run_id` is a restart, after which there is no rate until the second answer of the new
run. A rate is never negative and never guessed: without a usable answer before it, it is None, which is *unknown*, not zero.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from apps.dbsvr.stats import Config, Endpoint, Hold, Lost, MirrorTo, Peer, Segment, Stats, Takeover

MAX_GAP_S = 3.0
"""Counters further apart than this give no rate: the mean over a gap would be shown as if it were this second's."""

FOLLOWS_WITHIN_MS = 5_000
"""A process asks once a second. One that has not asked for so long has gone to another DBSvr, or has ended."""

MASTER = "master"


class ReplicaFigures(msgspec.Struct, frozen=True):
    """One replica in one second. `reads` is reads/s that it answered."""

    state: str
    tick: int | None = None
    lag_ms: float | None = None
    answer_age_ms: float | None = None
    io_running: bool | None = None
    sql_running: bool | None = None
    last_error: str = ""
    reads: float | None = None
    running: bool = True
    """Its worker process exists: it has told its process id."""
    refusal: str = ""
    endpoint: str = ""
    endpoints: tuple[Endpoint, ...] = ()
    hold: Hold | None = None


class MasterFigures(msgspec.Struct, frozen=True):
    state: str
    tick: int | None = None
    beat_age_ms: float | None = None
    endpoint: str = ""
    running: bool = True
    warning: str = ""
    endpoints: tuple[Endpoint, ...] = ()


class QueueFigures(msgspec.Struct, frozen=True):
    """`waiting` counts tickets in the kernel's queue and requests held for it."""

    waiting: int
    oldest_ms: float


class ConfigFigures(msgspec.Struct, frozen=True):
    """The task configuration that the front hands down. `behind`: logic processes that use an older one, and which."""

    revision: int | None = None
    look_age_ms: float | None = None
    why: str = ""
    damage: str = ""
    behind: dict[str, int] = {}


class Figures(msgspec.Struct, frozen=True):
    """One DBSvr in one second. Rates are per second; None is unknown."""

    run_id: int
    started_at: float
    master: MasterFigures
    replicas: dict[str, ReplicaFigures]
    queues: dict[str, QueueFigures]
    stamps: int
    in_flight: int
    connections: int
    reads_total: int = 0
    reads: float | None = None
    reads_master: float | None = None
    reasons: dict[str, float] = {}
    safe: float | None = None
    writes: float | None = None
    writes_repeated: float | None = None
    writes_refused: float | None = None
    batches: float | None = None
    commit_ms: float | None = None
    """Mean over the commits of this second; None when there was none."""
    clears: float | None = None
    errors: dict[str, float] = {}
    read_p50_ms: float | None = None
    read_p99_ms: float | None = None
    write_p50_ms: float | None = None
    write_p99_ms: float | None = None
    generation: int | None = None
    lost: Lost | None = None
    segments: dict[str, Segment] = {}
    takeovers: tuple[Takeover, ...] = ()
    peers: dict[str, Peer] = {}
    mirror: dict[str, MirrorTo] = {}
    config: ConfigFigures | None = None

    @property
    def replica_reads(self) -> float | None:
        """Reads/s that replicas answered."""
        return None if self.reads is None or self.reads_master is None else max(0.0, self.reads - self.reads_master)


class Sample(msgspec.Struct, frozen=True):
    """What one second brought from one DBSvr: figures, or the reason why there are none.

    `master_tick` is the tick that the database itself shows for this DBSvr, looked at only while the DBSvr gives no answer.
    """

    instance: str
    at: float
    figures: Figures | None = None
    why_not: str = ""  # refused, timeout, unreachable, login, garbled
    master_tick: int | None = None


def figures(previous: Stats | None, current: Stats, elapsed_s: float) -> Figures:
    """The figures of `current`, with rates over the `elapsed_s` seconds since `previous`."""
    usable = previous is not None and previous.run_id == current.run_id and 0 < elapsed_s <= MAX_GAP_S
    before = previous if usable else None

    def rate(count: Callable[[Stats], float]) -> float | None:
        # Counters only grow within one run. One that shrank is not understood, so it says nothing.
        grown = None if before is None else count(current) - count(before)
        return None if grown is None or grown < 0 else grown / elapsed_s

    def rates(counts: Callable[[Stats], Mapping[str, int]]) -> dict[str, float]:
        named = {name: rate(lambda stats, name=name: counts(stats).get(name, 0)) for name in counts(current)}  # type: ignore[misc]
        return {name: value for name, value in named.items() if value is not None}

    by_server = rates(lambda stats: stats.reads.by_server)
    commit_ms = None
    if before is not None and current.writes.batches > before.writes.batches:
        committed = current.writes.batches - before.writes.batches
        commit_ms = max(0.0, current.writes.commit_ms_total - before.writes.commit_ms_total) / committed
    latency = current.latency_ms
    return Figures(
        run_id=current.run_id,
        started_at=current.started_at,
        master=MasterFigures(
            state=current.master.state,
            tick=current.master.tick,
            beat_age_ms=current.master.beat_age_ms,
            endpoint=current.master.endpoint,
            running=current.master.pid is not None,
            warning=current.master.warning,
            endpoints=current.master.endpoints,
        ),
        replicas={
            name: ReplicaFigures(
                state=replica.state,
                tick=replica.tick,
                lag_ms=replica.lag_ms,
                answer_age_ms=replica.answer_age_ms,
                io_running=replica.io_running,
                sql_running=replica.sql_running,
                last_error=replica.last_error,
                reads=None if before is None else by_server.get(name, 0.0),
                running=replica.pid is not None,
                refusal=replica.refusal,
                endpoint=replica.endpoint,
                endpoints=replica.endpoints,
                hold=replica.hold,
            )
            for name, replica in current.replicas.items()
        },
        queues={name: QueueFigures(queue.depth + queue.backlog, queue.oldest_ms) for name, queue in current.queues.items()},
        stamps=current.users.stamps,
        in_flight=current.users.in_flight,
        connections=current.connections.now,
        reads_total=current.reads.total,
        reads=rate(lambda stats: stats.reads.total),
        reads_master=None if before is None else by_server.get(MASTER, 0.0),
        reasons=rates(lambda stats: stats.reads.by_reason),
        safe=rate(lambda stats: stats.reads.safe),
        writes=rate(lambda stats: stats.writes.total),
        writes_repeated=rate(lambda stats: stats.writes.repeated),
        writes_refused=rate(lambda stats: stats.writes.refused),
        batches=rate(lambda stats: stats.writes.batches),
        commit_ms=commit_ms,
        clears=rate(lambda stats: stats.clears.total),
        errors=rates(lambda stats: stats.errors),
        read_p50_ms=latency["read"].p50 if "read" in latency else None,
        read_p99_ms=latency["read"].p99 if "read" in latency else None,
        write_p50_ms=latency["write"].p50 if "write" in latency else None,
        write_p99_ms=latency["write"].p99 if "write" in latency else None,
        generation=current.generation,
        lost=current.lost,
        segments=current.segments,
        takeovers=current.takeovers,
        peers=current.peers,
        mirror=current.mirror,
        config=None if current.config is None else _config(current.config),
    )


def _config(config: Config) -> ConfigFigures:
    behind = {
        each.name: each.using
        for each in config.followers
        if each.name and each.using < (config.revision or 0) and each.asked_age_ms < FOLLOWS_WITHIN_MS
    }
    return ConfigFigures(config.revision, config.look_age_ms, config.why, config.damage, behind)
