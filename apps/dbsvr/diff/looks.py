"""Settling many keys together: look after look on both servers, until each key is decided or given up.

Keys may be added at any time, so that those of one chunk are settled while the next chunks are summed: with a late replica each key
takes as long as the lag. Leans on `settling` for the judgement; owns the timelines.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence

from apps.dbsvr.diff.failures import ReplicaStands
from apps.dbsvr.diff.keys import Key, value_of
from apps.dbsvr.diff.servers import Both, Rows, Server
from apps.dbsvr.diff.settling import Look, Position, Timeline, has_passed
from apps.dbsvr.diff.statements import hashes_by_key
from apps.dbsvr.diff.table_shape import TableShape

KEYS_A_STATEMENT = 400
LOOK_EVERY_S = 0.15
STANDS_AFTER_S = 10.0
BEYOND_LAG_S = 30.0
"""A key is given up after twice the lag, and this."""


class Settling:
    def __init__(self, both: Both, table: TableShape, alive: Callable[[], None]) -> None:
        """`alive` is called now and then while one waits; what it raises ends the wait."""
        self._both = both
        self._table = table
        self._alive = alive
        self._timelines: dict[Key, Timeline] = {}
        self._added_at: dict[Key, float] = {}
        self._pending: list[Key] = []
        self._lag_s = 0.0
        self._seen: tuple[Position, float] | None = None
        self._looked_at = 0.0

    @property
    def pending(self) -> int:
        return len(self._pending)

    def add(self, keys: Iterable[Key]) -> None:
        now = time.monotonic()
        for key in keys:
            if key not in self._timelines:
                self._timelines[key] = Timeline()
                self._added_at[key] = now
                self._pending.append(key)

    def is_done_with(self, keys: Iterable[Key]) -> bool:
        waiting = set(self._pending)
        return not any(key in waiting for key in keys)

    def take(self, keys: Iterable[Key]) -> dict[bool | None, list[Key]]:
        """Their verdicts: True equal, False different, None not decided. They are forgotten here."""
        verdicts: dict[bool | None, list[Key]] = {True: [], False: [], None: []}
        for key in keys:
            verdicts[self._timelines.pop(key).verdict].append(key)
            del self._added_at[key]
        return verdicts

    def look(self) -> None:
        """Once at all that are pending: the replica first, then the master, who must have gone beyond it. Raises ReplicaStands."""
        if not self._pending:
            self._seen = None
            return
        time.sleep(max(0.0, self._looked_at + LOOK_EVERY_S - time.monotonic()))
        self._looked_at = time.monotonic()
        looks, position, shown_us = self._looks(self._both.replica)
        self._heed_standstill(position)
        self._wait_for_master_past(position)
        of_master, _, wall_us = self._looks(self._both.master)
        self._lag_s = max(0.0, (wall_us - shown_us) / 1e6)
        now = time.monotonic()
        left = []
        for key in self._pending:
            timeline = self._timelines[key]
            timeline.note_master(of_master[key])
            timeline.note_replica(looks[key])
            if timeline.verdict is None and now < self._added_at[key] + 2 * self._lag_s + BEYOND_LAG_S:
                left.append(key)
        self._pending = left

    def _looks(self, server: Server) -> tuple[dict[Key, Look], Position, int]:
        found = server.snapshot([hashes_by_key(self._table, some) for some in batches(self._pending)])
        hashes: dict[Key, bytes | None] = {}
        for rows in found.rows:
            hashes |= hashes_of(self._table, rows)
        position = found.position
        looks = {key: Look(position, _text(hashes[key]) if key in hashes else None) for key in self._pending}
        return looks, position, found.wall_us

    def _wait_for_master_past(self, position: Position) -> None:
        """The master's beat brings it; without one, nobody can say what the replica should show."""
        until = time.monotonic() + STANDS_AFTER_S
        while not has_passed(self._both.master.snapshot().position, position):
            if time.monotonic() >= until:
                raise ReplicaStands("the master's tick stands still (does a DBSvr run?): no position can be compared")
            self._alive()
            time.sleep(0.02)

    def _heed_standstill(self, position: Position) -> None:
        now = time.monotonic()
        if self._seen is None or has_passed(position, self._seen[0]):
            self._seen = position, now
        elif now - self._seen[1] > STANDS_AFTER_S:
            why = self._both.replica.why_it_stands() or "what it shows does not move"
            raise ReplicaStands(f"the replica stands still: {why}")


def hashes_of(table: TableShape, rows: Rows) -> dict[Key, bytes | None]:
    """Key -> SHA-1, of rows of `hashed_rows` or `hashes_by_key`."""
    return {key_in(table, row): row[-1] for row in rows}


def key_in(table: TableShape, row: Sequence[bytes | None]) -> Key:
    return tuple(value_of(column, raw or b"") for column, raw in zip(table.key, row, strict=False))


def batches(keys: Sequence[Key]) -> Iterable[Sequence[Key]]:
    return (keys[start : start + KEYS_A_STATEMENT] for start in range(0, len(keys), KEYS_A_STATEMENT))


def _text(raw: bytes | None) -> str:
    return "" if raw is None else raw.decode("ascii")
