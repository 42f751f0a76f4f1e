"""One write transaction while it is being made: writes are added to it until it is committed, a few or many at a time.

Leans on `changes` for what a write does, on `store` for the statements, on `KnownUsers` for who need not be read. Statements that write are
sent and not waited for before the next thing is asked; meanwhile the answers are put together. The order is part of the proof
(docs/protocol.md): the segments by a locking read, then the users, then what is written, then the quotas with what waits for them, then the
tick, awaited alone, then COMMIT.

A write for which a cap may decide waits, with all later ones of its user, until the transaction is about to end: the quotas are the only
rows that DBSvrs share, and so they are held for one COMMIT alone.
"""

from __future__ import annotations

import select
import time
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple, TypeAlias

from workers import store
from workers.changes import apply_changes, clear, encode_results
from workers.database import Connection, NoRoom, StatementRefused, TryAgain
from workers.grants import GrantsNeeded
from workers.known_users import KnownUsers
from workers.messages import SegmentRow, Write, Writes
from workers.ownership import Ownership, not_owner
from workers.protocol import BadArgument, ChangeResult, NotOwner, OldRules, decode_changes
from workers.quotas import QuotaKey, QuotasNeeded
from workers.snapshots import user_snapshot, write_answer
from workers.steps import CAPPED
from workers.store import AppliedEvent, Purge
from workers.stored_results import shortened
from workers.users import User

Outcome: TypeAlias = "tuple[int, bool, bytes]"
Refusal: TypeAlias = "tuple[int, str, str]"


class DueWrite(NamedTuple):
    """A write that may be begun until `expires_at_ms` (CLOCK_MONOTONIC)."""

    write: Write
    expires_at_ms: int


