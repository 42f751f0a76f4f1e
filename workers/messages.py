"""What a front and its workers say to each other on one host.

Two ways: *tickets*, small messages that stand for a request in a SysV queue, and *frames*, which carry everything of
any size over the local socket. Pure: bytes in, values out.

A ticket, little-endian; its message type says who may take it, the rest proves it:

    0        4        8                16               24               32               40
    | run id | gener. | request id     | stamp          | expires at, ms | uid            | …

A write has one uid, and a read as many as travel in its group: up to MOST_USERS.

`expires_at_ms` is CLOCK_MONOTONIC, which all processes of one host share. A frame is its length (4 bytes, little-endian)
and a MessagePack array whose first element names it.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import msgspec

MASTER_ONLY = 2**31 - 1
"""The message type of reads that only the master may answer; also the largest that a queue takes."""

MAX_FRAME_BYTES = 64 * 1024 * 1024
NEVER_MS = 2**63
MOST_USERS = 64
"""In one ticket: so that a few groups do not fill a stock queue."""
_FORMS = [struct.Struct(f"<IIQQQ{users}Q") for users in range(MOST_USERS + 1)]
_PACK, _UNPACK = [form.pack for form in _FORMS], [form.unpack for form in _FORMS]
_HEAD_BYTES = _FORMS[0].size
_UID_BYTES = _FORMS[1].size - _HEAD_BYTES
MAX_TICKET_BYTES = _FORMS[-1].size


class Ticket(NamedTuple):
    """`stamp`: the largest of its users'."""

    run_id: int
    generation: int
    request_id: int
    stamp: int
    expires_at_ms: int
    uids: tuple[int, ...]


def encode_ticket(run_id: int, generation: int, request_id: int, stamp: int, expires_at_ms: int, uids: Sequence[int]) -> bytes:
    return _PACK[len(uids)](run_id, generation, request_id, stamp, expires_at_ms, *uids)


