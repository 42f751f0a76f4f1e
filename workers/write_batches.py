"""Writes as transactions, two at a time: while one is in its COMMIT, which waits for the disk, the next is made on a second connection.

There is one *open* transaction at the most, which takes what comes, and one in its COMMIT. The open one takes its tick and follows
when the other has ended, so ticks rise in the order of commits; when it has grown as large as the other, it asks for its tick before, and
is *closed* from then on. A user with a write in the COMMIT is not in the open one: his next write is held until then. When the database
refuses something, all of the open one is rolled back and done again alone, in ever smaller transactions, until the guilty write is alone.

A write that meets a row lock of somebody else waits here, is tried again every LOCKED_RETRY_S until its time is over, and holds nobody up
but later writes of the same user: whose rows are locked is asked for (`store.locked_users`), not found out by trying.

Says what became of each write in `Writes` frames; decides nothing about who is told.
"""

from __future__ import annotations

import select
import time
from collections.abc import Iterator
from typing import NamedTuple

from workers import store
from workers.database import Connection, DatabaseGone, Duplicate, Locked, NoRoom, StatementRefused, TryAgain
from workers.known_users import KnownUsers
from workers.messages import Write, Writes
from workers.ownership import Ownership
from workers.protocol import DBSvrError, MasterDown, Refused
from workers.traffic import Row, Traffic
from workers.write_transaction import DueWrite, QuotasLocked, WriteTransaction

TRIES = 3
"""How often a batch that met a deadlock or a lock is tried as it is."""

LOCKED_RETRY_S = 0.02
TRAFFIC_AGAIN_S = 10.0
"""After its table was not there, or locked."""
QUOTA_PATIENCE_S = 0.3
"""Another DBSvr holds quotas while it commits. Who has waited so long in vain asks without waiting, until he has had them again.
Shorter than a tick may stand still before the other DBSvr takes over (`takeover_after_ms`)."""
KEPT_ALIVE_EVERY_S = 0.5
"""The server ends a transaction that idles for too long; the open one may have to wait for a slow disk."""


class _Committing(NamedTuple):
    """A transaction whose COMMIT was sent."""

    transaction: WriteTransaction
    tick: int


