"""Acknowledged writes that the database has lost: found when a new generation begins, counted and named.

The front keeps the newest acknowledged writes with their ticks. When the master's timeline breaks, those past the fork tick
are gone; they are written to a file, so that they can be sent again with their event ids.
"""

from __future__ import annotations

from collections import deque
from pathlib import Path
from typing import NamedTuple

import msgspec

KEPT = 50_000
"""Acknowledged writes kept: some ten seconds under full load, far more than an asynchronous replica usually lacks."""
SHOWN = 20


class AcknowledgedWrite(NamedTuple):
    uid: int
    event_id: str


class LostWrites(msgspec.Struct, frozen=True):
    """One break. `ticks` were committed and are gone (beats among them); of `writes` the first are `named`, all stand in `file`.

    `is_complete` is False when writes were acknowledged past the fork that nobody here remembers.
    """

    generation: int
    cause: str
    fork_tick: int
    ticks: int
    writes: int
    is_complete: bool
    named: list[AcknowledgedWrite]
    file: str


class Acknowledged:
    """The newest acknowledged writes of one generation, by tick."""

    def __init__(self) -> None:
        self._batches: deque[tuple[int, list[AcknowledgedWrite]]] = deque()
        self._count = 0
        self._forgotten_up_to = 2**64  # whatever an earlier front acknowledged, we do not know

    def begin(self, tick: int) -> None:
        """Nothing is known of what was acknowledged up to this tick."""
        self._batches.clear()
        self._count = 0
        self._forgotten_up_to = tick

    def note(self, tick: int, writes: list[AcknowledgedWrite]) -> None:
        self._batches.append((tick, writes))
        self._count += len(writes)
        while self._count > KEPT:
            self._forgotten_up_to, oldest = self._batches.popleft()
            self._count -= len(oldest)

    def after(self, tick: int) -> tuple[list[AcknowledgedWrite], bool]:
        """The writes past this tick, and whether these are all."""
        return [write for at, writes in self._batches if at > tick for write in writes], self._forgotten_up_to <= tick


def append_lost(path: Path, generation: int, writes: list[AcknowledgedWrite]) -> None:
    """One line of JSON for each. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with path.open("ab") as file:
        for write in writes:
            file.write(msgspec.json.encode({"generation": generation, "uid": write.uid, "event_id": write.event_id}) + b"\n")