def decode_ticket(message: bytes) -> Ticket | None:
    """The ticket in a queue message; None for anything that no front of ours can have sent."""
    size = len(message)
    if not _HEAD_BYTES < size <= MAX_TICKET_BYTES or size % _UID_BYTES:
        return None
    fields = _UNPACK[(size - _HEAD_BYTES) // _UID_BYTES](message)
    return Ticket(fields[0], fields[1], fields[2], fields[3], fields[4], fields[5:])


def ticket_bytes(tickets: int, users: int) -> int:
    """How large so many tickets are, for so many users altogether."""
    return tickets * _HEAD_BYTES + users * _UID_BYTES


def users_in(tickets: int, size: int) -> int:
    """For how many users so many tickets are, that are so large altogether."""
    return (size - tickets * _HEAD_BYTES) // _UID_BYTES


def message_type(stamp: int, base: int) -> int:
    """The type of a read that must see `stamp`: 1 for everything up to `base`, one more for each tick after it."""
    return 1 + stamp - base if stamp > base else 1


class SegmentRow(NamedTuple):
    """Who owns which users: one row of `segment_owner`. Both bounds belong to the segment."""

    segment: str
    first: int
    last: int
    home: str
    owner: str
    epoch: int
    lease_ms: int


class Frame(msgspec.Struct, array_like=True, frozen=True, tag=True):
    """Something said over the local socket."""


class Hold(NamedTuple):
    """A replica is not to be used: one row of `replica_hold`. `since_ms`: epoch, by the master's clock."""

    reason: str
    by: str
    since_ms: int


# --- front to worker


class Welcome(Frame, frozen=True):
    """First word of a front: which run this is, where its queues are, and the newest that it knows to be committed.

    `generation`, `newest_tick` and `server_id` are zero while it knows nothing; see `timelines.Known`. `possessed`: the segments'
    epochs that this DBSvr has possessed; see `ownership`. `etag`: of the task configuration that it holds; empty without one.
    """

    run_id: int
    queue_key: int
    generation: int
    newest_tick: int
    server_id: int
    possessed: dict[str, int]
    etag: str = ""


class Base(Frame, frozen=True):
    """What replica workers compute their bound from. Base 0: this replica must not serve (yet)."""

    generation: int
    base: int


class Wake(Frame, frozen=True):
    """Tickets were queued that you may take. `number` counts the wake-ups sent to this worker."""

    number: int


class ClearTurn(Frame, frozen=True):
    """Clears may be taken: no other request waits, also none in line at the front, which a worker cannot see.

    `is_overdue`: the oldest has waited past its limit; take one batch although writes or reads wait.
    """

    is_overdue: bool


class Write(Frame, frozen=True):
    """The payload of a write. Sent before its ticket is queued; `changes` is empty for a clear.

    `nodes`: whom it is to purge, in its own transaction; "*" is every cache node. `is_repair`: `changes` is a RepairOrder.
    """

    request_id: int
    uid: int
    event_id: str
    changes: bytes
    is_clear: bool
    nodes: list[str]
    is_repair: bool = False


class PurgeCopy(Frame, frozen=True):
    """Whoever asked for this write on behalf of `node` has gone without its answer: the node's copy may be old for good."""

    uid: int
    node: str


class TakeSegment(Frame, frozen=True):
    """Take this segment, whose owner stands still, if it is still at this epoch."""

    segment: str
    epoch: int


class GiveSegment(Frame, frozen=True):
    """No write of this segment is under way any more: let `to` own it, and for good if it `moves_home`."""

    segment: str
    epoch: int
    to: str
    moves_home: bool


class MayPossess(Frame, frozen=True):
    """The former owner has said that it has let go of the segment with this epoch: its lease need not be waited out."""

    segment: str
    epoch: int


class HoldReplica(Frame, frozen=True):
    """Write down that this replica is held, by whom and why; without a reason, that it is released. `number`: of the order."""

    number: int
    replica: str
    by: str
    reason: str | None


class Leave(Frame, frozen=True):
    """Another worker of the same name has connected: you are superseded."""


# --- worker to front


class Hello(Frame, frozen=True):
    """First word of a worker. `server` is "master" or the replica's name."""

    server: str
    pid: int


class Ready(Frame, frozen=True):
    """A master worker has committed its fresh tick: nothing older than it can be committed any more.

    `cause` is empty when the generation goes on; else why a new one begins, after `fork_tick` (see `timelines`).
    """

    endpoint: str
    generation: int
    tick: int
    epoch: int
    fork_tick: int
    server_id: int
    cause: str


class Down(Frame, frozen=True):
    """The worker has no usable database, and why."""

    sentence: str


class Segments(Frame, frozen=True):
    """A look at who owns what. `looked_at`: CLOCK_BOOTTIME, seconds, before it was sent.

    `unchanged_ms`: since a segment's last change of owner. `ticks`: of
    every DBSvr. `possessed`: (segment, epoch, fresh tick) of those that have just become ours for sure.
    """

    looked_at: float
    rows: list[SegmentRow]
    unchanged_ms: dict[str, int]
    ticks: dict[str, int]
    possessed: list[tuple[str, int, int]]


class Endpoints(Frame, frozen=True):
    """The server's endpoints as its worker sees them: (endpoint, "in use" or a Standing's state, why); and what must be mended."""

    endpoints: list[tuple[str, str, str]]
    warning: str


class Idle(Frame, frozen=True):
    """The worker has drained all it may take after wake-up `number`, and now sleeps until the next."""

    number: int


class Ticked(Frame, frozen=True):
    """What the worker's database shows now: on the master a beat's commit, on a replica the update tick."""

    generation: int
    tick: int


class ReplicaHealth(Frame, frozen=True):
    """What the replica says of its replication threads; None where it would not say."""

    endpoint: str
    io_running: bool | None
    sql_running: bool | None
    last_error: str


NOT_NOW = b""
GroupAnswer: TypeAlias = "tuple[int, list[bytes]]"


class Reads(Frame, frozen=True):
    """Answers to reads. `answers`: (request id, for each of its users the snapshot's JSON without its last brace). All of one database
    snapshot at `tick`. NOT_NOW in a snapshot's place: this user's read met a lock of another DBSvr's, and is to come again."""

    generation: int
    tick: int
    answers: list[GroupAnswer]
    expired: list[int]
    handed_back: list[int]


class Writes(Frame, frozen=True):
    """Outcomes of one batch of writes, committed at `tick`.

    `outcomes`: (request id, applied, answer's JSON). `refused`: (request id, code, sentence); nothing of those was written.
    `expired`: ids of writes that were not begun. `purges`: how many rows for the cache sync center were committed with them;
    `grants`: how many grants. `capped`: changes that a cap has refused.
    """

    generation: int
    tick: int
    commit_ms: float
    purges: int
    outcomes: list[tuple[int, bool, bytes]]
    refused: list[tuple[int, str, str]]
    expired: list[int]
    grants: int = 0
    capped: int = 0


class RevisionSeen(Frame, frozen=True):
    """A look at the published task configuration: the newest revision, number 0 when none is published.

    `looked_at`: CLOCK_MONOTONIC, seconds, before it was sent. `why` is empty, or says why nothing could be seen; with a number, why
    this revision cannot be handed down.
    """

    looked_at: float
    number: int
    etag: str
    why: str


class RevisionTaken(Frame, frozen=True):
    """A revision that the front did not hold, whole. `body`: the bundle's JSON, as gzip."""

    looked_at: float
    number: int
    etag: str
    body: bytes


class Holds(Frame, frozen=True):
    """Every replica that is held now. `order`: the number of the HoldReplica that this answers; `refusal`: why it was not done."""

    holds: dict[str, Hold]
    order: int = 0
    refusal: str = ""


FromFront = Welcome | Base | Wake | ClearTurn | Write | PurgeCopy | TakeSegment | GiveSegment | MayPossess | HoldReplica | Leave
FromWorker = (
    Hello | Ready | Down | Segments | Endpoints | Idle | Ticked | ReplicaHealth | Reads | Writes | RevisionSeen | RevisionTaken | Holds
)

_encode = msgspec.msgpack.Encoder().encode
decode_from_front = msgspec.msgpack.Decoder(FromFront).decode
decode_from_worker = msgspec.msgpack.Decoder(FromWorker).decode
_LENGTH = struct.Struct("<I")


def encode_frame(frame: Frame) -> bytes:
    body = _encode(frame)
    return _LENGTH.pack(len(body)) + body


def halves(frame: Frame) -> tuple[Frame, ...]:
    """The same said in two smaller frames; empty when it cannot be divided."""
    if isinstance(frame, Reads):
        half = len(frame.answers) // 2
        first, second = (frame.answers[:half], frame.answers[half:]) if half else _halves_of_groups(frame.answers)
        if not first:
            return ()
        return (
            Reads(frame.generation, frame.tick, first, frame.expired, frame.handed_back),
            Reads(frame.generation, frame.tick, second, [], []),
        )
    if isinstance(frame, Writes) and len(frame.outcomes) > 1:
        half = len(frame.outcomes) // 2
        return (
            msgspec.structs.replace(frame, outcomes=frame.outcomes[:half]),
            Writes(frame.generation, frame.tick, 0.0, 0, frame.outcomes[half:], [], []),
        )
    return ()


def _halves_of_groups(answers: list[GroupAnswer]) -> tuple[list[GroupAnswer], list[GroupAnswer]]:
    """One group's answer as two: who is left out of the first stays in the group, and the second is for those who do."""
    for request_id, bodies in answers:
        known = [place for place, body in enumerate(bodies) if body != NOT_NOW]
        if len(known) > 1:
            first, second = bodies[: known[len(known) // 2]], bodies[known[len(known) // 2] :]
            left = [NOT_NOW] * first.count(NOT_NOW)
            return [(request_id, first + [NOT_NOW] * len(second))], [(request_id, left + second)]
    return [], []


class FrameSplitter:
    """Cuts a byte stream into frame bodies. Keeps what is incomplete."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes | bytearray) -> list[bytes]:
        """The bodies completed by `data`. ValueError when a frame claims to be larger than any of ours."""
        buffer = self._buffer
        if buffer:
            buffer += data
            data = buffer
        bodies = []
        start, end = 0, len(data)
        while end - start >= 4:
            (length,) = _LENGTH.unpack_from(data, start)
            if length > MAX_FRAME_BYTES:
                raise ValueError(f"a frame of {length} bytes: the peer does not speak our language")
            if end - start - 4 < length:
                break
            bodies.append(bytes(data[start + 4 : start + 4 + length]))
            start += 4 + length
        if data is buffer:
            del buffer[:start]
        else:
            buffer += data[start:]
        return bodies
