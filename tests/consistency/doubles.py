"""Processes that break the protocol on purpose: `python -m tests.consistency.doubles NAME[+NAME] PROCESS …`.

They exist nowhere but in tests. Each runs the product's own process with one rule left out, and some test must find it out;
the same test passes with the intact product.

| invariant | what is broken | found out by |
|---|---|---|
| INV 1 stamp before the answer | `LateStamps` | test_consistency: the checker |
| INV 1, 2, 3, 4 together | `WithoutStamps` | test_consistency: the checker |
| INV 2 master only while in flight | `WithoutMark` (with `WithheldOutcomes`) | test_invariants: the master shows it, a replica lacks it |
| INV 2 a query begins after its reads arrived | `SharesBegunQueries` | test_consistency: the checker |
| INV 2 order on one connection | `WithoutFollowers` | test_invariants: a read sent after 300 writes |
| INV 3 an epoch fences predecessors | `WithoutEpoch` | test_invariants: an orphan stopped before its transaction |
| INV 3 the fresh tick is committed | `LooksAtTick` | test_invariants: an orphan stopped inside its transaction |
| INV 3 undecided users get the fresh tick | `ForgetsUndecided` | test_invariants: a worker killed after its commit was seen |
| INV 3 leftovers are never executed | `WithoutRunId` | test_invariants: forged leftovers |
| INV 4 a dropped stamp raises the floor | `WithoutFloor` | test_consistency: the checker |
| INV 5 the snapshot is the proof | `TrustsTheType` | test_invariants: a replica set back between receive and query |
| INV 5 what is known is held against its version | `BelievesWhatItKnows` | test_invariants: read, written, read again |
| INV 5 the bound of types | `OffByOne` (with `TrustsTheType`) | test_invariants: a replica one tick short |
| INV 6 no wake-up is lost | `ForgetsWakes` (with `SlowToSayIdle`) | test_invariants: how long reads wait |
| INV 7 ageing | `WithoutAgeing` | test_invariants: a frozen replica worker |
| INV 7 a read batch between write batches | `WritesAlwaysFirst` | test_invariants: busy writers |
| INV 7 old clears get a turn | `NoClearTurns` | test_invariants: busy writers |
| INV 12 the fence is a lock | `PlainFence` (with `StopsAfterLoading`) | test_pair_invariants: an owner stopped inside its transaction |
| INV 12 writes are fenced | `NoFence` (with `StopsBeforeWriting`) | test_pair_invariants: an owner stopped before its transaction |
| INV 12 also of users who are known | `NoFence` (with `StopsBeforeSending`) | test_pair_invariants: an owner stopped before it sends |
| INV 13 an owner has a lease | `WithoutLease` | test_pair_invariants: an owner that sees no master |
| INV 13 who takes over waits it out | `WithoutLeaseWait` | test_pair_invariants: the same |
| INV 13 a takeover raises the floor | `WithoutTakeoverFloor` | test_pair_invariants: an owner killed while replicas lag |
| a cap's quota is locked, not looked at | `WithoutQuotaLock` | test_caps: 300 users at once |

`WithheldOutcomes`, `StopsBeforeWriting`, `StopsInTransaction`, `StopsAfterLoading`, `StopsBeforeSending`, `SlowCommits`,
`SlowToSayIdle` and `OftenRebased` break nothing: they bring about, every time, what happens seldom, and the product must stand it.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

from deploy.local.private_stack import PrivateStack, StackProcess
from tests.consistency.pair_doubles import (
    no_fence,
    plain_fence,
    stops_after_loading,
    stops_before_sending,
    without_lease,
    without_lease_wait,
    without_quota_lock,
    without_takeover_floor,
)
from workers.messages import Frame, Idle, Write, Writes
from workers.user_info import UserInfo

FRONT, MASTER_WORKER, REPLICA_WORKER = "front", "master_db_svr", "slave_db_svr"


# --- fronts


class _WithoutStamps(UserInfo):
    def stamp(self, uid: int) -> int:
        return 0

    def largest_stamp(self, uids: object) -> int:
        return 0

    def is_in_flight(self, uid: int) -> bool:
        return False

    def any_in_flight(self, uids: object) -> bool:
        return False


class _LateStamps(UserInfo):
    def decide_write(self, uid: int, stamp: int | None) -> None:
        super().decide_write(uid, None)
        if stamp is not None:
            asyncio.get_running_loop().call_later(0.1, self.raise_stamp, uid, stamp)


class _WithoutMark(UserInfo):
    def is_in_flight(self, uid: int) -> bool:
        return False

    def any_in_flight(self, uids: object) -> bool:
        return False


class _WithoutFloor(UserInfo):
    def raise_floor(self, tick: int, cause: str) -> None:
        pass

    def forget_passed(self, update_ticks: object) -> None:
        while self._stamps:
            self._drop_oldest("dropped")


def _with_user_info(broken: type[UserInfo]) -> None:
    from workers import dispatch

    dispatch.UserInfo = broken  # type: ignore[misc]


def without_stamps() -> None:
    """Every user seems to have written before the DBSvr was born, and nobody seems to be writing."""
    _with_user_info(_WithoutStamps)


def late_stamps() -> None:
    """A write is acknowledged before its stamp is set."""
    _with_user_info(_LateStamps)


def without_mark() -> None:
    """Reads of a user whose write is under way may go to a replica."""
    _with_user_info(_WithoutMark)


def without_floor() -> None:
    """A dropped stamp leaves nothing behind."""
    _with_user_info(_WithoutFloor)


def without_followers() -> None:
    """A read does not wait for the write that was sent before it on the same connection."""
    from workers.dispatch import Dispatch

    def overtaking(accept: Callable[..., None]) -> Callable[..., None]:
        def accept_now(self: Any, client: Any, *rest: Any) -> None:
            writes, client.writes = client.writes, {}
            accept(self, client, *rest)
            client.writes = writes

        return accept_now

    Dispatch.accept_read = overtaking(Dispatch.accept_read)  # type: ignore[method-assign]
    Dispatch.accept_reads = overtaking(Dispatch.accept_reads)  # type: ignore[method-assign]


def forgets_undecided() -> None:
    """At a new life of the master's worker, users whose writes are undecided keep the stamps that they had."""
    from workers.dispatch import Dispatch

    begin = Dispatch._begin_life

    def forgetting(self: Any, *rest: Any) -> None:
        users = self.users
        raise_stamp, users.raise_stamp = users.raise_stamp, lambda uid, stamp: None
        begin(self, *rest)
        users.raise_stamp = raise_stamp

    Dispatch._begin_life = forgetting  # type: ignore[method-assign]


