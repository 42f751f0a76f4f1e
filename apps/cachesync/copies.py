"""A user's copy as it lies on a cache node: text that a script can judge and a reader can decode. Pure."""

from __future__ import annotations

import msgspec

from workers.protocol import Snapshot, TaskRecord

NO_HEAD = b"none"
"""A head that no copy has."""


class _Body(msgspec.Struct, frozen=True):
    """What is kept of a snapshot. Who served it, why, and whether it may be stored are of the moment, and never cached."""

    uid: int
    generation: int
    version: int
    points: int
    tasks: list[TaskRecord]


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(_Body).decode


def head(generation: int, version: int) -> bytes:
    """How a copy of this state begins."""
    return b"%d:%d\n" % (generation, version)


def parse_head(text: bytes) -> tuple[int, int] | None:
    """(generation, version) of a copy, or of its beginning; None for what is no copy of ours."""
    generation, _, version = text.partition(b"\n")[0].partition(b":")
    return (int(generation), int(version)) if generation.isdigit() and version.isdigit() else None


def encode_copy(snapshot: Snapshot) -> bytes:
    body = _Body(snapshot.uid, snapshot.generation, snapshot.version, snapshot.points, snapshot.tasks)
    return head(snapshot.generation, snapshot.version) + _encode(body)


def decode_copy(copy: bytes, node: str) -> Snapshot | None:
    """The snapshot in a copy, served by `node`; None for what is no copy of ours."""
    try:
        body = _decode(copy[copy.index(b"\n") + 1 :])
    except (ValueError, msgspec.MsgspecError):
        return None
    return Snapshot(body.uid, body.generation, body.version, body.points, body.tasks, served_by=node)