class WriteBatches:
    """The writing side of one life of a master worker: its epoch fences every transaction."""

    def __init__(
        self,
        connections: tuple[Connection, Connection],
        ownership: Ownership,
        epoch: int,
        generation: int,
        traffic: Traffic,
        most: int = 128,
    ) -> None:
        """`most`: writes in one transaction."""
        self._connections = connections
        self._ownership = ownership
        self._instance = ownership.instance
        self._epoch = epoch
        self._most = most
        self.generation = generation
        self._traffic = traffic
        self._users = KnownUsers()
        self._open: WriteTransaction | None = None
        self._committing: _Committing | None = None
        self._held: list[DueWrite] = []
        """For users with a write in the COMMIT, or while what is open is closed."""
        self._locked: list[DueWrite] = []
        self._try_locked_at = 0.0
        self._quota_patience_s: float = QUOTA_PATIENCE_S
        for each in self._connections:
            store.wait_for_no_row(each)

    def beat(self) -> int:
        """Commit a transaction that changes no user, with nothing under way; its tick. It takes the traffic along.

        Raises NoRoom, Superseded, DatabaseGone.
        """
        now = time.monotonic()
        rows = self._traffic.take(now) if self._traffic.is_due(now) else []
        try:
            return self._commit_beat(rows)
        except (TryAgain, NoRoom, StatementRefused) as error:
            store.roll_back(self._connections[0])
            self._traffic.give_back(rows, now + TRAFFIC_AGAIN_S)
            if rows and not isinstance(error, NoRoom):
                return self.beat()  # their table is not there yet, or locked: no beat waits for a figure
            if isinstance(error, StatementRefused):
                raise
            raise NoRoom("the beat was refused") from None

    def _commit_beat(self, rows: list[Row]) -> int:
        connection = self._connections[0]
        if not rows:
            # A tick by itself is committed at once, in one round trip of an idle master instead of three. Whenever a frozen server finds
            # it: there is nothing with it, and it goes only to who has the epoch still.
            return self._take_tick(connection)
        store.begin(connection)
        tick = self._take_tick(connection)
        store.add_traffic(connection, self._instance, rows, self._traffic.oldest_kept(rows[-1].day))
        store.commit(connection)
        return tick

    def forget_user(self, uid: int) -> None:
        """Somebody has written him beside these transactions."""
        self._users.forget([uid])

    @property
    def is_traffic_due(self) -> bool:
        """A beat is to be made before its time: there is traffic to be written, also while one write follows the other."""
        return self._traffic.is_due(time.monotonic())

    @property
    def room(self) -> int:
        """How many more writes may be taken now. None while the database is at those that were taken last: they find their place behind."""
        if self._open is not None and (self._open.is_closed or self._open.is_busy):
            return 0
        return max(0, self._most - len(self._held) - (len(self._open.due) if self._open else 0))

    @property
    def is_idle(self) -> bool:
        return self._open is None and self._committing is None

    @property
    def next_try_at(self) -> float:
        """When a write that met a lock is to be tried again (CLOCK_MONOTONIC, seconds): call `write` then, with or without new ones."""
        return self._try_locked_at if self._locked and self._unused is not None else float("inf")

    @property
    def _unused(self) -> Connection | None:
        """A connection without a transaction."""
        used = [each.connection for each in (self._open, self._committing and self._committing.transaction) if each]
        return next((each for each in self._connections if each not in used), None)

    @property
    def free(self) -> Connection:
        """Where something else may be asked, once no COMMIT is under way: what is open is not seen there."""
        assert self._committing is None
        return self._connections[self._open is not None and self._open.connection is self._connections[0]]

    def filenos(self) -> list[int]:
        """One is readable when the COMMIT under way has ended, or there is room for more writes: call `go_on` then, and look at `room`."""
        waited_for = [self._committing.transaction] if self._committing is not None else []
        if self._open is not None and self._open.is_busy:
            waited_for.append(self._open)
        return [each.connection.fileno() for each in waited_for]

    # Each of these gives one frame for each transaction that has ended, and raises Superseded, DatabaseGone.

    def write(self, due: list[DueWrite], now: float) -> Iterator[Writes]:
        """Take these writes. What was held, or is to be tried again, goes with them."""
        yield from self.go_on()
        if self._locked and now >= self._try_locked_at and (unused := self._unused) is not None:
            waiting, self._locked = self._locked, []
            due = [*self._without_locked(waiting, unused), *due]
            self._try_locked_at = now + LOCKED_RETRY_S
        if expired := [each.write.request_id for each in due if each.expires_at_ms <= now * 1000]:
            yield self._none(expired)
        yield from self._take([each for each in due if each.expires_at_ms > now * 1000])

    def go_on(self) -> Iterator[Writes]:
        """Once no COMMIT is under way any more, let the open transaction follow."""
        if self._committing is not None:
            if not select.select([self._committing.transaction.connection], [], [], 0)[0]:
                yield from self._ask_for_tick()
                return
            yield from self.settle()
        yield from self._follow()

    def settle(self) -> Iterator[Writes]:
        """Wait for the end of the COMMIT under way, if there is one."""
        if self._committing is None:
            return
        transaction, tick = self._committing
        while self._open is not None and not select.select([transaction.connection], [], [], KEPT_ALIVE_EVERY_S)[0]:
            self._open.keep_alive()
        self._committing = None
        try:
            transaction.connection.receive()
        except NoRoom as error:
            yield self._refused_for_room(transaction, error)
        except (StatementRefused, TryAgain) as error:
            raise DatabaseGone(f"a COMMIT was refused: {error}") from error  # the next life finds out what became of it
        else:
            self._traffic.note(transaction.day, transaction.begun, transaction.completed)
            yield transaction.ended(tick)

    def drain(self) -> Iterator[Writes]:
        """Wait until everything that was taken has ended, but for what waits for somebody else's lock."""
        while not self.is_idle or self._held:
            yield from self.settle()
            yield from self._follow()

    def _ask_for_tick(self) -> Iterator[Writes]:
        """While a COMMIT is under way: the database gives the next tick the moment that the row is free, with no word from here between.

        Only to a transaction that is as large as the one before: it takes no more writes from here on, and they should not become smaller.
        """
        transaction, committing = self._open, self._committing
        if transaction is None or committing is None or transaction.is_closed or transaction.is_busy or transaction.needs_quotas:
            return
        if len(transaction.due) < len(committing.transaction.due):
            return
        try:
            self._finish(transaction)
        except (StatementRefused, TryAgain, NoRoom) as error:
            yield from self._do_again(error)
            return
        store.ask_for_tick(transaction.connection, self._instance, self._epoch, self.generation)
        transaction.is_closed = True

    def _follow(self) -> Iterator[Writes]:
        """The COMMIT before has ended: take what was held for it, and commit what is open."""
        if self._open is not None and self._open.is_closed and self._committing is None:
            yield from self._end_open()
        held, self._held = self._held, []
        yield from self._take(held)
        if self._open is not None and self._committing is None:
            yield from self._end_open()

    def _take(self, due: list[DueWrite]) -> Iterator[Writes]:
        due = self._hold_back(due)
        if not due:
            return
        if self._open is not None and self._open.is_closed:
            self._held += due
            return
        if self._open is None:
            self._open = self._begin()
        try:
            self._open.add(due)
        except (StatementRefused, TryAgain, NoRoom) as error:
            yield from self._do_again(error)
            return
        if self._committing is None:
            yield from self._end_open()

    def _hold_back(self, due: list[DueWrite]) -> list[DueWrite]:
        """Those that may be taken now. A client's writes are applied in his order: not before one of the same user that waits."""
        locked = {each.write.uid for each in self._locked}
        held = {each.write.uid for each in self._held}
        if self._committing is not None:
            held |= self._committing.transaction.uids
        if not locked and not held:
            return due
        self._locked += [each for each in due if each.write.uid in locked]
        self._held += [each for each in due if each.write.uid in held and each.write.uid not in locked]
        return [each for each in due if each.write.uid not in locked and each.write.uid not in held]

    def _begin(self) -> WriteTransaction:
        busy = self._committing.transaction.connection if self._committing is not None else None
        connection = next(each for each in self._connections if each is not busy)
        return WriteTransaction(connection, self._ownership, self._users, self.generation)

    def _end_open(self) -> Iterator[Writes]:
        """The quotas that it needs, then its tick and COMMIT. Our own COMMIT has ended by then: it may have held them."""
        transaction = self._open
        assert transaction is not None
        try:
            self._finish(transaction)
        except QuotasLocked as error:
            self._open = None
            yield from self._alone(self._put_aside(transaction, error))
        except (StatementRefused, TryAgain, NoRoom) as error:
            yield from self._do_again(error)
        else:
            yield from self._commit_open()

    def _finish(self, transaction: WriteTransaction) -> None:
        try:
            transaction.finish(self._quota_patience_s)
        except QuotasLocked:
            self._quota_patience_s = 0
            raise
        if transaction.has_quotas:
            self._quota_patience_s = QUOTA_PATIENCE_S

    def _put_aside(self, transaction: WriteTransaction, error: QuotasLocked) -> list[DueWrite]:
        """The writes that need quotas wait for whoever holds these; the others are left."""
        self._roll_back(transaction)
        self._locked += error.waiting
        return self._not_put_aside(transaction.due)

    def _commit_open(self) -> Iterator[Writes]:
        """Take the tick, and send COMMIT."""
        transaction, self._open = self._open, None
        assert transaction is not None
        try:
            tick = self._take_tick(transaction.connection, transaction.is_closed)
        except TryAgain as error:
            self._open = transaction  # its patience was over before the COMMIT before it
            yield from self._do_again(error)
            return
        except NoRoom as error:
            yield self._refused_for_room(transaction, error)
            return
        except StatementRefused as error:
            raise DatabaseGone(f"a tick was refused: {error}") from error  # no fault of these writes: they go to the next life
        store.send_commit(transaction.connection)
        self._committing = _Committing(transaction, tick)

    def _take_tick(self, connection: Connection, was_asked_for: bool = False) -> int:
        take = store.receive_tick if was_asked_for else store.take_tick
        return take(connection, self._instance, self._epoch, self.generation)

    # -- when the database refuses something

    def _do_again(self, error: Exception) -> Iterator[Writes]:
        """Roll back what is open, and do it again with nothing beside it: what it met may have been our own COMMIT's lock."""
        transaction, self._open = self._open, None
        assert transaction is not None
        self._roll_back(transaction)
        yield from self.settle()
        due = self._without_locked(transaction.due, transaction.connection) if isinstance(error, TryAgain) else transaction.due
        yield from self._alone(due, are_new=not isinstance(error, Duplicate))

    def _alone(self, due: list[DueWrite], are_new: bool = True) -> Iterator[Writes]:
        try:
            yield from self._try(due, are_new)
        except (StatementRefused, TryAgain) as error:
            # One of them is poisonous, or meets a lock: alone it fails alone, or waits alone.
            due = self._not_put_aside(due)
            if not due:
                return
            if len(due) > 1:
                half = len(due) // 2
                yield from self._alone(due[:half], are_new)
                yield from self._alone(self._not_locked(due[half:]), are_new)
            elif isinstance(error, StatementRefused):
                yield self._none([], [each.write for each in due], Refused(str(error)))
            else:
                self._locked += due
        except NoRoom as error:
            writes = [each.write for each in self._not_put_aside(due)]
            yield self._none([], writes, MasterDown(f"the master cannot write: {error}"))

    def _without_locked(self, due: list[DueWrite], connection: Connection) -> list[DueWrite]:
        """Those that can be tried; the others wait. One of them among many would end the transaction of all, over and over."""
        locked = store.locked_users(connection, {each.write.uid for each in due})
        self._locked += [each for each in due if each.write.uid in locked]
        return [each for each in due if each.write.uid not in locked]

    def _not_put_aside(self, due: list[DueWrite]) -> list[DueWrite]:
        """A try may have left some to wait before it failed."""
        aside = {each.write.request_id for each in self._locked}
        return [each for each in due if each.write.request_id not in aside]

    def _not_locked(self, due: list[DueWrite]) -> list[DueWrite]:
        locked = {each.write.uid for each in self._locked}
        self._locked += [each for each in due if each.write.uid in locked]
        return [each for each in due if each.write.uid not in locked]

    def _try(self, due: list[DueWrite], are_new: bool) -> Iterator[Writes]:
        """One transaction from its beginning to its end. What it raises says that it was rolled back."""
        for attempt in range(TRIES):
            if not due:
                return
            transaction = self._begin()
            try:
                transaction.add(due, are_new)
                self._finish(transaction)
            except QuotasLocked as error:
                due = self._put_aside(transaction, error)
            except Duplicate:
                # Look, and decide anew. In a new transaction: in this one, ids of ours that went in before the known one would seem
                # to be known as well.
                self._roll_back(transaction)
                if not are_new:
                    raise  # no event: it will come again
                are_new = False
            except TryAgain as error:
                self._roll_back(transaction)
                free = self._without_locked(due, transaction.connection)
                if len(free) == len(due) and (isinstance(error, Locked) or attempt == TRIES - 1):
                    raise
                due = free
            except (StatementRefused, NoRoom):
                self._roll_back(transaction)
                raise
            else:
                self._open = transaction
                yield from self._commit_open()
                yield from self.settle()
                return
        raise TryAgain("a batch was begun anew too often")

    def _roll_back(self, transaction: WriteTransaction) -> None:
        transaction.forget_users()
        store.roll_back(transaction.connection)

    def _refused_for_room(self, transaction: WriteTransaction, error: NoRoom) -> Writes:
        self._roll_back(transaction)
        return self._none([], [each.write for each in transaction.due], MasterDown(f"the master cannot write: {error}"))

    def _none(self, expired: list[int], refused: list[Write] | None = None, error: DBSvrError | None = None) -> Writes:
        sentence = [(write.request_id, error.code, str(error)) for write in refused or []] if error else []
        return Writes(self.generation, 0, 0.0, 0, [], sentence, expired)