def forgets_wakes() -> None:
    """What is queued while a worker is busy is forgotten when it goes idle."""
    from workers.worker_links import WorkerLink

    wake = WorkerLink.wake

    def forgetting(self: Any) -> None:
        if self._asleep:
            wake(self)

    WorkerLink.wake = forgetting  # type: ignore[method-assign]


def without_ageing() -> None:
    """A read waits for its replica, however long."""
    from workers import dispatch

    lanes = dispatch.Lanes

    def patient(queue_key: int, run_id: int, age_limit_ms: int) -> Any:
        return lanes(queue_key, run_id, 3_600_000)

    dispatch.Lanes = patient  # type: ignore[assignment,misc]
    dispatch.Dispatch._send_again = lambda *rest: None  # type: ignore[assignment,method-assign]


def no_clear_turns() -> None:
    """Clears wait until nothing else does, however old they are."""
    from workers.dispatch import Dispatch

    offer = Dispatch._offer_clear_turn

    def never_overdue(self: Any, now: float) -> None:
        offer(self, min(now, self.lanes.clear.oldest_arrival() or now))

    Dispatch._offer_clear_turn = never_overdue  # type: ignore[method-assign]


def often_rebased() -> None:
    """Not broken: a new base every 50 ticks."""
    from workers import servers

    servers.REBASE_AT = 50


# --- the master's worker


def without_epoch() -> None:
    """A new life commits a fresh tick, and leaves its predecessors' right to write as it was."""
    from workers import store

    intact = store.claim_instance

    def claim(connection: Any, instance: str, *rest: Any) -> Any:
        claimed = intact(connection, instance, *rest)
        if claimed.epoch > 1:
            connection.execute("UPDATE db_info SET worker_epoch = worker_epoch - 1 WHERE instance = %s", (instance,))
            claimed = claimed._replace(epoch=claimed.epoch - 1)
        return claimed

    store.claim_instance = claim