class QuotasLocked(TryAgain):
    """Somebody else holds quotas that `waiting` writes need. The transaction is to be rolled back; the others may be done without them."""

    def __init__(self, sentence: str, waiting: list[DueWrite]) -> None:
        super().__init__(sentence)
        self.waiting = waiting


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
        self.outcomes: list[Outcome] = []
        """What the front is to hear once the COMMIT has ended well."""
        self.is_closed = False
        """Its tick was asked for: nothing may be added any more."""
        self._is_saving = False
        self._failure: Exception | None = None
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
        self.grants = 0
        self.capped = 0
        """Changes that a cap has refused, as a whole or in part."""
        self._are_new = True
        self._waiting: list[DueWrite] = []
        self._quotas: dict[QuotaKey, int] | None = None

    def add(self, due: Sequence[DueWrite], are_new: bool = True) -> None:
        """Apply these writes, and write down what comes of them. The database may be at it still when this returns.

        Raises what the database refuses them for, or those before; the whole is to be rolled back then. Event ids are new, nearly always,
        so they are not asked for, unless a first try has found out that they are not.
        """
        begins = not self.due
        self.due += due
        self._are_new &= are_new
        self._catch_up()
        self._take(due, begins)

    @property
    def is_busy(self) -> bool:
        """Whether the database is still at what was added: who adds more now waits for it."""
        return self._is_saving and not select.select([self.connection], [], [], 0)[0]

    def keep_alive(self) -> None:
        """The server ends a transaction that is idle for too long. What this finds out is raised by what comes next."""
        if self.is_closed:
            return  # it is not idle: it waits for its tick
        try:
            self._catch_up()
            self.connection.execute("DO 0")
        except (StatementRefused, TryAgain, NoRoom) as failure:
            self._failure = failure

    def _catch_up(self) -> None:
        """Wait until all that was sent is written; raises what it was refused for."""
        if self._failure is not None:
            raise self._failure
        if self._is_saving:
            self._is_saving = False
            self.connection.finish_all()

    def finish(self, patience_s: float) -> None:
        """Wait for what was added, and apply those that wait for quotas, once these are locked. Nothing may be added after it: the tick is
        next.

        Raises QuotasLocked when that takes longer than `patience_s`; else as `add`.
        """
        self._catch_up()
        waiting, self._waiting = self._waiting, []
        if not waiting:
            return
        try:
            locked = store.lock_quotas(self.connection, _quota_keys(waiting), patience_s)
        except TryAgain as error:
            raise QuotasLocked(str(error), waiting) from error
        self._quotas = dict(locked)
        self._take(waiting, begins=False)
        self._catch_up()
        store.save_quotas(self.connection, {key: used for key, used in self._quotas.items() if used != locked[key]})

    @property
    def needs_quotas(self) -> bool:
        return bool(self._waiting)

    @property
    def has_quotas(self) -> bool:
        return self._quotas is not None

    def _take(self, due: Sequence[DueWrite], begins: bool) -> None:
        uids = {each.write.uid for each in due}
        self.uids |= uids
        users, owned, purges = self._load(uids, begins)
        if ours := self._fence(due, owned):
            events = ((each.write.uid, each.write.event_id) for each in ours)
            known = {} if self._are_new else store.load_events(self.connection, events)
            self._apply(ours, users, purges, known)
        self._users.keep(users.values())

    def _load(self, uids: set[int], begins: bool) -> tuple[dict[int, User], list[SegmentRow], dict[int, list[str]]]:
        instance = self._ownership.instance
        known = self._users.take(uids)
        loaded = store.load(self.connection, instance, uids, known, begins)
        if not self._users.are_owned_as_before(loaded.owned) and known:
            # Somebody else may have owned them, and written them.
            known = store.load(self.connection, instance, known.keys(), begins=False).users
        return loaded.users | known, loaded.owned, loaded.purges

    def _fence(self, due: Sequence[DueWrite], owned: list[SegmentRow]) -> list[DueWrite]:
        """Those whose users we own, which is held so until the transaction ends; the others are refused (INV 12)."""
        ranges = [(row.first, row.last) for row in owned if self._ownership.is_possessed(row)]
        ours = []
        for each in due:
            write = each.write
            uid = write.uid
            for first, last in ranges:
                if first <= uid <= last:
                    ours.append(each)
                    break
            else:
                self._refused.append((write.request_id, NotOwner.code, str(not_owner(self._ownership, write.uid))))
        return ours

    def _apply(
        self, due: list[DueWrite], users: dict[int, User], waiting: dict[int, list[str]], results: dict[tuple[int, str], bytes]
    ) -> None:
        """`waiting`: of each user the nodes with an earlier purge. `results`: of the events that were applied before."""
        now = time.time_ns() // 1_000_000
        events: list[AppliedEvent] = []
        changed: dict[int, User] = {}
        purges: dict[tuple[int, str], Purge] = {}
        left = Counter(each.write.uid for each in due)
        applied: list[_Applied] = []
        behind = {each.write.uid for each in self._waiting}
        for each in due:
            write = each.write
            user, key = users[write.uid], (write.uid, write.event_id)
            if user.uid in behind:
                self._waiting.append(each)
                continue
            base_version = user.version
            known = results.get(key)
            if known is None:
                try:
                    done = self._result(user, write, now)
                except QuotasNeeded:
                    self._waiting.append(each)
                    behind.add(user.uid)
                    continue
                except (BadArgument, OldRules) as error:
                    # What was done before is answered as then, whatever would come of it now.
                    known = store.load_events(self.connection, [key]).get(key)
                    if known is None:
                        self._refused.append((write.request_id, error.code, str(error)))
                        continue
                    results[key] = known
                else:
                    results[key] = encode_results(done)
                    events.append(AppliedEvent(write.uid, write.event_id, shortened(done)))
                    changed[user.uid] = user
            for node in write.nodes:
                purges[user.uid, node] = Purge(user.uid, user.version, node)
            nodes = write.nodes
            if nodes or user.uid in waiting:
                # Also those of the user's earlier writes in this very batch: they are no nearer to being done.
                nodes = waiting[user.uid] = sorted({*nodes, *waiting.get(user.uid, ())})
            left[user.uid] -= 1
            snapshot = user_snapshot(user, self._generation) if left[user.uid] else None
            applied.append(_Applied(write, known is None, results[key], base_version, user, nodes, snapshot))
        self.day = store.day_of(now)
        self._is_saving = store.save(self.connection, self._generation, changed.values(), events, purges.values(), now)
        # The database is at it: time to put the answers together.
        self.outcomes += [_outcome(each, self._generation) for each in applied]
        for user in changed.values():
            self.grants += len(user.grants)
            user.forget_changes()
        self._purges += len(purges)

    def _result(self, user: User, write: Write, now_ms: int) -> list[ChangeResult]:
        """What the write has done."""
        if write.is_clear:
            clear(user)
            return []
        known = len(user.tasks)
        changes = decode_changes(write.changes)  # the front has checked them
        try:
            results = apply_changes(user, changes, now_ms, self._quotas)
        except GrantsNeeded:
            given = store.load_grants(self.connection, user.uid, {change.task for change in changes if change.takes_back})
            results = apply_changes(user, changes, now_ms, self._quotas, given)
        if (begun := len(user.tasks) - known) > 0:
            self.begun += [task for task, _ in islice(reversed(user.tasks), begun)]  # new ones stand at the end
        for each in results:
            if each.completed_now:
                self.completed.append(each.task)
            elif each.refused == CAPPED:
                self.capped += 1
        return results

    def ended(self, tick: int) -> Writes:
        took_ms = (time.monotonic() - self._began_at) * 1000
        return Writes(self._generation, tick, took_ms, self._purges, self.outcomes, self._refused, [], self.grants, self.capped)

    def forget_users(self) -> None:
        """It was not committed: what is kept of its users is not so."""
        self._users.forget(self.uids)


def _quota_keys(due: Sequence[DueWrite]) -> set[QuotaKey]:
    """All that these writes may ask for; a clear asks for none."""
    changes = (change for each in due if not each.write.is_clear for change in decode_changes(each.write.changes))
    return {(change.task, key) for change in changes for key in change.caps}


def _outcome(applied: _Applied, generation: int) -> Outcome:
    snapshot = applied.snapshot or user_snapshot(applied.user, generation)
    write = applied.write
    return write.request_id, applied.is_new, write_answer(applied.is_new, applied.results, applied.base_version, snapshot, applied.purge)
