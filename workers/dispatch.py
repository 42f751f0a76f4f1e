"""The front's heart: takes requests, gives their tickets a type, and turns the workers' answers into replies.

State has one owner, and it is this: `user_info`, the lanes, what is known of master and replicas. Clients call `accept_*`,
worker links call `greet`, `hear` and `part`, a timer calls `look_around`. Nothing here waits.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from typing import TYPE_CHECKING

from tasksys_site.configuration import DBSvr
from workers.front_counts import FrontCounts
from workers.master_view import MasterView
from workers.messages import (
    MASTER_ONLY,
    NEVER_MS,
    Base,
    ClearTurn,
    Down,
    FromWorker,
    Leave,
    Reads,
    Ready,
    ReplicaHealth,
    Ticked,
    Welcome,
    Write,
    Writes,
    message_type,
)
from workers.protocol import DBSvrError, MasterDown, Overloaded, TimedOut
from workers.queues import QueueGone, Queues
from workers.requests import CLEAR, FINISH, READ, Gather, Lane, Request
from workers.routing import ReplicaView, master_reason
from workers.snapshots import closing
from workers.tick_clock import TickClock
from workers.user_info import UserInfo

if TYPE_CHECKING:
    from workers.clients import Client
    from workers.worker_links import WorkerLink

LANE_CAPACITY = 190
"""Two lanes of tickets of 40 bytes fit into a stock queue of 16 KiB (409 tickets)."""
RETRY_AFTER_MS = 50
REBASE_AT = 2**30
"""Ticks past the base at which a new base is set: types must stay below MASTER_ONLY."""


class Dispatch:
    def __init__(self, instance: str, settings: DBSvr, queue_key: int, replica_names: list[str], log: logging.Logger) -> None:
        self.instance = instance
        self.run_id = secrets.randbits(32)
        self.started_at = time.time()
        self.settings = settings
        self._queue_key = queue_key
        self._log = log
        self.users = UserInfo(settings.max_stamps)
        self.clock = TickClock()
        self.counts = FrontCounts(replica_names)
        self.master = MasterView()
        self.replicas = {name: ReplicaView(name) for name in replica_names}
        self.generation = 0
        self.base = 0
        """A tick that was committed after this run began; 0 until there is one, and all reads wait for the master (INV 3)."""
        self.table: dict[int, Request] = {}
        """All requests without an outcome, by id, in order of arrival."""
        self._last_request_id = 0
        self.finish_lane = Lane(FINISH, 2 * LANE_CAPACITY)
        self.clear_lane = Lane(CLEAR, 2 * LANE_CAPACITY)
        self.master_lane = Lane("master", LANE_CAPACITY)
        self.replica_lane = Lane("replica", LANE_CAPACITY, ticket_life_ms=settings.age_limit_ms)
        self._lanes = (self.finish_lane, self.clear_lane, self.master_lane, self.replica_lane)
        self._links: dict[str, WorkerLink] = {}
        self._to_wake: set[str] = set()
        self._clears: dict[tuple[int, str], Request] = {}
        self._touched: set[Client] = set()
        self._best_replica_tick = 0
        self._stale_tickets = 0
        self._closings: dict[tuple[str, str | None, bool], bytes] = {}
        self._open_queues()

    # -- from clients

    def accept_read(self, client: Client, uid: int, now: float, gather: Gather | None = None, place: int = 0) -> None:
        self._last_request_id += 1
        request = Request(self._last_request_id, READ, uid, client, now, int((now + self.settings.deadline_ms / 1000) * 1000))
        if gather is None:
            client.pending.append(request)
        else:
            request.gather, request.place = gather, place
        if len(self.table) >= self.settings.backlog:
            self._fail(request, Overloaded(f"too many requests wait, retry after {RETRY_AFTER_MS} ms"))
            return
        self.table[request.request_id] = request
        request.accept_number = self.users.accept_number
        if client.writes:
            write = client.writes.get(uid)
            if write is not None:
                # Sent after a write on the same connection: it must not overtake it (INV 2).
                write.followers = write.followers or []
                write.followers.append(request)
                return
        self._route(request, now)

    def accept_write(self, client: Client, kind: str, uid: int, event_id: str, payload: bytes, now: float) -> None:
        """`kind` is FINISH or CLEAR. The arguments were checked."""
        self._last_request_id += 1
        request = Request(self._last_request_id, kind, uid, client, now, int((now + self.settings.deadline_ms / 1000) * 1000))
        client.pending.append(request)
        (self.counts.writes if kind == FINISH else self.counts.clears)["total"] += 1
        if len(self.table) >= self.settings.backlog:
            self._fail(request, Overloaded(f"too many requests wait, retry after {RETRY_AFTER_MS} ms"))
            return
        if self.master.is_down:
            self._fail(request, MasterDown(self.master.sentence))
            return
        self.table[request.request_id] = request
        request.event_id = event_id
        request.payload = payload
        if kind == CLEAR:
            first = self._clears.setdefault((uid, event_id), request)
            if first is not request:
                # The same deletion still waits for its turn: one ticket, and everybody who asked gets the answer.
                first.followers = first.followers or []
                first.followers.append(request)
                return
        client.writes[uid] = request
        self.users.accept_write(uid, now)
        if self.master.is_ready:
            self._hand_over(request, now)

    def _route(self, request: Request, now: float) -> None:
        uid, users = request.uid, self.users
        reason: str | None = None
        if not self.base:
            reason = "fresh_start"
        elif users.is_in_flight(uid):
            reason = "in_flight"
            request.accept_number = -1  # whatever comes of the write, this answer is not for storing (INV 8)
        else:
            request.stamp = users.stamp(uid)
            if request.stamp <= self._best_replica_tick:
                self.counts.reads_safe += 1
            else:
                reason = self._master_reason(request, now)
        if reason is not None and self.master.is_down:
            if reason in ("in_flight", "fresh_start"):
                self._close(request)
                self._fail(request, MasterDown(self.master.sentence))
                return
            reason = None  # a replica that catches up can still answer it
        self._send_read(request, reason, now)

    def _send_read(self, request: Request, reason: str | None, now: float) -> None:
        request.reason = reason
        try:
            if reason is not None:
                self.master_lane.put(request, MASTER_ONLY, now)
                self._wake("master")
            else:
                self.replica_lane.put(request, message_type(request.stamp, self.base), now)
                for name in self.replicas:
                    self._wake(name)
                if len(self.replica_lane) > self.settings.spill_depth:
                    self._wake("master")
        except QueueGone:
            self._mend_queues(now)

    def _hand_over(self, request: Request, now: float) -> None:
        """Give a write to the master's worker: the payload over the socket first, then the ticket."""
        is_clear = request.kind == CLEAR
        self._links["master"].send(Write(request.request_id, request.uid, request.event_id, request.payload, is_clear))
        if is_clear:
            request.expires_at_ms = NEVER_MS  # its turn may come long after its client has given up waiting
        try:
            (self.clear_lane if is_clear else self.finish_lane).put(request, 1, now)
        except QueueGone:
            self._mend_queues(now)
        self._wake("master")
        if is_clear:
            self._offer_clear_turn(now)

    # -- from workers

    def greet(self, link: WorkerLink) -> None:
        """A worker has said who it is. Of two for the same database the newer stays."""
        if link.server != "master" and link.server not in self.replicas:
            self._log.error("a worker for %r came, which is no replica of ours; cutting it", link.server)
            link.close()
            return
        before = self._links.get(link.server)
        if before is not None:
            self._log.warning("a second worker came for server=%s pid=%s; the older leaves pid=%s", link.server, link.pid, before.pid)
            before.send(Leave())
            before.close()
            self.part(before)
        self._links[link.server] = link
        if self._queues_are_gone():
            self._mend_queues(time.monotonic())
        link.send(Welcome(self.run_id, self._queue_key, self.generation, self.base))
        if link.server == "master":
            self.master.connect(link.pid)
        else:
            replica = self.replicas[link.server]
            replica.connected, replica.pid, replica.last_error = True, link.pid, ""
            # Its first drain comes by itself; from then on it says when it sleeps.

    def part(self, link: WorkerLink) -> None:
        """A worker's connection has ended."""
        if self._links.get(link.server) is not link:
            return
        del self._links[link.server]
        if link.server == "master":
            # The marks of its undecided writes stay until the successor's fresh tick (INV 3): see _begin_life.
            self.master.part()
        else:
            replica = self.replicas[link.server]
            replica.connected, replica.pid = False, None
            self._note_best_tick(time.monotonic())

    def hear(self, link: WorkerLink, frame: FromWorker) -> None:
        if self._links.get(link.server) is not link:
            return  # superseded: what it says now is decided anew by its successor
        now = time.monotonic()
        if isinstance(frame, Reads):
            self._take_reads(link.server, frame, now)
        elif isinstance(frame, Writes):
            self._take_writes(frame, now)
        elif isinstance(frame, Ticked):
            self._note_tick(link.server, frame.generation, frame.tick, now)
        elif isinstance(frame, Ready):
            self._begin_life(frame, now)
        elif isinstance(frame, Down):
            self._note_down(link.server, frame.sentence)
        elif isinstance(frame, ReplicaHealth):
            replica = self.replicas[link.server]
            replica.endpoint, replica.io_running = frame.endpoint, frame.io_running
            replica.sql_running, replica.last_error = frame.sql_running, frame.last_error
        self._move_up(now)
        if isinstance(frame, Reads | Writes) and len(self.clear_lane):
            self._offer_clear_turn(now)
        self.flush_touched()

    def _begin_life(self, ready: Ready, now: float) -> None:
        """A master worker has its fresh tick: no earlier one can commit any more, and what was undecided is decided anew."""
        if self.base and (ready.generation, ready.tick) <= (self.generation, self.clock.newest):
            self._log.error(
                "the master's ticks went back from %d to %d: it was restored to an earlier state", self.clock.newest, ready.tick
            )
            self.base = 0
        if not self.base or ready.generation != self.generation:
            self.clock = TickClock()
            self.generation = ready.generation
            self.users.raise_floor(ready.tick, "start")
            self._set_base(ready.tick)
        self.clock.note(ready.tick, now)
        self.master.begin(ready.endpoint, ready.epoch, ready.tick, now)
        undecided = [request for request in self.table.values() if request.kind != READ and request.lane is not None]
        waiting = [r for r in self.table.values() if r.kind != READ and r.lane is None and not self._follows(r)]
        try:
            for queue in (self._queues.finish, self._queues.clear):
                queue.drain(self.run_id, 0, 10 * LANE_CAPACITY)
            self._queues.query.drain(self.run_id, MASTER_ONLY, 10 * LANE_CAPACITY)
        except QueueGone:
            self._open_queues()
        self.finish_lane.empty()
        self.clear_lane.empty()
        for request in sorted([*undecided, *waiting], key=lambda each: each.request_id):
            request.lane = None
            # It may have been committed before the fresh tick, and never after it by anyone but us.
            self.users.raise_stamp(request.uid, ready.tick)
            if request.answered and request.kind == FINISH:
                self._decide(request, ready.tick, now)
            else:
                self._hand_over(request, now)
        for request in self.master_lane.empty():
            self._send_read(request, request.reason, now)

    def _follows(self, request: Request) -> bool:
        first = self._clears.get((request.uid, request.event_id))
        return request.kind == CLEAR and first is not request

    def _take_reads(self, server: str, frame: Reads, now: float) -> None:
        counts, table = self.counts, self.table
        if frame.answers:
            self._note_tick(server, frame.generation, frame.tick, now)
            by_master = server == "master"
            for request_id, body in frame.answers:
                request = table.pop(request_id, None)
                if request is None:
                    continue
                if request.lane is not None:
                    request.lane.take(request)
                reason = (request.reason or "spill") if by_master else None
                counts.reads_by_server[server] += 1
                if reason is not None:
                    counts.reads_by_reason[reason] += 1
                counts.read_latency.add((now - request.arrived) * 1000)
                end = self._closing(server, reason, not self.users.written_since(request.uid, request.accept_number))
                self._reply(request, b"$%d\r\n%b%b\r\n" % (len(body) + len(end), body, end))
        for request_id in frame.handed_back:
            self._send_again(request_id, "handed_back", now)
        for request_id in frame.expired:
            self._send_again(request_id, "aged", now)

    def _send_again(self, request_id: int, reason: str, now: float) -> None:
        """Its replica will not answer this read in time: it is the master's now."""
        request = self.table.get(request_id)
        if request is not None and request.lane is self.replica_lane:
            self.replica_lane.take(request)
            self._send_read(request, reason, now)

    def _take_writes(self, frame: Writes, now: float) -> None:
        counts = self.counts
        if frame.tick:
            self._note_tick("master", frame.generation, frame.tick, now)
            counts.writes["batches"] += 1
            counts.commit_ms_total += frame.commit_ms
        for request_id, applied, answer in frame.outcomes:
            request = self.table.get(request_id)
            if request is None:
                continue
            counter = counts.writes if request.kind == FINISH else counts.clears
            counter["applied" if applied else "repeated"] += 1
            counts.write_latency.add((now - request.arrived) * 1000)
            # The stamp first, the reply after it (INV 1).
            self._decide(request, frame.tick, now, b"$%d\r\n%b\r\n" % (len(answer), answer))
        for request_id, code, sentence in frame.refused:
            request = self.table.get(request_id)
            if request is not None:
                counts.writes["refused"] += 1
                counts.errors[code] += 1
                self._decide(request, None, now, f"-{code} {' '.join(sentence.split())}\r\n".encode())
        for request_id in frame.expired:
            request = self.table.get(request_id)
            if request is not None:
                self._decide(request, None, now)

    def _decide(self, request: Request, stamp: int | None, now: float, reply: bytes | None = None) -> None:
        """The outcome of a write is known: stamp, mark, reply, and those who waited for it."""
        self._close(request)
        self.users.decide_write(request.uid, stamp)
        if request.client.writes.get(request.uid) is request:
            del request.client.writes[request.uid]
        if request.kind == CLEAR:
            self._clears.pop((request.uid, request.event_id), None)
        if not request.answered:
            if reply is None:
                self._fail(request, TimedOut())
            else:
                self._reply(request, reply)
        for follower in request.followers or ():
            if follower.kind == READ and not follower.answered:
                self._route(follower, now)
            elif follower.kind == CLEAR:
                self._close(follower)
                if not follower.answered:
                    self._reply(follower, reply or b"-TIMEOUT the deletion was not begun\r\n")
        request.followers = None

    def _note_tick(self, server: str, generation: int, tick: int, now: float) -> None:
        if server == "master":
            self.master.note_tick(tick, now)
            self.clock.note(tick, now)
            if tick - self.base > REBASE_AT:
                known = [replica.tick for replica in self.replicas.values() if replica.tick is not None]
                self._set_base(min([tick, *known]))
            return
        self.replicas[server].note_tick(tick if generation == self.generation and tick else None, self.clock, now)
        self.users.forget_passed(replica.tick for replica in self.replicas.values())
        self._note_best_tick(now)

    def _note_best_tick(self, now: float) -> None:
        self._best_replica_tick = max(
            (replica.tick for replica in self.replicas.values() if replica.tick is not None and replica.may_serve(now)), default=0
        )

    def _note_down(self, server: str, sentence: str) -> None:
        self._log.warning("server=%s is away: %s", server, sentence)
        if server == "master":
            self.master.go_down(sentence)
        else:
            self.replicas[server].note_tick(None, self.clock, 0.0)
            self.replicas[server].last_error = sentence
            self._note_best_tick(time.monotonic())

    def _set_base(self, tick: int) -> None:
        # Tickets queued with types of the old base are harmless: the stamp in the ticket is what is proven.
        self.base = tick
        for lane in self._lanes:
            lane.generation = self.generation
        for replica in self.replicas.values():
            replica.tick = None
        self._best_replica_tick = 0
        for name, link in self._links.items():
            if name != "master":
                link.send(Base(self.generation, tick))

    # -- from the timer

    def look_around(self, now: float) -> None:
        """Deadlines, ageing, deletions whose turn is due, and figures that time itself changes."""
        now_ms = int(now * 1000)
        late: list[Request] = []
        limit = now - self.settings.deadline_ms / 1000
        for request in self.table.values():  # in order of arrival, all with the same deadline
            if request.arrived > limit:
                break
            if not request.answered:
                late.append(request)
        for request in late:
            self._time_out(request, now)
        aged_before = now - self.settings.age_limit_ms / 1000
        for request in self._oldest_of(self.replica_lane):
            reason = "aged" if request.line_moment <= aged_before else self._late_reason(request, now)
            if reason is not None:
                self._stale_tickets += request.request_id in self.replica_lane.sent
                self._send_again(request.request_id, reason, now)
        self._sweep(now_ms)
        self._offer_clear_turn(now)
        self.users.forget_accepted(now - 2 * self.settings.deadline_ms / 1000)
        self.counts.read_latency.turn(now)
        self.counts.write_latency.turn(now)
        self._note_best_tick(now)
        self._move_up(now)
        self.flush_touched()

    def _late_reason(self, request: Request, now: float) -> str | None:
        """Why a read that waits for a replica had better not: it has turned out to be further behind than it seemed."""
        if request.stamp <= self._best_replica_tick or not self.master.is_ready:
            return None
        return self._master_reason(request, now)

    def _master_reason(self, request: Request, now: float) -> str | None:
        is_recorded = self.users.recorded_stamp(request.uid) == request.stamp
        return master_reason(request.stamp, is_recorded, self.replicas.values(), self.clock, self.settings.spill_ms / 1000, now)

    def _offer_clear_turn(self, now: float) -> None:
        """Deletions come last: when nothing else waits, or when the oldest has waited past its limit (INV 7)."""
        oldest, link = self.clear_lane.oldest_arrival(), self._links.get("master")
        if oldest is None or link is None:
            return
        is_overdue = now - oldest >= self.settings.clear_age_limit_ms / 1000
        if is_overdue or not (len(self.finish_lane) or len(self.master_lane) or len(self.replica_lane)):
            link.send(ClearTurn(is_overdue))
            self._wake("master")

    @staticmethod
    def _oldest_of(lane: Lane) -> list[Request]:
        return [*lane.sent.values(), *(request for request, _ in lane.line if request.lane is lane)]

    def _time_out(self, request: Request, now: float) -> None:
        if request.kind == READ:
            self._close(request)
            self._fail(request, TimedOut("no server answered in time"))
            return
        self._fail(request, TimedOut())
        first_sent = request.lane is not None and request.request_id in request.lane.sent
        if request.kind == FINISH and self.master.is_ready and not first_sent:
            self._decide(request, None, now)  # it stood in line, and was never begun
        # Else the outcome is unknown: the mark and the payload stay until it is.

    def _sweep(self, now_ms: int) -> None:
        """Take tickets that have aged out of the queue's head, where they would only be in the way."""
        try:
            while self._stale_tickets:
                tickets = self._queues.query.drain(self.run_id, 0, 1)
                if not tickets:
                    self._stale_tickets = 0
                for ticket in tickets:
                    if ticket.expires_at_ms <= now_ms:
                        self._stale_tickets = max(0, self._stale_tickets - 1)
                        continue
                    self._stale_tickets = 0
                    request = self.table.get(ticket.request_id)
                    if request is not None and request.lane is not None:  # alive: back in line with it
                        request.lane.take(request)
                        self._send_read(request, request.reason, now_ms / 1000)
        except QueueGone:
            self._mend_queues(now_ms / 1000)

    # -- replies

    def _close(self, request: Request) -> None:
        self.table.pop(request.request_id, None)
        if request.lane is not None:
            request.lane.take(request)

    def _reply(self, request: Request, reply: bytes) -> None:
        request.answered = True
        if request.gather is not None:
            request.gather.put(request.place, reply)
        else:
            request.reply = reply
        self._touched.add(request.client)

    def _fail(self, request: Request, error: DBSvrError) -> None:
        self.counts.errors[error.code] += 1
        self._reply(request, f"-{error.code} {' '.join(str(error).split())}\r\n".encode())

    def _closing(self, server: str, reason: str | None, storable: bool) -> bytes:
        key = (server, reason, storable)
        known = self._closings.get(key)
        if known is None:
            known = self._closings[key] = closing(*key)
        return known

    def flush_touched(self) -> None:
        """Write out what can be answered now, once for each connection."""
        touched, self._touched = self._touched, set()
        for client in touched:
            client.flush()

    # -- queues and wake-ups

    def _open_queues(self) -> None:
        self._queues = Queues.create(self._queue_key)
        for lane, queue in zip(self._lanes, (self._queues.finish, self._queues.clear, self._queues.query, self._queues.query), strict=True):
            lane.attach(queue, self.run_id)

    def _queues_are_gone(self) -> bool:
        try:
            return any(queue.depth() < 0 for queue in (self._queues.finish, self._queues.query, self._queues.clear))
        except QueueGone:
            return True

    def _mend_queues(self, now: float) -> None:
        """Somebody has removed a queue from outside: make new ones, and let the workers begin new lives with them."""
        self._log.error("a queue was removed from outside; made new ones, nothing is lost")
        self._open_queues()
        for link in list(self._links.values()):
            link.close()
            self.part(link)
        for request in self.replica_lane.empty():
            self._send_read(request, "aged", now)

    def queue_depths(self) -> dict[str, int]:
        try:
            return {name: getattr(self._queues, name).depth() for name in ("finish", "query", "clear")}
        except QueueGone:
            return {"finish": 0, "query": 0, "clear": 0}

    def _move_up(self, now: float) -> None:
        try:
            for lane in self._lanes:
                if lane.line and lane.move_up(now):
                    for name in self.replicas if lane is self.replica_lane else ("master",):
                        self._wake(name)
        except QueueGone:
            self._mend_queues(now)

    def _wake(self, server: str) -> None:
        if not self._to_wake:
            asyncio.get_running_loop().call_soon(self._wake_now)
        self._to_wake.add(server)

    def _wake_now(self) -> None:
        to_wake, self._to_wake = self._to_wake, set()
        for server in to_wake:
            link = self._links.get(server)
            if link is not None:
                link.wake()

    def remove_queues(self) -> None:
        self._queues.remove()
