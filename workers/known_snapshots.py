"""Snapshots that this life of a worker has read before: who is asked for again is only asked for his version.

Pure. Every change of a user raises his version, in the same transaction, so within a generation a version is one state of him, and the
snapshot that was read of it once is his wherever a database shows that version again (docs/protocol.md). What is known goes after a
minute and a half at the latest, asked for or not: a replica that somebody has mended by hand shows it by then.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

Versioned: TypeAlias = "tuple[bytes, bytes]"
"""A user's version, as text, and his open snapshot."""
MOST_BYTES = 32 * 1024 * 1024
BYTES_OF_AN_ENTRY = 250
"""About, beside the snapshot itself."""
HALF_LIFE_S = 30.0
A_VERSION = 0.2
"""What asking for one version costs, in users read whole (docs/decisions/0026)."""
A_STATEMENT = 16
"""The same of a second statement, for those whose version was another one."""
REMEMBERED = 1000
"""About so many users of late say how often a known one has stayed as he was."""


class KnownSnapshots:
    """Two halves: the newer one is filled until it is full or old, then it becomes the older one, and what that had is gone."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self.generation = 0
        self._most = most_bytes // 2
        self._newer: dict[int, Versioned] = {}
        self._older: dict[int, Versioned] = {}
        self._bytes = 0
        self._began_at = 0.0
        self._asked = self._unchanged = 1.0

    def find(self, uids: Iterable[int], now: float) -> dict[int, Versioned]:
        """What is known of these users. `now`: CLOCK_MONOTONIC, seconds."""
        if now - self._began_at > HALF_LIFE_S:
            self._begin_half(now)
        newer, older = self._newer, self._older
        return {uid: known for uid in uids if (known := newer.get(uid) or older.get(uid)) is not None}

    def keep(self, generation: int, snapshots: Mapping[int, Versioned], now: float) -> None:
        """What has just been read of a database that shows this generation."""
        if generation != self.generation:
            self.forget_all(generation)
        self._newer.update(snapshots)
        self._bytes += BYTES_OF_AN_ENTRY * len(snapshots) + sum([len(snapshot) for _, snapshot in snapshots.values()])
        if self._bytes > self._most:
            self._begin_half(now)

    def is_worth_asking(self, found: int, wanted: int) -> bool:
        """Whether to ask for the versions of those who were found, of so many who are wanted, rather than to read all whole."""
        unchanged = found * self._unchanged / self._asked
        is_all = wanted - unchanged < 0.5
        return unchanged > A_VERSION * found + (0 if is_all else A_STATEMENT)

    def note_unchanged(self, unchanged: int, asked: int) -> None:
        """Of so many known users, so many had the version that is known."""
        self._asked += asked
        self._unchanged += unchanged
        if self._asked > REMEMBERED:
            self._asked /= 2
            self._unchanged /= 2

    def forget_all(self, generation: int) -> None:
        self.generation = generation
        self._newer, self._older, self._bytes = {}, {}, 0

    def _begin_half(self, now: float) -> None:
        # After a long rest both halves are old.
        self._older = self._newer if now - self._began_at <= 2 * HALF_LIFE_S else {}
        self._newer, self._bytes, self._began_at = {}, 0, now
