"""Writes as transactions: one for a whole batch, and ever smaller ones when the batch is refused, until the guilty one is alone.

A write that meets a row lock of somebody else waits here, is tried again every LOCKED_RETRY_S until its time is over, and holds
nobody up but later writes of the same user. Leans on `changes` for what a write does and on `store` for the statements and their
order. Says what became of each write in `Writes` frames; decides nothing about who is told.
"""

from __future__ import annotations

import time
from itertools import islice
from typing import NamedTuple, TypeAlias

from workers import store
from workers.changes import User, apply_changes, clear, encode_results
from workers.database import Connection, Duplicate, NoRoom, StatementRefused, TryAgain
from workers.messages import SegmentRow, Write, Writes
from workers.ownership import Ownership, not_owner
from workers.protocol import BadArgument, DBSvrError, MasterDown, NotOwner, Refused, decode_changes
from workers.snapshots import user_snapshot, write_answer
from workers.store import AppliedEvent, Loaded, Purge
from workers.traffic import Row, Traffic

Outcome: TypeAlias = "tuple[int, bool, bytes]"
Refusal: TypeAlias = "tuple[int, str, str]"
TRIES = 3
"""How often a batch that met a deadlock or a lock is tried as it is."""

LOCKED_RETRY_S = 0.02
TRAFFIC_AGAIN_S = 10.0
"""After its table was not there, or locked."""


class DueWrite(NamedTuple):
    """A write that may be begun until `expires_at_ms` (CLOCK_MONOTONIC)."""

    write: Write
    expires_at_ms: int


