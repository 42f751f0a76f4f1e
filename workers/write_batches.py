"""Writes as transactions, two at a time: while one waits for the disk in its COMMIT, the database is at the next, on a second connection.

A transaction is a block that ends by itself (`write_transaction`). Ticks rise in the order of commits, and the front hears of them in that
order. Who waits while both are under way goes together into the next. A user is in one of them at the most: his next write is held until
then. When the database refuses something, all of its transaction is rolled back and done again alone, in ever smaller transactions, until
the guilty write is alone.

A write that meets a row lock of somebody else waits here, is tried again every LOCKED_RETRY_S until its time is over, and holds nobody up
but later writes of the same user: whose rows are locked is asked for (`store.locked_users`), not found out by trying.

Says what became of each write in `Writes` frames; decides nothing about who is told.
"""

from __future__ import annotations

import select
import time
from collections.abc import Iterator

from workers import store
from workers.database import Connection, DatabaseGone, Duplicate, Fenced, Locked, NoRoom, StatementRefused, TryAgain
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


class WriteBatches:
    """The writing side of one life of a master worker: its epoch fences every transaction."""

    def __init__(
        self,
        connections: tuple[Connection, Connection],
        ownership: Ownership,
        claim: store.Claim,
        traffic: Traffic,
        most: int = 128,
    ) -> None:
        """`most`: writes in one transaction."""
        self._connections = connections
        self._ownership = ownership
        self._instance = ownership.instance
        self._epoch = claim.epoch
        self._most = most
        self.generation = claim.timeline.generation
        self._traffic = traffic
        self._users = KnownUsers()
        self._under_way: list[WriteTransaction] = []
        self._waiting: list[DueWrite] = []
        """In the order in which they came: for a connection, for company, or for the end of their user's write before."""
        self._last_tick = claim.tick
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
        """How many more writes may be taken now."""
        return max(0, self._most - len(self._waiting))

    @property
    def is_idle(self) -> bool:
        return not self._under_way and not self._waiting

    @property
    def next_try_at(self) -> float:
        """When a write that met a lock is to be tried again (CLOCK_MONOTONIC, seconds): call `write` then, with or without new ones."""
        return self._try_locked_at if self._locked and self._unused is not None else float("inf")

    @property
    def _unused(self) -> Connection | None:
        """A connection without a transaction."""
        used = [each.connection for each in self._under_way]
        return next((each for each in self._connections if each not in used), None)

    @property
    def free(self) -> Connection:
        """Where something else may be asked, while nothing is under way."""
        assert not self._under_way
        return self._connections[0]

    def filenos(self) -> list[int]:
        """One is readable when a transaction has ended: call `go_on` then."""
        return [each.connection.fileno() for each in self._under_way]

    # Each of these gives one frame for each transaction that has ended, and raises Superseded, DatabaseGone.

    def write(self, due: list[DueWrite], now: float) -> Iterator[Writes]:
        """Take these writes. What waits, or is to be tried again, goes with them."""
        yield from self._end_those(self._ended())
        if self._locked and now >= self._try_locked_at and (unused := self._unused) is not None:
            waiting, self._locked = self._locked, []
            self._waiting = [*self._without_locked(waiting, unused), *self._waiting]
            self._try_locked_at = now + LOCKED_RETRY_S
        self._waiting += due
        yield from self._begin(now)

    def go_on(self) -> Iterator[Writes]:
        """What has ended is said, and what waits may follow; also what waited for something that has ended by now."""
        ended = self._ended()
        yield from self._end_those(ended)
        if ended or not self._under_way:
            yield from self._begin(time.monotonic())
        elif (oldest := self._under_way[0]).age_s > oldest.connection.patience_s:
            raise DatabaseGone(f"{oldest.connection.endpoint}: a transaction does not end")

    def settle(self) -> Iterator[Writes]:
        """Wait for the end of what is under way."""
        yield from self._end_those(list(self._under_way))

    def drain(self) -> Iterator[Writes]:
        """Wait until everything that was taken has ended, but for what waits for somebody else's lock."""
        while not self.is_idle:
            yield from self.settle()
            yield from self._begin(time.monotonic())

    def _ended(self) -> list[WriteTransaction]:
        if not self._under_way:
            return []
        readable = select.select([each.connection for each in self._under_way], [], [], 0)[0]
        return [each for each in self._under_way if each.connection in readable]

    def _end_those(self, transactions: list[WriteTransaction]) -> Iterator[Writes]:
        for each in transactions:
            if each in self._under_way:  # else it has ended with one before it
                yield from self._end(each)

    def _end(self, transaction: WriteTransaction) -> Iterator[Writes]:
        """Wait for its end."""
        self._under_way.remove(transaction)
        try:
            frame = transaction.receive()
        except (Fenced, StatementRefused, TryAgain, NoRoom) as error:
            yield from self._do_again(transaction, error)
            return
        if frame.tick != self._last_tick + 1:
            # One with a lower tick has been committed before it, and its end is about to be heard of: the front hears of that first.
            yield from self.settle()
        yield self._said(transaction, frame)

    def _said(self, transaction: WriteTransaction, frame: Writes) -> Writes:
        self._last_tick = frame.tick
        self._traffic.note(transaction.day, transaction.begun, transaction.completed)
        return frame

    def _begin(self, now: float) -> Iterator[Writes]:
        """Let those that wait set out, as far as there are connections; the second only with as many as are under way in the first, so that
        they do not become smaller."""
        while self._waiting and self._unused is not None:
            due, expired = self._take(now)
            if expired:
                yield self._none(expired)
            if not due:
                return
            yield from self._send(due)

    def _take(self, now: float) -> tuple[list[DueWrite], list[int]]:
        """Those of the waiting ones that may be begun, and the ids of those whose time is over. A client's writes are applied in his order:
        not before one of the same user that waits."""
        locked = {each.write.uid for each in self._locked}
        held = {uid for each in self._under_way for uid in each.uids}
        now_ms = now * 1000
        due: list[DueWrite] = []
        stay: list[DueWrite] = []
        left: list[DueWrite] = []
        expired: list[int] = []
        for each in self._waiting:
            if each.expires_at_ms <= now_ms:
                expired.append(each.write.request_id)
                continue
            if each.write.uid in locked:
                self._locked.append(each)
                continue
            left.append(each)
            if each.write.uid in held or len(due) >= self._most:
                stay.append(each)
                held.add(each.write.uid)
            else:
                due.append(each)
        if self._under_way and len(due) < len(self._under_way[-1].due):
            stay, due = left, []
        self._waiting = stay
        return due, expired

    def _send(self, due: list[DueWrite]) -> Iterator[Writes]:
        connection = self._unused
        assert connection is not None
        transaction = self._transaction(connection)
        try:
            transaction.send(due)
            if transaction.needs_quotas and transaction.is_open and self._under_way:
                # What is under way may take long, and nothing may stand open beside it.
                self._roll_back(transaction)
                yield from self.settle()
                yield from self._alone(due, connection)
                return
            if transaction.needs_quotas:
                yield from self.settle()  # ours may hold them
                self._add_quotas(transaction)
        except QuotasLocked as error:
            yield from self._alone(self._put_aside(transaction, error), transaction.connection)
        except (Fenced, StatementRefused, TryAgain, NoRoom) as error:
            yield from self._do_again(transaction, error)
        else:
            self._under_way.append(transaction)

    def _transaction(self, connection: Connection) -> WriteTransaction:
        return WriteTransaction(connection, self._ownership, self._users, self._epoch, self.generation)

    def _add_quotas(self, transaction: WriteTransaction) -> None:
        try:
            transaction.send_with_quotas(self._quota_patience_s)
        except QuotasLocked:
            self._quota_patience_s = 0
            raise
        self._quota_patience_s = QUOTA_PATIENCE_S

    def _put_aside(self, transaction: WriteTransaction, error: QuotasLocked) -> list[DueWrite]:
        """The writes that need quotas wait for whoever holds these; the others are left."""
        self._roll_back(transaction)
        self._locked += error.waiting
        return self._not_put_aside(transaction.due)

    def _take_tick(self, connection: Connection) -> int:
        self._last_tick = store.take_tick(connection, self._instance, self._epoch, self.generation)
        return self._last_tick

    # -- when the database refuses something

    def _do_again(self, transaction: WriteTransaction, error: Exception) -> Iterator[Writes]:
        """Roll back, and do it again with nothing beside it: what it met may have been a lock of our own."""
        self._roll_back(transaction)
        if str(error) == store.EPOCH_OVER:
            raise self._why_fenced(transaction)
        if isinstance(error, NoRoom):
            yield self._refused_for_room(transaction.due, error)
            return
        yield from self.settle()
        due = self._without_locked(transaction.due, transaction.connection) if isinstance(error, TryAgain) else transaction.due
        yield from self._alone(due, transaction.connection, are_new=not isinstance(error, Duplicate))

    def _why_fenced(self, transaction: WriteTransaction) -> Exception:
        return store.why_fenced(transaction.connection, self._instance, self._epoch, self.generation)

    def _alone(self, due: list[DueWrite], connection: Connection, are_new: bool = True) -> Iterator[Writes]:
        try:
            yield from self._try(due, connection, are_new)
        except (StatementRefused, TryAgain) as error:
            # One of them is poisonous, or meets a lock: alone it fails alone, or waits alone.
            due = self._not_put_aside(due)
            if not due:
                return
            if len(due) > 1:
                half = len(due) // 2
                yield from self._alone(due[:half], connection, are_new)
                yield from self._alone(self._not_locked(due[half:]), connection, are_new)
            elif isinstance(error, StatementRefused):
                yield self._none([], [each.write for each in due], Refused(str(error)))
            else:
                self._locked += due
        except NoRoom as error:
            yield self._refused_for_room(self._not_put_aside(due), error)

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

    def _try(self, due: list[DueWrite], connection: Connection, are_new: bool) -> Iterator[Writes]:
        """One transaction from its beginning to its end, with nothing beside it but what waits for quotas, on another connection. What it
        raises says that it was rolled back."""
        for attempt in range(TRIES):
            if not due:
                return
            transaction = self._transaction(connection)
            try:
                transaction.send(due, are_new)
                if transaction.needs_quotas:
                    self._add_quotas(transaction)
                frame = transaction.receive()
            except QuotasLocked as error:
                due = self._put_aside(transaction, error)
            except Duplicate:
                # Look, and decide anew. In a new transaction: in this one, ids of ours that went in before the known one would seem
                # to be known as well.
                self._roll_back(transaction)
                if not are_new:
                    raise  # no event: it will come again
                are_new = False
            except Fenced as error:
                self._roll_back(transaction)
                if str(error) == store.EPOCH_OVER:
                    raise self._why_fenced(transaction) from error
                if str(error) == store.TICK_LOCKED:
                    raise DatabaseGone(f"the row of instance {self._instance} stays locked") from error
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
                yield self._said(transaction, frame)
                return
        raise TryAgain("a batch was begun anew too often")

    def _roll_back(self, transaction: WriteTransaction) -> None:
        transaction.forget_users()
        store.roll_back(transaction.connection)

    def _refused_for_room(self, due: list[DueWrite], error: NoRoom) -> Writes:
        return self._none([], [each.write for each in due], MasterDown(f"the master cannot write: {error}"))

    def _none(self, expired: list[int], refused: list[Write] | None = None, error: DBSvrError | None = None) -> Writes:
        sentence = [(write.request_id, error.code, str(error)) for write in refused or []] if error else []
        return Writes(self.generation, 0, 0.0, 0, [], sentence, expired)
