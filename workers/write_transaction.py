"""One write transaction while it is being made: writes are added to it until it is committed, a few or many at a time.

Leans on `changes` for what a write does, on `store` for the statements, on `KnownUsers` for who need not be read. What it answers is put
together while the database is busy with the COMMIT. The order is part of the proof (docs/protocol.md): the segments by a locking read, then
the users, then what is written, then the tick, awaited alone, then COMMIT.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple, TypeAlias

from workers import store
from workers.changes import apply_changes, clear, encode_results
from workers.database import Connection
from workers.known_users import KnownUsers
from workers.messages import SegmentRow, Write, Writes
from workers.ownership import Ownership, not_owner
from workers.protocol import BadArgument, NotOwner, decode_changes
from workers.snapshots import user_snapshot, write_answer
from workers.store import AppliedEvent, Purge
from workers.users import User

Outcome: TypeAlias = "tuple[int, bool, bytes]"
Refusal: TypeAlias = "tuple[int, str, str]"


class DueWrite(NamedTuple):
    """A write that may be begun until `expires_at_ms` (CLOCK_MONOTONIC)."""

    write: Write
    expires_at_ms: int


class _Applied(NamedTuple):
    """What an answer is made of. `snapshot`: where a later write of the same batch changes the user again."""

    write: Write
    is_new: bool
    results: bytes
    base_version: int
    user: User
    purge: list[str]
    snapshot: bytes | None


class WriteTransaction:
    def __init__(self, connection: Connection, ownership: Ownership, users: KnownUsers, generation: int) -> None:
        self.connection = connection
        self._ownership = ownership
        self._users = users
        self._generation = generation
        self._began_at = time.monotonic()
        self._applied: list[_Applied] = []
        self._refused: list[Refusal] = []
        self._purges = 0
        self.day = ""
        """UTC, of the last write."""
        self.begun: list[int] = []
        """A task's number for each record that it has begun."""
        self.completed: list[int] = []
        self.due: list[DueWrite] = []
        """All that were added, also those with which that failed."""
        self.uids: set[int] = set()

    def add(self, due: Sequence[DueWrite], are_new: bool = True) -> None:
        """Apply these writes, and write down what comes of them.

        Raises what the database refuses them for; the whole is to be rolled back then. Event ids are new, nearly always, so they are
        not asked for, unless a first try has found out that they are not.
        """
        begins = not self.due
        self.due += due
        writes = [each.write for each in due]
        uids = {write.uid for write in writes}
        if again := uids & self.uids:
            self._fix_snapshots(again)
        self.uids |= uids
        users, owned, purges = self._load(uids, begins)
        if ours := self._fence(writes, owned):
            known = {} if are_new else store.load_events(self.connection, ((write.uid, write.event_id) for write in ours))
            self._apply(ours, users, purges, known)
        self._users.keep(users.values())

    def _fix_snapshots(self, uids: set[int]) -> None:
        """These users are about to be changed again: what their earlier writes answer is put together now."""
        self._applied = [
            each if each.snapshot or each.user.uid not in uids else each._replace(snapshot=user_snapshot(each.user, self._generation))
            for each in self._applied
        ]

    def _load(self, uids: set[int], begins: bool) -> tuple[dict[int, User], list[SegmentRow], dict[int, list[str]]]:
        instance = self._ownership.instance
        known = self._users.take(uids)
        loaded = store.load(self.connection, instance, uids, known, begins)
        if not self._users.are_owned_as_before(loaded.owned) and known:
            # Somebody else may have owned them, and written them.
            known = store.load(self.connection, instance, known.keys(), begins=False).users
        return loaded.users | known, loaded.owned, loaded.purges

    def _fence(self, writes: Sequence[Write], owned: list[SegmentRow]) -> list[Write]:
        """Those whose users we own, which is held so until the transaction ends; the others are refused (INV 12)."""
        rows = [row for row in owned if self._ownership.is_possessed(row)]
        ours = []
        for write in writes:
            if any(row.first <= write.uid <= row.last for row in rows):
                ours.append(write)
            else:
                self._refused.append((write.request_id, NotOwner.code, str(not_owner(self._ownership, write.uid))))
        return ours

    def _apply(
        self, writes: list[Write], users: dict[int, User], waiting: dict[int, list[str]], results: dict[tuple[int, str], bytes]
    ) -> None:
        """`waiting`: of each user the nodes with an earlier purge. `results`: of the events that were applied before."""
        now = time.time_ns() // 1_000_000
        events: list[AppliedEvent] = []
        changed: dict[int, User] = {}
        purges: dict[tuple[int, str], Purge] = {}
        left = Counter(write.uid for write in writes)
        for write in writes:
            user, key = users[write.uid], (write.uid, write.event_id)
            base_version = user.version
            known = results.get(key)
            if known is None:
                try:
                    result = self._result(user, write, now)
                except BadArgument as error:
                    self._refused.append((write.request_id, error.code, str(error)))
                    continue
                results[key] = result
                events.append(AppliedEvent(write.uid, write.event_id, result))
                changed[user.uid] = user
            for node in write.nodes:
                purges[user.uid, node] = Purge(user.uid, user.version, node)
            nodes = write.nodes
            if nodes or user.uid in waiting:
                # Also those of the user's earlier writes in this very batch: they are no nearer to being done.
                nodes = waiting[user.uid] = sorted({*nodes, *waiting.get(user.uid, ())})
            left[user.uid] -= 1
            snapshot = user_snapshot(user, self._generation) if left[user.uid] else None
            self._applied.append(_Applied(write, known is None, results[key], base_version, user, nodes, snapshot))
        self.day = store.day_of(now)
        store.save(self.connection, self._generation, changed.values(), events, purges.values(), now)
        for user in users.values():
            user.touched.clear()
            user.cleared = False
        self._purges += len(purges)

    def _result(self, user: User, write: Write, now_ms: int) -> bytes:
        """What the write has done, as JSON."""
        if write.is_clear:
            clear(user)
            return b"[]"
        known = len(user.tasks)
        # The front has checked what it sends.
        results = apply_changes(user, decode_changes(write.changes), now_ms)
        if (begun := len(user.tasks) - known) > 0:
            self.begun += [task for task, _ in islice(reversed(user.tasks), begun)]  # new ones stand at the end
        for each in results:
            if each.completed_now:
                self.completed.append(each.task)
        return encode_results(results)

    def outcomes(self) -> list[Outcome]:
        """What the front is to hear once the COMMIT has ended well."""
        return [_outcome(each, self._generation) for each in self._applied]

    def ended(self, tick: int, outcomes: list[Outcome]) -> Writes:
        took_ms = (time.monotonic() - self._began_at) * 1000
        return Writes(self._generation, tick, took_ms, self._purges, outcomes, self._refused, [])

    def forget_users(self) -> None:
        """It was not committed: what is kept of its users is not so."""
        self._users.forget(self.uids)


def _outcome(applied: _Applied, generation: int) -> Outcome:
    snapshot = applied.snapshot or user_snapshot(applied.user, generation)
    write = applied.write
    return write.request_id, applied.is_new, write_answer(applied.is_new, applied.results, applied.base_version, snapshot, applied.purge)