class WriteBatches:
    """The writing side of one life of a master worker: its epoch fences every transaction."""

    def __init__(self, connection: Connection, ownership: Ownership, epoch: int, generation: int, traffic: Traffic) -> None:
        self._connection = connection
        self._ownership = ownership
        self._instance = ownership.instance
        self._epoch = epoch
        self.generation = generation
        self._traffic = traffic
        self._locked: list[DueWrite] = []
        self._try_locked_at = 0.0
        store.wait_for_no_row(connection)

    def beat(self) -> int:
        """Commit a transaction that changes no user; its tick. It takes the traffic along. Raises NoRoom, Superseded, DatabaseGone."""
        now = time.monotonic()
        rows = self._traffic.take(now) if self._traffic.is_due(now) else []
        try:
            return self._commit_beat(rows)
        except (TryAgain, NoRoom, StatementRefused) as error:
            store.roll_back(self._connection)
            self._traffic.give_back(rows, now + TRAFFIC_AGAIN_S)
            if rows and not isinstance(error, NoRoom):
                return self.beat()  # their table is not there yet, or locked: no beat waits for a figure
            if isinstance(error, StatementRefused):
                raise
            raise NoRoom("the beat was refused") from None

    def _commit_beat(self, rows: list[Row]) -> int:
        tick = store.begin_write(self._connection, self._instance, self._epoch, self.generation)
        if rows:
            store.add_traffic(self._connection, self._instance, rows, self._traffic.oldest_kept(rows[-1].day))
        store.commit(self._connection)
        return tick

    @property
    def is_beat_due(self) -> bool:
        """Before the time of the next one has come: there is traffic to be written, also while one write follows the other."""
        return self._traffic.is_due(time.monotonic())

    @property
    def next_try_at(self) -> float:
        """When a write that met a lock is to be tried again (CLOCK_MONOTONIC, seconds): call `write` then, with or without new ones."""
        return self._try_locked_at if self._locked else float("inf")

    def write(self, due: list[DueWrite], now: float) -> list[Writes]:
        """Apply the batch; one frame for each transaction that it took. Raises Superseded, DatabaseGone."""
        if self._locked and now >= self._try_locked_at:
            due, self._locked = [*self._locked, *due], []
            self._try_locked_at = now + LOCKED_RETRY_S
        expired = [each.write.request_id for each in due if each.expires_at_ms <= now * 1000]
        return [*([self._none(expired)] if expired else []), *self._write([each for each in due if each.expires_at_ms > now * 1000])]

    def _write(self, due: list[DueWrite]) -> list[Writes]:
        if self._locked:
            # Not before those of the same user that wait: a client's writes are applied in his order.
            waiting = {each.write.uid for each in self._locked}
            self._locked += [each for each in due if each.write.uid in waiting]
            due = [each for each in due if each.write.uid not in waiting]
        if not due:
            return []
        writes = [each.write for each in due]
        try:
            return [self._try(writes)]
        except (StatementRefused, TryAgain) as error:
            # One of them is poisonous, or meets a lock: alone it fails alone, or waits alone.
            if len(due) > 1:
                half = len(due) // 2
                return [*self._write(due[:half]), *self._write(due[half:])]
            if isinstance(error, StatementRefused):
                return [self._none([], writes, Refused(str(error)))]
            self._locked += due
            return []
        except NoRoom as error:
            return [self._none([], writes, MasterDown(f"the master cannot write: {error}"))]

    def _none(self, expired: list[int], refused: list[Write] | None = None, error: DBSvrError | None = None) -> Writes:
        sentence = [(write.request_id, error.code, str(error)) for write in refused or []] if error else []
        return Writes(self.generation, 0, 0.0, 0, [], sentence, expired)

    def _try(self, writes: list[Write]) -> Writes:
        for attempt in range(TRIES):
            started_at = time.monotonic()
            try:
                tick, outcomes, refused, purges = self._transaction(writes)
            except TryAgain:
                store.roll_back(self._connection)
                if attempt == TRIES - 1:
                    raise
            except (StatementRefused, NoRoom):
                store.roll_back(self._connection)
                raise
            else:
                return Writes(self.generation, tick, (time.monotonic() - started_at) * 1000, purges, outcomes, refused, [])
        raise AssertionError("unreachable: the last try raises")

    def _transaction(self, writes: list[Write]) -> tuple[int, list[Outcome], list[Refusal], int]:
        try:
            return self._try_transaction(writes, are_new=True)
        except Duplicate:
            # Event ids are new, nearly always, so they are not asked for. Here one was not: now look, and decide anew. In a new
            # transaction: in this one, ids of ours that went in before the known one would seem to be known as well.
            store.roll_back(self._connection)
            return self._try_transaction(writes, are_new=False)

    def _try_transaction(self, writes: list[Write], are_new: bool) -> tuple[int, list[Outcome], list[Refusal], int]:
        connection = self._connection
        tick = store.begin_write(connection, self._instance, self._epoch, self.generation)
        loaded = store.load(connection, self._instance, {write.uid for write in writes})
        ours, refused = self._fence(writes, loaded.owned)
        if not ours:
            store.commit(connection)
            return tick, [], refused, 0
        known = {} if are_new else store.load_events(connection, ((write.uid, write.event_id) for write in ours))
        outcomes, more_refused, purges = self._apply_and_commit(ours, loaded, known)
        return tick, outcomes, [*refused, *more_refused], purges

    def _fence(self, writes: list[Write], owned: list[SegmentRow]) -> tuple[list[Write], list[Refusal]]:
        """Those whose users we own, which is held so until the transaction ends; and a refusal for each of the others (INV 12)."""
        rows = [row for row in owned if self._ownership.is_possessed(row)]
        ours, refused = [], []
        for write in writes:
            if any(row.first <= write.uid <= row.last for row in rows):
                ours.append(write)
            else:
                refused.append((write.request_id, NotOwner.code, str(not_owner(self._ownership, write.uid))))
        return ours, refused

    def _apply_and_commit(
        self, writes: list[Write], loaded: Loaded, results: dict[tuple[int, str], bytes]
    ) -> tuple[list[Outcome], list[Refusal], int]:
        """`results`: of the events that were applied before. Raises Duplicate when there are more of those."""
        now = time.time_ns() // 1_000_000
        outcomes: list[Outcome] = []
        refused: list[Refusal] = []
        events: list[AppliedEvent] = []
        changed: dict[int, User] = {}
        purges: dict[tuple[int, str], Purge] = {}
        begun: list[int] = []
        completed: list[int] = []
        for write in writes:
            user, key = loaded.users[write.uid], (write.uid, write.event_id)
            base_version = user.version
            known = results.get(key)
            if known is None:
                try:
                    result = _apply(user, write, now, begun, completed)
                except BadArgument as error:
                    refused.append((write.request_id, error.code, str(error)))
                    continue
                results[key] = result
                events.append(AppliedEvent(write.uid, write.event_id, result))
                changed[user.uid] = user
            for node in write.nodes:
                purges[user.uid, node] = Purge(user.uid, user.version, node)
            nodes = write.nodes
            if nodes or user.uid in loaded.purges:
                # Also those of the user's earlier writes in this very batch: they are no nearer to being done.
                nodes = loaded.purges[user.uid] = sorted({*nodes, *loaded.purges.get(user.uid, ())})
            answer = write_answer(known is None, results[key], base_version, user_snapshot(user, self.generation), nodes)
            outcomes.append((write.request_id, known is None, answer))
        store.save_and_commit(self._connection, self.generation, changed.values(), events, purges.values(), now)
        self._traffic.note(store.day_of(now), begun, completed)
        return outcomes, refused, len(purges)


def _apply(user: User, write: Write, now_ms: int, begun: list[int], completed: list[int]) -> bytes:
    """The results, as JSON. The numbers of tasks whose records it has begun and completed are added to the two lists."""
    if write.is_clear:
        clear(user)
        return b"[]"
    records = user.tasks
    known = len(records)
    # The front has checked what it sends.
    results = apply_changes(user, decode_changes(write.changes), now_ms)
    if len(records) > known:
        begun += [task for task, _ in islice(reversed(records), len(records) - known)]  # new ones stand at the end
    for each in results:
        if each.completed_now:
            completed.append(each.task)
    return encode_results(results)
