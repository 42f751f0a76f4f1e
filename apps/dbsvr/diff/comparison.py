"""Comparing one chunk: sums of both servers, and, where they differ, ever smaller parts, single rows, and the settling of each key.

Nothing is called equal that was not summed on both servers; nothing is called different that was not settled at the same position.
Leans on `statements` for the SQL and on `settling` for the judgement.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from apps.dbsvr.diff.failures import TooMany
from apps.dbsvr.diff.keys import OPEN_END, Key, Row, value_of
from apps.dbsvr.diff.looks import Settling, batches, hashes_of, key_in
from apps.dbsvr.diff.servers import Both, Rows, Server
from apps.dbsvr.diff.statements import Stretch, hashed_rows, key_at, rows_by_key, sums
from apps.dbsvr.diff.table_shape import TableShape

LEAF_ROWS = 1000
"""So few are read row by row instead of being divided further."""
PARTS = 16
MOST_SUSPECTS = 20_000
"""In one chunk: more means a table that is another one, or a chunk that is too large for this load."""


class Found(NamedTuple):
    """A key that differs, with both rows as they were read last; None: there is no such row."""

    key: Key
    master_row: Row | None
    replica_row: Row | None


class Scanned(NamedTuple):
    """A chunk that was summed. `up_to`: the key with which it ends; OPEN_END when nothing is left after it."""

    after: Key
    up_to: Key
    rows: int
    took_s: float
    """Of the sums alone: what the size of the next chunk depends on."""
    suspects: list[Key]
    """What looked different, and is to be settled."""
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

    def begin_settling(self) -> Settling:
        return Settling(self._both, self._table, self._alive)

    def scan_chunk(self, after: Key, rows: int) -> Scanned:
        """Sum the next `rows` rows after a key on both servers. Raises CannotCompare: then nothing of it counts."""
        rest = self._whole.part(after, OPEN_END)
        up_to = self._key(self._both.master.rows(key_at(rest, rows - 1)))
        chunk = self._whole.part(after, up_to)
        began_at = time.monotonic()
        (ours,), (theirs,) = self._both.rows(sums(chunk))
        took_s = time.monotonic() - began_at
        count, other_count = int(ours[0] or 0), int(theirs[0] or 0)
        unhashed = max(count - int(ours[2] or 0), other_count - int(theirs[2] or 0))
        suspects: list[Key] = []
        if ours != theirs:
            self._find_suspects(chunk, max(count, other_count), suspects)
        return Scanned(after, up_to, count, took_s, suspects, unhashed)

    def settle(self, keys: Sequence[Key]) -> Settled:
        """Each of these at the same position, over several looks; those that differ with their rows."""
        settling = self.begin_settling()
        settling.add(keys)
        while settling.pending:
            self._alive()
            settling.look()
        return self.settled(settling, keys)

    def settled(self, settling: Settling, keys: Sequence[Key]) -> Settled:
        """What has become of keys that `settling` is done with."""
        verdicts = settling.take(keys)
        return Settled(verdicts[True], self._read_rows(verdicts[False]), verdicts[None])

    def _find_suspects(self, stretch: Stretch, rows: int, found: list[Key]) -> None:
        """Add the keys of a mismatching stretch that look different now."""
        self._alive()
        if len(found) > MOST_SUSPECTS:
            raise TooMany(f"more than {MOST_SUSPECTS} keys of one chunk look different")
        if rows <= LEAF_ROWS:
            ours, theirs = self._both.rows(hashed_rows(stretch))
            mine, other = hashes_of(self._table, ours), hashes_of(self._table, theirs)
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
        for some in batches(keys):
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

    def _key(self, rows: Rows) -> Key:
        return key_in(self._table, rows[0]) if rows else OPEN_END