class _OnlyLooking:
    """A connection through which a claim changes nothing and waits for nobody."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def execute(self, sql: str, *rest: Any) -> Any:
        return self._connection.execute(sql.replace(" FOR UPDATE", ""), *rest) if sql.startswith("SELECT") else []


def looks_at_tick() -> None:
    """A new life takes the tick that it sees for a fresh one, also for the segments that it possesses."""
    from workers import store
    from workers.segment_keeper import SegmentKeeper

    possess = SegmentKeeper._possess

    def possess_looking(self: Any, row: Any) -> int:
        self._fresh_tick = lambda: store.read_tick(self._connection, self._ownership.instance)[1]
        return possess(self, row)

    SegmentKeeper._possess = possess_looking  # type: ignore[method-assign]

    intact = store.claim_instance

    def claim(connection: Any, instance: str, *rest: Any) -> Any:
        known = connection.execute("SELECT 1 FROM db_info WHERE instance = %s", (instance,))
        return intact(_OnlyLooking(connection) if known else connection, instance, *rest)

    store.claim_instance = claim


def shares_begun_queries() -> None:
    """A read is answered by what a query begun up to 50 ms before it has found."""
    from workers import store

    intact = store.read_snapshots
    begun: dict[int, tuple[float, bytes]] = {}

    def sharing(connection: Any, instance: str, uids: Any, known: Any) -> Any:
        now = time.monotonic()
        generation, tick, snapshots = intact(connection, instance, uids, known)
        for uid, snapshot in snapshots.items():
            if uid not in begun or now - begun[uid][0] > 0.05:
                begun[uid] = (now, snapshot)
        return generation, tick, {uid: begun[uid][1] for uid in snapshots}

    store.read_snapshots = sharing


def believes_what_it_knows() -> None:
    """A snapshot that was read before is answered again at the present tick, whatever version the database shows."""
    from workers import store

    intact = store.read_snapshots

    def believing(connection: Any, instance: str, uids: Any, known: Any) -> Any:
        found = known.find(uids, time.monotonic())
        generation, tick, snapshots = intact(connection, instance, uids, known)
        return generation, tick, snapshots | {uid: snapshot for uid, (_, snapshot) in found.items()}

    store.read_snapshots = believing


def writes_always_first() -> None:
    """Reads get no turn while writes wait."""
    from workers.master_db_svr import _Life

    read = _Life._read

    def reading(self: Any) -> bool:
        return not self._queues.finish.depth() and self._batches.is_idle and read(self)

    _Life._read = reading  # type: ignore[method-assign]


def withheld_outcomes() -> None:
    """Not broken: the front never hears what became of a write, until the worker is killed; reads are answered at once."""
    from workers.front_link import FrontLink

    hold = FrontLink.hold

    def withholding(self: Any, frame: Frame) -> None:
        if not isinstance(frame, Writes):
            hold(self, frame)

    FrontLink.hold = withholding  # type: ignore[method-assign]


def _stop_myself(*anything: Any) -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


def stops_before_writing() -> None:
    """Not broken: it freezes when it has taken a batch, and has not begun its transaction."""
    from workers.write_batches import WriteBatches

    write = WriteBatches.write

    def stopping(self: Any, writes: list[Write], *rest: Any) -> Any:
        if writes:
            _stop_myself()
        return write(self, writes, *rest)

    WriteBatches.write = stopping  # type: ignore[assignment,method-assign]


def stops_in_transaction() -> None:
    """Not broken: it freezes when it has locked its tick's row, as a master that freezes in a block; it may idle for long."""
    from workers import database, store

    database.IDLE_TRANSACTION_S = 8
    send_transaction = store.send_transaction

    def stopping(connection: Any, instance: str, epoch: int, generation: int, owned: Any, *rest: Any) -> None:
        store.begin(connection)
        store.take_tick(connection, instance, epoch, generation)
        _stop_myself()
        send_transaction(connection, instance, epoch, generation, None, *rest)

    store.send_transaction = stopping


def slow_commits() -> None:
    """Not broken: every COMMIT takes a while longer."""
    from workers import store

    send_transaction = store.send_transaction

    def slow(*rest: Any) -> None:
        time.sleep(0.1)
        send_transaction(*rest)

    store.send_transaction = slow


# --- a replica's worker


def trusts_the_type() -> None:
    """What the kernel handed out is answered, whatever the snapshot shows."""
    from workers import slave_db_svr

    def trusting(tickets: Any, generation: int, tick: int, snapshots: Any, *rest: Any) -> Any:
        return [(ticket.request_id, [snapshots[uid] for uid in ticket.uids]) for ticket in tickets], []

    slave_db_svr.prove = trusting


