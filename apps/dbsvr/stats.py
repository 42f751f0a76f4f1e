"""What a DBSvr answers to TASK.STATS, as typed values.

Pure. The counters are cumulative since `run_id` began; a null is an unknown. Keys that are not named here are passed over, so
that a newer DBSvr can be watched by an older console; a key that is missing is a fault of the answer, never a zero.
"""

from __future__ import annotations

import msgspec


class Endpoint(msgspec.Struct, frozen=True):
    """One of the addresses of a server. `why`: what speaks against it."""

    endpoint: str
    state: str  # in use, fit, away, unknown
    why: str = ""


class Master(msgspec.Struct, frozen=True):
    state: str  # up, starting, down
    warning: str = ""
    endpoint: str = ""
    endpoints: tuple[Endpoint, ...] = ()
    pid: int | None = None
    epoch: int | None = None
    tick: int | None = None
    beat_age_ms: float | None = None


class Hold(msgspec.Struct, frozen=True):
    """Somebody has said that this replica is not to be used. `since`: epoch seconds."""

    why: str
    by: str
    since: float


class Replica(msgspec.Struct, frozen=True):
    state: str  # serving, catching_up, stopped, refused, held, silent, down
    refusal: str = ""
    endpoint: str = ""
    endpoints: tuple[Endpoint, ...] = ()
    pid: int | None = None
    tick: int | None = None
    lag_ms: float | None = None
    answer_age_ms: float | None = None
    io_running: bool | None = None
    sql_running: bool | None = None
    last_error: str = ""
    hold: Hold | None = None


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


class Lost(msgspec.Struct, frozen=True):
    """What the newest break of the master's timeline has undone. `is_complete`: these are all acknowledged writes that were lost."""

    generation: int
    cause: str  # promotion, restore, adoption
    fork_tick: int
    ticks: int
    writes: int
    is_complete: bool = True
    file: str = ""


class Segment(msgspec.Struct, frozen=True):
    first: int
    last: int
    home: str
    owner: str
    epoch: int
    state: str  # ours, taking, theirs, unknown


class Takeover(msgspec.Struct, frozen=True):
    """A change of owner, seen `at` this moment (seconds since 1970). `cause`: taken over, given, given back, configured."""

    segment: str
    epoch: int
    before: str = ""
    after: str = ""
    cause: str = ""
    at: float | None = None


class Peer(msgspec.Struct, frozen=True):
    """The connection to another DBSvr. `forwarded`: writes handed to it."""

    state: str  # up, silent, away
    forwarded: int = 0
    failed: int = 0


class MirrorTo(msgspec.Struct, frozen=True):
    """What another DBSvr knows of the trails of our segments. `lag_ms`: for how long the oldest change has waited to be known there."""

    lag_ms: float
    is_level: bool
    sent: int = 0
    resends: int = 0


class Follower(msgspec.Struct, frozen=True):
    """A client that follows the task configuration: a logic process, if it has a name."""

    name: str
    using: int
    asked_age_ms: float


class Config(msgspec.Struct, frozen=True):
    """The task configuration that the front hands down. `why`: why there is no look at the published one. `damage`: of a newer one."""

    revision: int | None = None
    look_age_ms: float | None = None
    why: str = ""
    damage: str = ""
    followers: tuple[Follower, ...] = ()


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
    lost: Lost | None = None
    segments: dict[str, Segment] = {}
    takeovers: tuple[Takeover, ...] = ()
    peers: dict[str, Peer] = {}
    mirror: dict[str, MirrorTo] = {}
    config: Config | None = None


decode_stats = msgspec.json.Decoder(Stats).decode
