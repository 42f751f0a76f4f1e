"""One write transaction: a batch of writes is applied here, and written by a single block of statements, from BEGIN to COMMIT.

Leans on `changes` for what a write does, on `store` for the statements, on `KnownUsers` for who need not be read. The block is sent and not
waited for; meanwhile the answers are put together. The order is part of the proof (docs/protocol.md): the segments by a locking read, then
the users, then what is written, then the quotas with what waits for them, then the tick, then COMMIT, which the database executes only
where segments and epoch are still as they must be.

A write for which a cap may decide waits, with all later ones of its user, until the transaction is about to end: the quotas are the only
rows that DBSvrs share, and so they are held for one COMMIT alone.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple, TypeAlias

from workers import store
from workers.changes import apply_changes, clear, encode_results
from workers.database import Connection, TryAgain
from workers.grants import GrantsNeeded
from workers.known_users import KnownUsers
from workers.messages import SegmentRow, Write, Writes
from workers.ownership import Ownership, not_owner
from workers.protocol import BadArgument, ChangeResult, NotOwner, OldRules, decode_changes
from workers.quotas import QuotaKey, QuotasNeeded
from workers.segment_rows import fence_owned
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


_NOWHERE: frozenset[str] = frozenset()


class _Applied(NamedTuple):
    """What an answer is made of. `purge`: the cache nodes named by this write and by those of its user before it, here."""

    write: Write
    is_new: bool
    results: bytes
    base_version: int
    user: User
    purge: frozenset[str]
    snapshot: bytes | None


class WriteTransaction:
    def __init__(self, connection: Connection, ownership: Ownership, users: KnownUsers, epoch: int, generation: int) -> None:
        self.connection = connection
        self._ownership = ownership
        self._instance = ownership.instance
        self._users = users
        self._epoch = epoch
        self._generation = generation
        self._began_at = time.monotonic()
        self._applied: list[_Applied] = []
        self._refused: list[Refusal] = []
        self._purges: dict[tuple[int, str], Purge] = {}
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
        self._users_waiting: dict[int, User] = {}
        self._to_send: Sequence[bytes] = ()
        """Before the quotas are locked."""
        self.is_open = False
        """With `needs_quotas`: it has begun, to read, and the server ends it when it idles for long."""
        self._quotas: dict[QuotaKey, int] | None = None

    def send(self, due: list[DueWrite], are_new: bool = True) -> None:
        """Apply these writes, and send what comes of them, up to COMMIT: `receive` is to be called when the connection can be read. With
        `needs_quotas` nothing is sent yet, and `send_with_quotas` comes before.

        Raises what the database refuses; the whole is to be rolled back then. Event ids are new, nearly always, so they are not asked for,
        unless a first try has found out that they are not (`are_new`).
        """
        self.due = due
        self._are_new = are_new
        uids = self.uids = {each.write.uid for each in due}
        users = self._users.take(uids)
        owned = self._users.owned
        ours, others = self._split(due, owned)
        is_known = are_new and len(users) == len(uids) and not others
        if not is_known:
            loaded = store.load(self.connection, self._instance, uids - users.keys())
            owned = loaded.owned
            if not self._users.are_owned_as_before(owned) and users:
                # Somebody else may have owned them, and written them.
                users = store.load(self.connection, self._instance, users.keys(), begins=False).users
            users |= loaded.users
            ours, others = self._split(due, owned)
        self._refused = [(each.request_id, NotOwner.code, str(not_owner(self._ownership, each.uid))) for each in others]
        known = {} if are_new else store.load_events(self.connection, ((each.write.uid, each.write.event_id) for each in ours))
        saving = self._apply(ours, users, known)
        for each in self._waiting:
            if (user := users.pop(each.write.uid, None)) is not None:
                self._users_waiting[user.uid] = user
        self._users.keep(users.values())
        if not self._waiting:
            self._send(saving, owned if is_known else None)
            return
        self.is_open = not is_known
        self._to_send = (b"START TRANSACTION", *fence_owned(self._instance, owned), *saving) if is_known else saving

    @property
    def age_s(self) -> float:
        return time.monotonic() - self._began_at

    @property
    def needs_quotas(self) -> bool:
        return bool(self._waiting)

    def send_with_quotas(self, patience_s: float) -> None:
        """Apply those that wait for quotas, once these are locked, and send COMMIT with them.

        Raises QuotasLocked when that takes longer than `patience_s`; else as `send`.
        """
        waiting, self._waiting = self._waiting, []
        store.write_all(self.connection, self._to_send)
        try:
            locked = store.lock_quotas(self.connection, _quota_keys(waiting), patience_s)
        except TryAgain as error:
            raise QuotasLocked(str(error), waiting) from error
        self._quotas = dict(locked)
        known = {} if self._are_new else store.load_events(self.connection, ((each.write.uid, each.write.event_id) for each in waiting))
        saving = self._apply(waiting, self._users_waiting, known)
        self._users.keep(self._users_waiting.values())
        used = {key: used for key, used in self._quotas.items() if used != locked[key]}
        self._send((*saving, *store.saving_quotas(self.connection.quote, used)), None)

    def _send(self, saving: Sequence[bytes], owned: Sequence[SegmentRow] | None) -> None:
        store.send_transaction(self.connection, self._instance, self._epoch, self._generation, owned, saving, self.uids)
        # The database is at it: time to put the answers together.
        for place, each in enumerate(self._applied):
            if each.snapshot is None:
                self._applied[place] = each._replace(snapshot=user_snapshot(each.user, self._generation))

    def receive(self) -> Writes:
        """Wait for the end of the transaction; what the front is to hear of it. Raises as `store.receive_transaction`."""
        tick, waiting = store.receive_transaction(self.connection)
        outcomes = [_outcome(each, waiting.get(each.write.uid, ())) for each in self._applied]
        return Writes(self._generation, tick, self.age_s * 1000, len(self._purges), outcomes, self._refused, [], self.grants, self.capped)

    def _split(self, due: Sequence[DueWrite], owned: Sequence[SegmentRow]) -> tuple[list[DueWrite], list[Write]]:
        """Those whose users are ours while these segments are, and the others, which are to be refused (INV 12)."""
        ranges = [(row.first, row.last) for row in owned if self._ownership.is_possessed(row)]
        ours, others = [], []
        for each in due:
            uid = each.write.uid
            for first, last in ranges:
                if first <= uid <= last:
                    ours.append(each)
                    break
            else:
                others.append(each.write)
        return ours, others

    def _apply(self, due: list[DueWrite], users: dict[int, User], results: dict[tuple[int, str], bytes]) -> Sequence[bytes]:
        """The statements that write down what comes of these. `results`: of the events that were applied before."""
        now = time.time_ns() // 1_000_000
        events: list[AppliedEvent] = []
        changed: dict[int, User] = {}
        left = Counter(each.write.uid for each in due)
        behind = {each.write.uid for each in self._waiting}
        named: dict[int, frozenset[str]] = {}
        purges: dict[tuple[int, str], Purge] = {}
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
            if write.nodes or user.uid in named:
                named[user.uid] = named.get(user.uid, _NOWHERE) | set(write.nodes)
            left[user.uid] -= 1
            snapshot = user_snapshot(user, self._generation) if left[user.uid] else None
            self._applied.append(_Applied(write, known is None, results[key], base_version, user, named.get(user.uid, _NOWHERE), snapshot))
        self.day = store.day_of(now)
        saving = [*store.saving(self.connection.quote, self._generation, changed.values(), events, purges.values(), now)]
        self._purges |= purges
        for user in changed.values():
            self.grants += len(user.grants)
            user.forget_changes()
        return saving

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

    def forget_users(self) -> None:
        """It was not committed: what is kept of its users is not so."""
        self._users.forget(self.uids)


def _quota_keys(due: Sequence[DueWrite]) -> set[QuotaKey]:
    """All that these writes may ask for; a clear asks for none."""
    changes = (change for each in due if not each.write.is_clear for change in decode_changes(each.write.changes))
    return {(change.task, key) for change in changes for key in change.caps}


def _outcome(applied: _Applied, waiting: Sequence[str]) -> Outcome:
    """`waiting`: of its user the cache nodes with a purge that is not done."""
    write, is_new, results, base_version, _, purge, snapshot = applied
    assert snapshot is not None
    return write.request_id, is_new, write_answer(is_new, results, base_version, snapshot, sorted(purge.union(waiting)))
