"""Comparing one chunk: sums of both servers, and, where they differ, ever smaller parts, single rows, and the settling of each key.

Nothing is called equal that was not summed on both servers; nothing is called different that was not settled at the same position.
Leans on `statements` for the SQL and on `settling` for the judgement.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from apps.dbsvr.diff.failures import ReplicaStands, TooMany
from apps.dbsvr.diff.keys import OPEN_END, Key, Row, value_of
from apps.dbsvr.diff.servers import Both, Rows, Server
from apps.dbsvr.diff.settling import Look, Position, Timeline, has_passed
from apps.dbsvr.diff.statements import Stretch, hashed_rows, hashes_by_key, key_at, rows_by_key, sums
from apps.dbsvr.diff.table_shape import TableShape

LEAF_ROWS = 1000
"""So few are read row by row instead of being divided further."""
PARTS = 16
MOST_SUSPECTS = 20_000
"""Keys that are settled together: more means a table that is another one, or a chunk that is too large for this load."""
KEYS_A_STATEMENT = 400
LOOK_EVERY_S = 0.15
STANDS_AFTER_S = 10.0
BEYOND_LAG_S = 30.0


class Found(NamedTuple):
    """A key that differs, with both rows as they were read last; None: there is no such row."""

    key: Key
    master_row: Row | None
    replica_row: Row | None


class Compared(NamedTuple):
    """What became of a chunk. `up_to`: the key with which it ends; OPEN_END when nothing is left after it."""

    up_to: Key
    rows: int
    took_s: float
    """Of the sums alone: what the size of the next chunk depends on."""
    differing: list[Found]
    undecided: list[Key]
    unhashed: int
    """Rows that no server could hash (longer than max_allowed_packet)."""


class Settled(NamedTuple):
    equal: list[Key]
    differing: list[Found]
    undecided: list[Key]


class Comparison:
    def __init__(self, both: Both, table: TableShape, first: str = "", last: str = "", alive: Callable[[], None] = lambda: None) -> None:
        """`alive` is called now and then while one waits for the replica; what it raises ends the wait."""
        self._both = both
        self._table = table
        self._whole = Stretch(table, first, last)
        self._alive = alive

    def compare_chunk(self, after: Key, rows: int) -> Compared:
        """The next `rows` rows after a key. Raises CannotCompare: then nothing of it counts."""
        rest = self._whole.part(after, OPEN_END)
        up_to = self._key(self._both.master.rows(key_at(rest, rows - 1)))
        chunk = self._whole.part(after, up_to)
        began_at = time.monotonic()
        (ours,), (theirs,) = self._both.rows(sums(chunk))
        took_s = time.monotonic() - began_at
        count, other_count = int(ours[0] or 0), int(theirs[0] or 0)
        unhashed = max(count - int(ours[2] or 0), other_count - int(theirs[2] or 0))
        if ours == theirs:
            return Compared(up_to, count, took_s, [], [], unhashed)
        suspects: list[Key] = []
        self._find_suspects(chunk, max(count, other_count), suspects)
        settled = self.settle(suspects)
        return Compared(up_to, count, took_s, settled.differing, settled.undecided, unhashed)

    def settle(self, keys: Sequence[Key]) -> Settled:
        """Each of these at the same position, over several looks; those that differ with their rows."""
        settling = _Settling(self._both, self._table, keys, self._alive)
        settling.look_until_decided()
        verdicts = {True: [], False: [], None: []}  # type: dict[bool | None, list[Key]]
        for key, timeline in settling.timelines.items():
            verdicts[timeline.verdict].append(key)
        return Settled(verdicts[True], self._read_rows(verdicts[False]), verdicts[None])

    def _find_suspects(self, stretch: Stretch, rows: int, found: list[Key]) -> None:
        """Add the keys of a mismatching stretch that look different now."""
        self._alive()
        if len(found) > MOST_SUSPECTS:
            raise TooMany(f"more than {MOST_SUSPECTS} keys of one chunk look different")
        if rows <= LEAF_ROWS:
            ours, theirs = self._both.rows(hashed_rows(stretch))
            mine, other = self._by_key(ours), self._by_key(theirs)
            found += [key for key in {**mine, **other} if mine.get(key) != other.get(key)]
            return
        parts = self._divide(stretch, rows)  # one alone: its rows have gone meanwhile
        for part in parts:
            (ours,), (theirs,) = self._both.rows(sums(part))
            if ours != theirs:
                self._find_suspects(part, max(int(ours[0] or 0), int(theirs[0] or 0)) if len(parts) > 1 else 0, found)

    def _divide(self, stretch: Stretch, rows: int) -> list[Stretch]:
        """Into parts of about as many rows; their ends are keys of the server that has more of them."""
        size = -(-rows // PARTS)
        bounds: list[Key] = []
        after = stretch.after
        server: Server | None = None
        while len(bounds) < PARTS - 1:
            rest = self._whole.part(after, stretch.up_to)
            servers = [server] if server else [self._both.master, self._both.replica]
            key = OPEN_END
            for server in servers:
                key = self._key(server.rows(key_at(rest, size - 1)))
                if key:
                    break
            if not key or key == stretch.up_to:
                break
            bounds.append(key)
            after = key
        ends = [stretch.after, *bounds, stretch.up_to]
        return [self._whole.part(after, up_to) for after, up_to in itertools.pairwise(ends)]

    def _read_rows(self, keys: Sequence[Key]) -> list[Found]:
        found: list[Found] = []
        for some in _batches(keys):
            ours, theirs = self._both.rows(rows_by_key(self._table, some))
            mine, other = self._rows(ours), self._rows(theirs)
            found += [Found(key, mine.get(key), other.get(key)) for key in some]
        return found

    def _rows(self, rows: Rows) -> dict[Key, Row]:
        columns = self._table.columns
        found = {}
        for row in rows:
            values: Row = {
                column.name: None if raw is None else value_of(column, raw) for column, raw in zip(columns, row[:-1], strict=True)
            }
            found[tuple(values[column.name] or "" for column in self._table.key)] = values
        return found

    def _by_key(self, rows: Rows) -> dict[Key, bytes | None]:
        return _hashes_by_key(self._table, rows)

    def _key(self, rows: Rows) -> Key:
        return _key(self._table, rows[0]) if rows else OPEN_END


class _Settling:
    """Looks at the same keys on both servers, until each is decided or time is over."""

    def __init__(self, both: Both, table: TableShape, keys: Iterable[Key], alive: Callable[[], None]) -> None:
        self._both = both
        self._table = table
        self._alive = alive
        self.timelines = {key: Timeline() for key in keys}
        self._pending = list(self.timelines)
        self._seen: tuple[Position, float] = ({}, time.monotonic())

    def look_until_decided(self) -> None:
        """Raises ReplicaStands when the replica's position does not move any more."""
        lag_s = self._look_at_master()
        until = time.monotonic() + 2 * lag_s + BEYOND_LAG_S
        while self._pending and time.monotonic() < until:
            self._alive()
            began_at = time.monotonic()
            looks, position, shown_us = self._looks(self._both.replica)
            self._heed_standstill(position)
            self._wait_for_master_past(position)
            self._look_at_master(shown_us)
            for key, look in looks.items():
                self.timelines[key].note_replica(look)
            self._pending = [key for key in self._pending if self.timelines[key].verdict is None]
            time.sleep(max(0.0, min(LOOK_EVERY_S, began_at + LOOK_EVERY_S - time.monotonic())))

    def _look_at_master(self, shown_us: int = 0) -> float:
        """By how much the replica was behind, when it showed `shown_us`; seconds."""
        looks, _, wall_us = self._looks(self._both.master)
        for key, look in looks.items():
            self.timelines[key].note_master(look)
        if not shown_us:
            shown_us = self._both.replica.snapshot().wall_us
        return max(0.0, (wall_us - shown_us) / 1e6)

    def _looks(self, server: Server) -> tuple[dict[Key, Look], Position, int]:
        found = server.snapshot([hashes_by_key(self._table, some) for some in _batches(self._pending)])
        hashes: dict[Key, bytes | None] = {}
        for rows in found.rows:
            hashes |= _hashes_by_key(self._table, rows)
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
        before, since = self._seen
        now = time.monotonic()
        if has_passed(position, before):
            self._seen = position, now
        elif now - since > STANDS_AFTER_S:
            why = self._both.replica.why_it_stands() or "what it shows does not move"
            raise ReplicaStands(f"the replica stands still: {why}")


def _hashes_by_key(table: TableShape, rows: Rows) -> dict[Key, bytes | None]:
    return {_key(table, row): row[-1] for row in rows}


def _key(table: TableShape, row: Sequence[bytes | None]) -> Key:
    return tuple(value_of(column, raw or b"") for column, raw in zip(table.key, row, strict=False))


def _text(raw: bytes | None) -> str:
    return "" if raw is None else raw.decode("ascii")


def _batches(keys: Sequence[Key]) -> Iterable[Sequence[Key]]:
    return (keys[start : start + KEYS_A_STATEMENT] for start in range(0, len(keys), KEYS_A_STATEMENT))