def off_by_one() -> None:
    """It receives reads that need one tick more than the replica shows."""
    from workers import slave_db_svr

    intact = slave_db_svr.message_type
    slave_db_svr.message_type = lambda stamp, base: intact(stamp, base) + 1


# --- any worker


def slow_to_say_idle() -> None:
    """Not broken: a while passes between its last look at the queues and its word that it is idle."""
    from workers.front_link import FrontLink

    hold = FrontLink.hold

    def slow(self: Any, frame: Frame) -> None:
        if isinstance(frame, Idle):
            self.flush()  # or its answers would come as late, and nobody would ask meanwhile
            time.sleep(0.05)
        hold(self, frame)

    FrontLink.hold = slow  # type: ignore[method-assign]


def without_run_id() -> None:
    """What an older run left in the queues is executed."""
    from workers import queues
    from workers.messages import Ticket, decode_ticket

    class AnyRun(queues.Queue):
        def drain(self, run_id: int, message_type: int, most: int) -> list[Ticket]:
            decode = queues.decode_ticket
            queues.decode_ticket = lambda message: (ticket := decode_ticket(message)) and ticket._replace(run_id=run_id)
            try:
                return super().drain(run_id, message_type, most)
            finally:
                queues.decode_ticket = decode

    queues.Queue = AnyRun  # type: ignore[misc]


_ALL: tuple[tuple[Callable[[], None], tuple[str, ...]], ...] = (
    (without_stamps, (FRONT,)),
    (late_stamps, (FRONT,)),
    (without_mark, (FRONT,)),
    (without_floor, (FRONT,)),
    (without_followers, (FRONT,)),
    (forgets_undecided, (FRONT,)),
    (forgets_wakes, (FRONT,)),
    (without_ageing, (FRONT,)),
    (no_clear_turns, (FRONT,)),
    (often_rebased, (FRONT,)),
    (without_epoch, (MASTER_WORKER,)),
    (looks_at_tick, (MASTER_WORKER,)),
    (shares_begun_queries, (MASTER_WORKER,)),
    (believes_what_it_knows, (MASTER_WORKER, REPLICA_WORKER)),
    (writes_always_first, (MASTER_WORKER,)),
    (withheld_outcomes, (MASTER_WORKER,)),
    (stops_before_writing, (MASTER_WORKER,)),
    (stops_in_transaction, (MASTER_WORKER,)),
    (stops_before_sending, (MASTER_WORKER,)),
    (slow_commits, (MASTER_WORKER,)),
    (trusts_the_type, (REPLICA_WORKER,)),
    (off_by_one, (REPLICA_WORKER,)),
    (slow_to_say_idle, (MASTER_WORKER, REPLICA_WORKER)),
    (without_run_id, (MASTER_WORKER, REPLICA_WORKER)),
    (plain_fence, (MASTER_WORKER,)),
    (no_fence, (MASTER_WORKER,)),
    (stops_after_loading, (MASTER_WORKER,)),
    (without_quota_lock, (MASTER_WORKER,)),
    (without_lease, (FRONT, MASTER_WORKER)),
    (without_lease_wait, (MASTER_WORKER,)),
    (without_takeover_floor, (FRONT,)),
)
DOUBLES = {break_it.__name__.title().replace("_", ""): (break_it, processes) for break_it, processes in _ALL}


def break_on_purpose(stack: PrivateStack, names: str) -> None:
    """Break the stack's processes, before they are started, in these ways (joined by "+"), each in those that it concerns."""
    for process in stack.dbsvr_processes:
        double(process, names)


def double(process: StackProcess, names: str) -> None:
    """Break this one process (`python -m workers PROCESS …`, not started yet) in those of these ways that concern its kind."""
    python, arguments = process.command[0], process.command[process.command.index("workers") + 1 :]
    chosen = [name for name in names.split("+") if name and arguments[0] in DOUBLES[name][1]]
    if chosen:
        process.command = [python, "-m", "tests.consistency.doubles", "+".join(chosen), *arguments]


if __name__ == "__main__":
    for each in sys.argv[1].split("+"):
        DOUBLES[each][0]()
    from workers.__main__ import main

    sys.exit(main(sys.argv[2:]))
