"""The master's worker: all writes and deletions of one DBSvr, and the reads that only the master may answer.

A loop of short steps: writes first; reads when no write waits (or when reads have waited past their limit); clears when
neither waits; a beat when nothing was committed for a while. Each step takes what is waiting, up to a batch, and handles it
with one statement or one transaction.

Each life begins with a claim: a committed fresh tick and a new epoch, after which no earlier worker of the instance can
commit (INV 3).
"""

from __future__ import annotations

import contextlib
import gc
import logging
import time
from collections.abc import Iterable

from tasksys_site.configuration import Configuration
from workers import store
from workers.database import Connection, NoRoom, TryAgain
from workers.front_link import FrontGone, local_socket_path
from workers.hold_rows import HoldLooks
from workers.known_snapshots import KnownSnapshots
from workers.lease_clock import boottime
from workers.lives import Place, WorkerProcess, heed_leave
from workers.messages import (
    MASTER_ONLY,
    NOT_NOW,
    ClearTurn,
    Down,
    GiveSegment,
    HoldReplica,
    Idle,
    MayPossess,
    PurgeCopy,
    Reads,
    Ready,
    TakeSegment,
    Ticked,
    Ticket,
    Wake,
    Write,
    Writes,
)
from workers.ownership import Ownership
from workers.probes import Probes
from workers.process import StopFlag, now_ms
from workers.queues import Queues
from workers.repairs import Repairs
from workers.revisions import Revisions
from workers.roles import MasterRole, known
from workers.segment_keeper import EARLY, SegmentKeeper
from workers.traffic import Traffic
from workers.write_batches import WriteBatches
from workers.write_transaction import DueWrite

PAYLOAD_WAIT_S = 2.0
READ_PATIENCE_S = 0.01
"""While writes come without a pause, the reads that only the master may answer get one batch this often (INV 7): with
`age_limit_ms` alone they would wait as long as that, behind one slow COMMIT after another."""


def master_db_svr(configuration: Configuration, instance: str, stop: StopFlag, log: logging.Logger) -> WorkerProcess:
    traffic = Traffic()

    def live(place: Place, connection: Connection) -> None:
        with contextlib.closing(role.open(place.look.endpoint)) as first, contextlib.closing(role.open(place.look.endpoint)) as second:
            _Life(configuration, instance, stop, log, place, connection, (first, second), traffic).live()

    # What a write makes is freed by counting references, and users who are kept are many: cycles are looked for seldom.
    gc.freeze()
    gc.set_threshold(50_000, 50, 50)
    role = MasterRole(instance, configuration.databases)
    probes = Probes(configuration.databases.master, role.look_at)
    return WorkerProcess("master", local_socket_path(configuration, instance), role, probes, live, stop, log)


