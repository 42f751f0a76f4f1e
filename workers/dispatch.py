"""The front's heart: takes requests, gives their tickets a type, and turns the workers' answers into replies.

State has one owner, and it is this: `users`, the `lanes`, the `servers`. Clients call `accept_*`, worker links call `greet`,
`hear` and `part`, a timer calls `look_around`. Nothing here waits.
"""

from __future__ import annotations

import logging
import secrets
import time
from typing import TYPE_CHECKING

from tasksys_site.configuration import DBSvr
from workers.front_counts import FrontCounts
from workers.lanes import Lanes
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
from workers.protocol import MasterDown, Overloaded, TimedOut
from workers.queues import QueueGone
from workers.replies import Replies
from workers.requests import CLEAR, FINISH, READ, Gather, Request
from workers.servers import MASTER, Servers
from workers.user_info import UserInfo
from workers.worker_links import WorkerLinks

if TYPE_CHECKING:
    from workers.clients import Client
    from workers.worker_links import WorkerLink

RETRY_AFTER_MS = 50
LOST_AFTER_S = 5.0
"""So long after its time is over a queued write must have been decided, or its ticket was lost."""


class Dispatch:
    def __init__(self, instance: str, settings: DBSvr, queue_key: int, replica_names: list[str], log: logging.Logger) -> None:
        self.instance = instance
        self.run_id = secrets.randbits(32)
        self.started_at = time.time()
        self._settings = settings
        self._log = log
        self.users = UserInfo(settings.max_stamps)
        self.servers = Servers(replica_names, settings.spill_ms)
        self.lanes = Lanes(queue_key, self.run_id, settings.age_limit_ms)
        self.counts = FrontCounts(replica_names)
        self.table: dict[int, Request] = {}
        """All requests without an outcome, by id, in order of arrival."""
        self._last_request_id = 0
        self._links = WorkerLinks()
        self._clears: dict[tuple[int, str], Request] = {}
        self._replies = Replies(self.counts.errors)

    # -- from clients

    def accept_read(self, client: Client, uid: int, now: float, gather: Gather | None = None, place: int = 0) -> None:
        self._last_request_id += 1
        request = Request(self._last_request_id, READ, uid, client, now, int((now + self._settings.deadline_ms / 1000) * 1000))
        if gather is None:
            client.pending.append(request)
        else:
            request.gather, request.place = gather, place
        if len(self.table) >= self._settings.backlog:
            self._replies.fail(request, Overloaded(f"too many requests wait, retry after {RETRY_AFTER_MS} ms"))
            return
        self.table[request.request_id] = request
        request.accept_number = self.users.accept_number
        if client.writes:
            write = client.writes.get(uid)
            if write is not None:
                # Sent after a write on the same connection: it must not overtake it (INV 2).
                write.followers = write.followers or []
                write.followers.append(request)
                request.accept_number = -1  # nor be stored (INV 8)
                return
        self._route(request, now)

    def accept_write(self, client: Client, kind: str, uid: int, event_id: str, payload: bytes, now: float) -> None:
        """`kind` is FINISH or CLEAR. The arguments were checked."""
        self._last_request_id += 1
        request = Request(self._last_request_id, kind, uid, client, now, int((now + self._settings.deadline_ms / 1000) * 1000))
        client.pending.append(request)
        (self.counts.writes if kind == FINISH else self.counts.clears)["total"] += 1
        if len(self.table) >= self._settings.backlog:
            self._replies.fail(request, Overloaded(f"too many requests wait, retry after {RETRY_AFTER_MS} ms"))
            return
        if self.servers.master.is_down:
            self._replies.fail(request, MasterDown(self.servers.master.sentence))
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
        if self.servers.master.is_ready:
            self._hand_over(request, now)

    def _route(self, request: Request, now: float) -> None:
        uid, users = request.uid, self.users
        reason: str | None = None
        if not self.servers.base:
            reason = "fresh_start"
        elif users.is_in_flight(uid):
            reason = "in_flight"
            request.accept_number = -1  # whatever comes of the write, this answer is not for storing (INV 8)
        else:
            request.stamp = users.stamp(uid)
            if request.stamp <= self.servers.best_replica_tick:
                self.counts.reads_safe += 1
            else:
                reason = self._master_reason(request, now)
        if reason is not None and self.servers.master.is_down:
            if reason in ("in_flight", "fresh_start"):
                self._close(request)
                self._replies.fail(request, MasterDown(self.servers.master.sentence))
                return
            reason = None  # a replica that catches up can still answer it
        self._send_read(request, reason, now)

    def _send_read(self, request: Request, reason: str | None, now: float) -> None:
        request.reason = reason
        try:
            if reason is not None:
                self.lanes.master.put(request, MASTER_ONLY, now)
                self._links.wake(MASTER)
            else:
                self.lanes.replica.put(request, message_type(request.stamp, self.servers.base), now)
                self._wake_for_replica_lane()
        except QueueGone:
            self._mend_queues(now)

    def _wake_for_replica_lane(self) -> None:
        for name in self.servers.replicas:
            self._links.wake(name)
        # Reads that a worker has taken count in the lane; whether the master is to help is for the kernel to say.
        if len(self.lanes.replica) > self._settings.spill_depth < self.lanes.query_depth():
            self._links.wake(MASTER)

    def _hand_over(self, request: Request, now: float) -> None:
        """Give a write to the master's worker: the payload over the socket first, then the ticket."""
        is_clear = request.kind == CLEAR
        link = self._links.get(MASTER)
        if link is None:
            return  # it has just gone; the next life is handed everything undecided
        link.send(Write(request.request_id, request.uid, request.event_id, request.payload, is_clear))
        if is_clear:
            request.expires_at_ms = NEVER_MS  # its turn may come long after its client has given up waiting
        try:
            (self.lanes.clear if is_clear else self.lanes.finish).put(request, 1, now)
        except QueueGone:
            self._mend_queues(now)
        self._links.wake(MASTER)
        if is_clear:
            self._offer_clear_turn(now)

    # -- from workers

    def greet(self, link: WorkerLink) -> None:
        """A worker has said who it is. Of two for the same database the newer stays."""
        if not self.servers.knows(link.server):
            self._log.error("a worker for %r came, which is no server of ours; cutting it", link.server)
            link.close()
            return
        before = self._links.get(link.server)
        if before is not None:
            self._log.warning("a second worker came for server=%s pid=%s; the older leaves pid=%s", link.server, link.pid, before.pid)
            before.send(Leave())
            before.close()
            self.part(before)
        self._links.put(link)
        if self.lanes.are_gone():
            self._mend_queues(time.monotonic())
            return  # that ended this life too; the worker comes again
        if link.server == MASTER:
            # Before it can look: a ticket of the life before it would be without its payload here, and make it wait for that in vain.
            now = time.monotonic()
            for request in self.lanes.take_back_masters():
                self._send_read(request, request.reason, now)
        link.send(Welcome(self.run_id, self.lanes.queue_key, self.servers.generation, self.servers.base))
        self.servers.connect(link.server, link.pid)

    def part(self, link: WorkerLink) -> None:
        """A worker's connection has ended. The marks of undecided writes stay until the successor's fresh tick (INV 3)."""
        if self._links.drop(link):
            self.servers.part(link.server, time.monotonic())

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
            self._log.warning("server=%s is away: %s", link.server, frame.sentence)
            self.servers.note_down(link.server, frame.sentence, now)
        elif isinstance(frame, ReplicaHealth):
            self.servers.note_health(link.server, frame)
        self._move_up(now)
        if isinstance(frame, Reads | Writes) and len(self.lanes.clear):
            self._offer_clear_turn(now)
        self._replies.flush()

    def _begin_life(self, ready: Ready, now: float) -> None:
        """A master worker has its fresh tick: no earlier one can commit any more, and what was undecided is decided anew."""
        if self.servers.went_back(ready):
            self._log.error("ticks went back to %d: the master was restored to an earlier state", ready.tick)
        if self.servers.begin_life(ready, now):
            self.users.raise_floor(ready.tick, "start")
            self._tell_base()
        reads = self.lanes.take_back_masters()
        for request in [each for each in self.table.values() if each.kind != READ and not self._follows(each)]:
            request.lane = None
            # It may have been committed before the fresh tick, and never after it by anyone but us.
            self.users.raise_stamp(request.uid, ready.tick)
            if request.answered and request.kind == FINISH:
                self._decide(request, ready.tick, now)
            else:
                self._hand_over(request, now)
        for request in reads:
            self._send_read(request, request.reason, now)

    def _tell_base(self) -> None:
        self.lanes.set_generation(self.servers.generation)
        for link in self._links.all():
            if link.server != MASTER:
                link.send(Base(self.servers.generation, self.servers.base))

    def _follows(self, request: Request) -> bool:
        first = self._clears.get((request.uid, request.event_id))
        return request.kind == CLEAR and first is not request

    def _take_reads(self, server: str, frame: Reads, now: float) -> None:
        counts, table = self.counts, self.table
        if frame.answers:
            self._note_tick(server, frame.generation, frame.tick, now)
            by_master = server == MASTER
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
                storable = not self.users.written_since(request.uid, request.accept_number)
                self._replies.give_snapshot(request, body, server, reason, storable)
        for request_id, reason in [(each, "handed_back") for each in frame.handed_back] + [(each, "aged") for each in frame.expired]:
            request = table.get(request_id)
            if request is not None and request.lane is self.lanes.replica:
                self.lanes.replica.take(request)  # its ticket was taken, so none is left behind
                self._send_read(request, reason, now)

    def _send_again(self, request_id: int, reason: str, now: float) -> None:
        """Its replica will not answer this read in time: it is the master's now."""
        request = self.table.get(request_id)
        if request is not None and request.lane is self.lanes.replica:
            self.lanes.leave_stale(request)
            self._send_read(request, reason, now)

    def _take_writes(self, frame: Writes, now: float) -> None:
        counts = self.counts
        if frame.tick:
            self._note_tick(MASTER, frame.generation, frame.tick, now)
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
            self._decide(request, frame.tick, now, answer)
        for request_id, code, sentence in frame.refused:
            request = self.table.get(request_id)
            if request is not None:
                counts.writes["refused"] += 1
                if not request.answered:
                    self._replies.refuse(request, code, sentence)
                self._decide(request, None, now)
        for request_id in frame.expired:
            request = self.table.get(request_id)
            if request is not None:
                self._decide(request, None, now)

    def _decide(self, request: Request, stamp: int | None, now: float, answer: bytes | None = None) -> None:
        """The outcome of a write is known: stamp, mark, reply, and those who waited for it. No answer: it was not begun."""
        self._close(request)
        self.users.decide_write(request.uid, stamp)
        if request.client.writes.get(request.uid) is request:
            del request.client.writes[request.uid]
        if request.kind == CLEAR:
            self._clears.pop((request.uid, request.event_id), None)
        followers, request.followers = request.followers or (), None
        clears = [follower for follower in followers if follower.kind == CLEAR]
        for each in (request, *clears):
            self._close(each)
            if each.answered:
                continue
            if answer is None:
                self._replies.fail(each, TimedOut())
            else:
                self._replies.give_json(each, answer)
        for follower in followers:
            if follower.kind == READ and not follower.answered:
                self._route(follower, now)

    def _note_tick(self, server: str, generation: int, tick: int, now: float) -> None:
        self.servers.note_tick(server, generation, tick, now)
        if server != MASTER:
            self.users.forget_passed(replica.tick for replica in self.servers.replicas.values())
        elif (base := self.servers.next_base()) is not None:
            self.servers.set_base(base)
            self._tell_base()

    # -- from the timer

    def look_around(self, now: float) -> None:
        """Deadlines, ageing, deletions whose turn is due, and figures that time itself changes."""
        now_ms = int(now * 1000)
        late: list[Request] = []
        limit = now - self._settings.deadline_ms / 1000
        for request in self.table.values():  # in order of arrival, all with the same deadline
            if request.arrived > limit:
                break
            if not request.answered:
                late.append(request)
        for request in late:
            self._time_out(request, now)
        aged_before = now - self._settings.age_limit_ms / 1000
        for request in self.lanes.replica.requests():
            reason = "aged" if request.line_moment <= aged_before else self._late_reason(request, now)
            if reason is not None:
                self._send_again(request.request_id, reason, now)
        self._sweep(now_ms)
        self._look_for_lost_tickets(now)
        self._offer_clear_turn(now)
        self.users.forget_accepted(now - 2 * self._settings.deadline_ms / 1000)
        self.counts.read_latency.turn(now)
        self.counts.write_latency.turn(now)
        self.servers.look_again(now)
        self._move_up(now)
        self._replies.flush()

    def _late_reason(self, request: Request, now: float) -> str | None:
        """Why a read that waits for a replica had better not: it has turned out to be further behind than it seemed."""
        return self._master_reason(request, now) if self.servers.master.is_ready else None

    def _master_reason(self, request: Request, now: float) -> str | None:
        is_recorded = self.users.recorded_stamp(request.uid) == request.stamp
        return self.servers.master_reason(request.stamp, is_recorded, now)

    def _offer_clear_turn(self, now: float) -> None:
        """Deletions come last: when nothing else waits, or when the oldest has waited past its limit (INV 7)."""
        oldest, link = self.lanes.clear.oldest_arrival(), self._links.get(MASTER)
        if oldest is None or link is None:
            return
        is_overdue = now - oldest >= self._settings.clear_age_limit_ms / 1000
        if is_overdue or self.lanes.only_clears_wait:
            link.send(ClearTurn(is_overdue))
            self._links.wake(MASTER)

    def _time_out(self, request: Request, now: float) -> None:
        if request.kind == READ:
            self._close(request)
            self._replies.fail(request, TimedOut("no server answered in time"))
            return
        self._replies.fail(request, TimedOut())
        first_sent = request.lane is not None and request.request_id in request.lane.sent
        if request.kind == FINISH and self.servers.master.is_ready and not first_sent:
            self._decide(request, None, now)  # it stood in line, and was never begun
        # Else the outcome is unknown: the mark and the payload stay until it is.

    def _look_for_lost_tickets(self, now: float) -> None:
        """A worker that is frozen while it takes tickets takes, when it thaws, its successor's too, before it learns that it has one.

        Nobody will ever decide those writes. A new life does: all that is undecided is handed to it.
        """
        link = self._links.get(MASTER)
        if link is None or not self.servers.master.is_ready:
            return
        settings = self._settings
        for lane, limit_ms in ((self.lanes.finish, settings.deadline_ms), (self.lanes.clear, settings.clear_age_limit_ms)):
            oldest = next(iter(lane.sent.values()), None)
            if oldest is not None and now - oldest.line_moment > limit_ms / 1000 + LOST_AFTER_S:
                self._log.error("a write's ticket was lost; the master's worker is to begin anew")
                link.close()
                self.part(link)
                return

    def _sweep(self, now_ms: int) -> None:
        """Clear stale tickets out of the way; a living one that came up is sent again."""
        try:
            request = self.table.get(self.lanes.sweep(now_ms) or 0)
        except QueueGone:
            self._mend_queues(now_ms / 1000)
            return
        if request is not None and request.lane is not None:
            request.lane.take(request)
            self._send_read(request, request.reason, now_ms / 1000)

    def _move_up(self, now: float) -> None:
        try:
            for lane in self.lanes.move_up(now):
                if lane is self.lanes.replica:
                    self._wake_for_replica_lane()
                else:
                    self._links.wake(MASTER)
        except QueueGone:
            self._mend_queues(now)

    def _mend_queues(self, now: float) -> None:
        """Somebody has removed a queue from outside: make new ones, and let the workers begin new lives with them."""
        self._log.error("a queue was removed from outside; made new ones, nothing is lost")
        self.lanes.open()
        for link in self._links.all():
            link.close()
            self.part(link)
        for request in self.lanes.replica.empty():
            self._send_read(request, "aged", now)

    def _close(self, request: Request) -> None:
        self.table.pop(request.request_id, None)
        if request.lane is not None:
            request.lane.take(request)