class _Life:
    def __init__(
        self,
        configuration: Configuration,
        instance: str,
        stop: StopFlag,
        log: logging.Logger,
        place: Place,
        connection: Connection,
        writing: tuple[Connection, Connection],
        traffic: Traffic,
    ) -> None:
        """`connection`: to look at what others have written, also while transactions are under way on those for `writing`. `traffic`
        outlives this life."""
        self._traffic = traffic
        self._settings = configuration.dbsvr
        self._beat_s = self._settings.beat_ms / 1000
        self._databases = configuration.databases
        self._instance = instance
        self._stop = stop
        self._log = log
        self._place = place
        self._link = link = place.link
        self._connection = connection
        self._writing = writing
        self._run_id = link.welcome.run_id
        self._queues = Queues.open(link.welcome.queue_key)
        self._revisions = Revisions(connection, configuration.databases.configuration_schema, link.welcome.etag)
        self._holds = HoldLooks(connection)
        self._known = KnownSnapshots()
        self._payloads: dict[int, Write] = {}
        self._wake_number = 0
        self._said_idle = -1
        self._clear_turn: ClearTurn | None = None
        self._last_read_at = time.monotonic()
        self._last_commit_at = 0.0
        self._beats = True

    def live(self) -> None:
        try:
            claim = store.claim_instance(self._connection, self._instance, known(self._link.welcome))
        except (NoRoom, TryAgain) as error:
            # A disk that is full in the midst of a COMMIT holds that transaction, and its row, until there is room again.
            self._link.send(Down(f"the master cannot write: {error}"))
            raise
        store.wait_for_no_row(self._connection)
        generation, fork_tick, cause = claim.timeline
        endpoint = self._connection.endpoint
        ownership = self._ownership = Ownership(
            self._instance,
            len(self._settings.instances) == 1,
            self._link.welcome.possessed,
        )
        if cause:
            ownership.forget()  # a change of master is a takeover: the leases of before are to be waited out
        self._batches = WriteBatches(self._writing, ownership, claim, self._traffic, self._settings.batch)
        self._repairs = Repairs(endpoint, self._databases, ownership, claim.epoch, generation)
        self._keeper = SegmentKeeper(self._connection, self._settings, ownership, generation, self._fresh_tick, self._log)
        segments = self._keeper.look()
        # Before the fresh tick is known, and with it the first replica is used.
        self._link.hold(self._holds.first_look())
        self._link.send(Ready(endpoint, generation, claim.tick, claim.epoch, fork_tick, claim.server_id, cause))
        self._link.send(segments)
        self._log.info("ready endpoint=%s generation=%d tick=%d epoch=%d", endpoint, generation, claim.tick, claim.epoch)
        self._last_commit_at = time.monotonic()
        wait_s = 0.0
        while not self._stop:
            was_asked = self._hear(wait_s)
            wait_s = 0.0
            self._beat_and_look_if_due(may_be_early=not was_asked)
            self._place.look_around()
            if self._step():
                continue
            if self._said_idle != self._wake_number and self._batches.room:
                self._link.hold(Idle(self._wake_number))
                self._said_idle = self._wake_number
            beat_at = self._last_commit_at + self._beat_s if self._batches.is_idle else float("inf")
            next_at = min(beat_at, self._batches.next_try_at)
            wait_s = max(0.001, min(next_at - time.monotonic(), self._keeper.next_look_at - boottime()))
        self._say(self._batches.drain())
        self._link.flush()

    def _hear(self, timeout_s: float) -> bool:
        """True when the front has said something."""
        frames = self._link.receive(timeout_s, beside=self._batches.filenos())
        for frame in frames:
            if isinstance(frame, Write):
                self._payloads[frame.request_id] = frame
            elif isinstance(frame, Wake):
                self._wake_number = frame.number
                self._said_idle = -1
            elif isinstance(frame, ClearTurn):
                self._clear_turn = frame
            elif isinstance(frame, PurgeCopy):
                self._say(self._batches.drain())
                store.purge_copy(self._connection, self._batches.generation, frame.uid, frame.node)
            elif isinstance(frame, HoldReplica):
                self._say(self._batches.drain())
                self._link.send(self._holds.obey(frame))
            elif isinstance(frame, TakeSegment | GiveSegment | MayPossess):
                self._say(self._batches.drain())  # they hold the rows of what we own
                self._link.flush()
                self._keeper.obey(frame)
            else:
                heed_leave(frame)
        return bool(frames)

    def _beat_and_look_if_due(self, may_be_early: bool) -> None:
        """What time itself asks for: a beat, and looks at what others have written. Together, and the front hears of all in one wake-up.

        Early only when nobody has asked for anything, who would wait for it.
        """
        now, idle = time.monotonic(), self._batches.is_idle
        # What is under way brings a tick, too.
        is_beat_due = idle and now - self._last_commit_at >= self._beat_s * (1 - EARLY if may_be_early else 1)
        beat = is_beat_due or self._batches.is_traffic_due
        segments, revisions, holds = self._keeper.is_due(boottime(), may_be_early), self._revisions.is_due(now), self._holds.is_due(now)
        if not (beat or segments or revisions or holds):
            return
        if beat:
            self._say(self._batches.drain())
            self._link.flush()
            self._beat()
        if segments:
            self._link.hold(self._keeper.look())
        if revisions:
            self._link.hold(self._revisions.look())
        if holds and (seen := self._holds.look()) is not None:
            self._link.hold(seen)

    def _step(self) -> bool:
        """Do what comes first; False when there was nothing to do."""
        self._say(self._batches.go_on())
        wrote = self._write(self._queues.finish.drain(self._run_id, 0, self._batches.room))
        starving = time.monotonic() - self._last_read_at >= min(READ_PATIENCE_S, self._settings.age_limit_ms / 1000)
        if wrote and not starving and not self._clear_turn:
            return True
        # With writes coming without a pause, reads get one batch now and then (INV 7).
        did_read = self._read()
        return self._clear(is_quiet=not (wrote or did_read)) or wrote or did_read

    def _clear(self, is_quiet: bool) -> bool:
        """Take a batch of clears when the front has said that it is their turn, and nothing has come since."""
        turn, self._clear_turn = self._clear_turn, None
        if turn is None:
            return False
        queues = self._queues
        if not turn.is_overdue and not (is_quiet and queues.finish.depth() == 0 and queues.query.depth() == 0):
            return False  # the front will say it again
        return self._write(queues.clear.drain(self._run_id, 0, self._batches.room))

    def _fresh_tick(self) -> int:
        self._say(self._batches.drain())
        self._link.flush()
        return self._batches.beat()

    def _beat(self) -> None:
        self._last_commit_at = time.monotonic()
        try:
            tick = self._batches.beat()
        except NoRoom as error:
            if self._beats:
                self._log.warning('no beat, the master cannot write error="%s"', error)
            self._beats = False
            return
        if not self._beats:
            self._log.info("the beat is back tick=%d", tick)
        self._beats = True
        self._link.hold(Ticked(self._batches.generation, tick))

    # -- reads

    def _read(self) -> bool:
        query, batch = self._queues.query, self._settings.batch
        tickets = query.drain(self._run_id, MASTER_ONLY, batch)
        room = batch - sum(len(ticket.uids) for ticket in tickets)
        if room > 0 and (depth := query.depth()) > self._settings.spill_depth:
            # The replicas are busy or gone: help with theirs, oldest first. Half of them, so that both are at work.
            tickets += query.drain(self._run_id, 0, min(room, depth // 2))
        self._last_read_at = time.monotonic()
        if not tickets:
            return False
        # A replica may show what is being committed before the master does, so nobody reads here meanwhile.
        self._say(self._batches.settle())
        self._link.flush()
        now = now_ms()
        due = [ticket for ticket in tickets if ticket.expires_at_ms > now]
        expired = [ticket.request_id for ticket in tickets if ticket.expires_at_ms <= now]
        tick = 0
        is_sure, boot = self._ownership.is_sure, boottime()
        uids = {uid for ticket in due for uid in ticket.uids}
        sure = {uid for uid in uids if is_sure(uid, boot)}
        unsure = uids - sure
        snapshots: dict[int, bytes] = {}
        if sure:
            _, tick, snapshots = store.read_snapshots(self._batches.free, self._instance, sure, self._known)
        if unsure:
            tick, more = self._read_by_lock(sorted(unsure), tick)
            snapshots |= more
        answers = [(ticket.request_id, [snapshots.get(uid, NOT_NOW) for uid in ticket.uids]) for ticket in due]
        self._link.hold(Reads(self._batches.generation, tick, answers, expired, []))
        return True

    def _read_by_lock(self, uids: list[int], tick: int) -> tuple[int, dict[int, bytes]]:
        """Snapshots of users who are not ours for sure, except of those with a write about to be committed: a replica of another DBSvr may
        show it already. Nobody waits here for another one's lock; a read that met one comes again."""
        try:
            tick, snapshots = store.lock_snapshots(self._batches.free, self._instance, uids)
        except TryAgain:
            if len(uids) == 1:
                return tick, {}
            half = len(uids) // 2
            tick, snapshots = self._read_by_lock(uids[:half], tick)
            tick, more = self._read_by_lock(uids[half:], tick)
            snapshots |= more
        return tick, snapshots

    # -- writes

    def _write(self, tickets: list[Ticket]) -> bool:
        now = time.monotonic()
        if not tickets and now < self._batches.next_try_at:
            return False
        due = [DueWrite(self._payload(ticket.request_id), ticket.expires_at_ms) for ticket in tickets]
        repairs = [each for each in due if each.write.is_repair]
        self._say(self._batches.write([each for each in due if not each.write.is_repair] if repairs else due, now))
        for each in repairs:
            self._mend(each)
        return bool(tickets)

    def _mend(self, due: DueWrite) -> None:
        """A repair has a connection of its own, which would wait for the rows of what is under way."""
        self._say(self._batches.drain())
        self._link.flush()
        if due.expires_at_ms <= now_ms():
            self._link.send(Writes(self._batches.generation, 0, 0.0, 0, [], [], [due.write.request_id]))
            return
        self._batches.forget_user(due.write.uid)
        self._say([self._repairs.mend(due.write)])

    def _say(self, ended: Iterable[Writes]) -> None:
        """Each transaction that has ended is said at once: what follows it takes time."""
        for frame in ended:
            self._link.send(frame)
            if frame.tick:
                self._last_commit_at = time.monotonic()

    def _payload(self, request_id: int) -> Write:
        """The payload was sent before the ticket, but may still be on its way. A front that sends none is not ours."""
        if (payload := self._payloads.pop(request_id, None)) is not None:
            return payload
        until = time.monotonic() + PAYLOAD_WAIT_S
        while request_id not in self._payloads:
            if time.monotonic() >= until:
                raise FrontGone(f"no payload for write {request_id}")
            self._hear(0.05)
        return self._payloads.pop(request_id)
