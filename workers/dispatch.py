"""The front's heart: takes requests, gives their tickets a type, and turns the workers' answers into replies.

State has one owner, and it is this: `users`, the `lanes`, the `servers`. Clients call `accept_*`, worker links call `greet`,
`hear` and `part`, a timer calls `look_around`. Nothing here waits.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections import deque
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from tasksys_site.configuration import DBSvr
from workers.bundles import Bundles, Shelf
from workers.forwarding import Forwarding
from workers.front_counts import FrontCounts
from workers.holds import FrontHolds
from workers.lanes import Lanes
from workers.lease_clock import boottime
from workers.lost_writes import AcknowledgedWrite
from workers.messages import (
    MASTER_ONLY,
    MOST_USERS,
    NEVER_MS,
    NOT_NOW,
    ClearTurn,
    Down,
    Endpoints,
    FromWorker,
    Holds,
    Leave,
    PurgeCopy,
    Reads,
    Ready,
    ReplicaHealth,
    RevisionSeen,
    RevisionTaken,
    Segments,
    Ticked,
    Welcome,
    Write,
    Writes,
    message_type,
)
from workers.pair import Pair
from workers.protocol import BadArgument, MasterDown, OldRules, Overloaded, TimedOut
from workers.purges import Purges
from workers.queues import QueueGone
from workers.replies import Replies
from workers.requests import CLEAR, FINISH, READ, Apart, Gather, Later, Request
from workers.servers import MASTER, Servers
from workers.takeovers import Takeovers
from workers.timekeeper import Timekeeper
from workers.trail_book import TrailBook
from workers.user_info import UserInfo
from workers.watermark import Watermark
from workers.worker_links import WorkerLinks

if TYPE_CHECKING:
    from workers.clients import Client
    from workers.worker_links import WorkerLink

Way: TypeAlias = "tuple[str | None, bool, int]"
"""How a read goes: why it is the master's, or None; then, whether it must wait for replication; and the stamp."""
RETRY_AFTER_MS = 50
OK = b"+OK\r\n"
MASTERS_ALONE = ("fresh_start", "not_owner", "in_flight")
"""Reasons for which no replica may answer, however long one waits, and no node may keep the answer (INV 8): nobody knows whose trail it
would be on, or what will come of the write that is under way."""
LOCKED_AGAIN_S = 0.02
LOST_AFTER_S = 5.0
"""So long after its time is over a queued write must have been decided, or its ticket was lost."""
BLIND_WAIT_S = 2.0
"""A front that remembers nothing waits so long for every replica's word before a master worker may claim."""


class Dispatch:
    def __init__(
        self,
        instance: str,
        settings: DBSvr,
        queue_key: int,
        replica_names: list[str],
        watermark: Watermark,
        trail_life_s: float,
        keep_lost: Callable[[int, list[AcknowledgedWrite]], str],
        shelf: Shelf,
        log: logging.Logger,
    ) -> None:
        """`trail_life_s`: how long a copy may live that comes of a read. `keep_lost` puts lost writes of a generation where an operator
        finds them, and says where. `shelf` keeps the task configuration."""
        self.instance = instance
        self.run_id = secrets.randbits(32)
        self.started_at = time.time()
        self._settings = settings
        self._log = log
        self.users = UserInfo(settings.max_stamps)
        self.servers = Servers(replica_names, settings.spill_ms, watermark)
        self.pair = Pair(instance, settings, watermark.possessed)
        self.trails = TrailBook(self.pair.ownership, trail_life_s, settings.max_stamps, time.monotonic())
        self.purges = Purges()
        self.lanes = Lanes(queue_key, self.run_id, settings.age_limit_ms)
        self.counts = FrontCounts(replica_names)
        self.bundles = Bundles(shelf, self.counts.errors, log)
        self.table: dict[int, Request] = {}
        """All requests without an outcome, by id, in order of arrival."""
        self._users_waiting = 0
        """For how many users they are."""
        self._last_request_id = 0
        self._deadline_s = settings.deadline_ms / 1000
        self._group_size = min(MOST_USERS, settings.batch)
        self._links = WorkerLinks(self._end_turn)
        self.time = Timekeeper(self.servers, self.users, self._links, self.counts, keep_lost, log)
        self.holds = FrontHolds(self.servers, self._links, log)
        self._unwelcomed: WorkerLink | None = None
        self._began_at = time.monotonic()
        # What this turn of the event loop leaves for its end: reads, by node; writes for the master's worker; reads in the replicas' lane.
        self._arrived: dict[str, tuple[list[int], list[Later]]] = {}
        self._to_hand_over: dict[int, Request] = {}
        self._replica_lane_was_fed = False
        self._clears: dict[tuple[int, str], Request] = {}
        self._passed: deque[tuple[int, Later]] = deque()
        """Who wants to hear that what was accepted up to this request has been passed (TASK.PASSED)."""
        self._replies = Replies(self.counts.errors)
        self.forwarding = Forwarding(instance, settings.instances, self._replies, self._settle_forwarded, log)
        self.takeovers = Takeovers(self.pair, self.forwarding, self._links, self.servers, self.users, self.trails, self.table, log)

    # -- from clients

    def accept_read(self, client: Client, uid: int, node: str, now: float) -> None:
        """A read by itself. It sets out when this turn ends, with all others that go the same way. `node` may keep a copy."""
        if client.writes and uid in client.writes:
            request = self._new_request(READ, [uid], client, node, now)
            client.pending.append(request)
            self._begin_read(request, now)
            return
        answer = Later(client)
        client.pending.append(answer)
        arrived = self._arrived.get(node)
        if arrived is None:
            self._arrived[node] = [uid], [answer]
            self._links.end_turn_soon()
        else:
            arrived[0].append(uid)
            arrived[1].append(answer)

    def accept_reads(self, client: Client, uids: Sequence[int], node: str, now: float, gather: Gather) -> None:
        """Reads that are answered together."""
        writes = client.writes
        behind = {place for place, uid in enumerate(uids) if uid in writes} if writes else ()
        self._begin_reads(uids, client, node, now, gather, behind)

    def _begin_arrived(self, now: float) -> None:
        arrived, self._arrived = self._arrived, {}
        for node, (uids, answers) in arrived.items():
            self._begin_reads(uids, answers[0].client, node, now, Apart(answers))
        self._replies.flush()

    def _begin_reads(
        self, uids: Sequence[int], client: Client, node: str, now: float, gather: Gather | Apart, behind: Collection[int] = ()
    ) -> None:
        """Those that go the same way travel together; at the places `behind` are those that wait for a write of their connection."""
        room = self._settings.backlog - self._users_waiting
        size = self._group_size
        if not behind and len(uids) <= room and (stamp := self._stamp_at_hand(uids)) is not None:
            # As nearly always: a replica shows all of them already.
            for start in range(0, len(uids), size):
                places = range(start, min(start + size, len(uids)))
                self._send_group(uids[start : start + size], places, (None, False, stamp), client, node, now, gather)
            return
        alike: dict[tuple[str | None, bool], list[tuple[int, int, int]]] = {}
        alone: list[tuple[int, int]] = []
        for place, uid in enumerate(uids):
            if place >= room or place in behind:
                alone.append((place, uid))
            else:
                reason, waits, stamp = self._way(uid, now)
                alike.setdefault((reason, waits), []).append((place, uid, stamp))
        for (reason, waits), reads in alike.items():
            for start in range(0, len(reads), size):
                at, group, stamps = zip(*reads[start : start + size], strict=True)
                self._send_group(group, at, (reason, waits, max(stamps)), client, node, now, gather)
        for place, uid in alone:
            request = self._new_request(READ, [uid], client, node, now)
            request.gather, request.places = gather, [place]
            self._begin_read(request, now)

    def _stamp_at_hand(self, uids: Sequence[int]) -> int | None:
        """The largest stamp of these users, if `_way` says of each of them that a replica shows him; else None."""
        if not self.servers.base or self.users.any_in_flight(uids):
            return None
        if not self.pair.is_whole and self.pair.unsure(uids, boottime()):
            return None
        stamp = self.users.largest_stamp(uids)
        if stamp > self.servers.best_replica_tick:
            return None
        self.counts.reads_safe += len(uids)
        return stamp

    def _send_group(
        self, uids: Sequence[int], places: Sequence[int], way: Way, client: Client, node: str, now: float, gather: Gather | Apart
    ) -> None:
        request = self._new_request(READ, uids, client, node, now)
        request.gather, request.places = gather, places
        self.table[request.request_id] = request
        self._users_waiting += len(uids)
        self._set_out(request, way, now)

    def accept_write(
        self, client: Client, kind: str, uid: int, node: str, event_id: str, payload: bytes, now: float, is_repair: bool = False
    ) -> None:
        """`kind` is FINISH or CLEAR. The arguments were checked."""
        request = self._new_request(kind, [uid], client, node, now)
        request.is_repair = is_repair
        client.pending.append(request)
        (self.counts.writes if kind == FINISH else self.counts.clears)["total"] += 1
        if self._users_waiting + len(self.forwarding) >= self._settings.backlog:
            self._refuse_overload(request)
            return
        if not self.pair.ownership.is_alone and self.pair.ownership.rows and not self.pair.is_ours(uid):
            self._forward(request, node, event_id, payload, now)
            return
        if self.servers.master.is_down:
            self._replies.fail(request, MasterDown(self.servers.master.sentence))
            return
        self.table[request.request_id] = request
        self._users_waiting += 1
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
            self._hand_over(request)

    def accept_passed(self, client: Client) -> None:
        """Answered once every write accepted before is decided, or one that was accepted later is; or when nobody decides anything."""
        answer = Later(client)
        client.pending.append(answer)
        if self.servers.master.is_down:
            answer.reply = OK
        else:
            self._passed.append((self._last_request_id, answer))

    def _say_passed(self, decided: int) -> None:
        """`decided`: the newest request of which this is known."""
        passed = self._passed
        while passed and passed[0][0] < decided:
            _, answer = passed.popleft()
            if not answer.client.is_gone:
                self._replies.say(answer, OK)

    def _note_passed(self, frame: FromWorker) -> None:
        if isinstance(frame, Writes):
            if frame.outcomes:
                self._say_passed(max(request_id for request_id, _, _ in frame.outcomes))
        elif isinstance(frame, Ticked | Ready | Down):
            # A beat is made when all is done that can be; and what a life has left undecided is not waited for.
            self._say_passed(self._last_request_id + 1)

    def _new_request(self, kind: str, uids: Sequence[int], client: Client, node: str, now: float) -> Request:
        self._last_request_id += 1
        request = Request(self._last_request_id, kind, uids, client, node, now, int((now + self._deadline_s) * 1000))
        request.accept_number = self.users.accept_number
        return request

    def _refuse_overload(self, request: Request) -> None:
        self._replies.fail(request, Overloaded(f"too many requests wait, retry after {RETRY_AFTER_MS} ms"))

    def _forward(self, request: Request, node: str, event_id: str, payload: bytes, now: float) -> None:
        """Hand a write to the DBSvr that owns its user. What came from there is never handed back."""
        client, uid = request.client, request.uid
        self.pair.note_demand(uid, boottime())
        owner = self.pair.owner_of(uid)
        command = b"TASK.REPAIR" if request.is_repair else b"TASK.FINISH" if request.kind == FINISH else b"TASK.CLEAR"
        words = [command, b"%d" % uid, node.encode(), event_id.encode()]
        if request.kind == FINISH:
            words.append(payload)
        if owner is None or client.peer or not self.forwarding.forward(owner, request, words, now):
            self._replies.fail(request, self.pair.refusal(uid))
            return
        client.writes[uid] = request

    def _settle_forwarded(self, request: Request) -> None:
        if request.client.writes.get(request.uid) is request:
            del request.client.writes[request.uid]
        followers, request.followers = request.followers or (), None
        now = time.monotonic()
        for follower in followers:
            if not follower.answered:
                self._set_out(follower, self._way(follower.uid, now), now)

    def _begin_read(self, request: Request, now: float) -> None:
        """The read of one user."""
        if self._users_waiting >= self._settings.backlog:
            self._refuse_overload(request)
            return
        self.table[request.request_id] = request
        self._users_waiting += 1
        uid, writes = request.uids[0], request.client.writes
        write = writes.get(uid) if writes else None
        if write is None:
            self._set_out(request, self._way(uid, now), now)
            return
        # Sent after a write on the same connection: it must not overtake it (INV 2).
        write.followers = write.followers or []
        write.followers.append(request)
        request.accept_number = -1  # nor be stored (INV 8)

    def _way(self, uid: int, now: float) -> Way:
        servers, users = self.servers, self.users
        if not servers.base:
            return "fresh_start", False, 0
        if not self.pair.is_whole and not self._may_use_replicas(uid):
            return "not_owner", False, 0
        if users.is_in_flight(uid):
            return "in_flight", False, 0
        stamp = users.stamp(uid)
        if stamp <= servers.best_replica_tick:
            self.counts.reads_safe += 1
            return None, False, stamp
        reason = servers.master_reason(stamp, users.recorded_stamp(uid) == stamp, now)
        return reason, reason is None, stamp

    def _set_out(self, request: Request, way: Way, now: float) -> None:
        """A read, or a group of them, takes its way."""
        reason, request.waits_for_replication, request.stamp = way
        if reason is not None and reason in MASTERS_ALONE:
            request.accept_number = -1  # nor is it for storing (INV 8)
            if self.servers.master.is_down:
                self._close(request)
                self._replies.fail(request, MasterDown(self.servers.master.sentence))
                return
        else:
            # Before the database is read: a write in between must find it on the trail (INV 9).
            self.trails.note(request.uids, request.node, now)
            if reason is not None and self.servers.master.is_down:
                reason, request.waits_for_replication = None, True  # a replica that catches up can still answer it
        self._send_read(request, reason, now)

    def _may_use_replicas(self, uid: int) -> bool:
        now = boottime()
        if self.pair.is_sure(uid, now):
            return True
        if self.pair.owner_of(uid) is not None:
            self.pair.note_demand(uid, now)
        return False

    def _send_read(self, request: Request, reason: str | None, now: float) -> None:
        request.reason = reason
        try:
            if reason is not None:
                self.lanes.master.put(request, MASTER_ONLY, now)
                self._links.wake(MASTER)
            else:
                self.lanes.replica.put(request, message_type(request.stamp, self.servers.base), now)
                if not self._replica_lane_was_fed:
                    self._wake_for_replica_lane()
        except QueueGone:
            self._mend_queues(now)

    def _wake_for_replica_lane(self) -> None:
        self._replica_lane_was_fed = True
        for name in self.servers.replicas:
            self._links.wake(name)

    def _hand_over(self, request: Request) -> None:
        """Give a write to the master's worker, at the end of this turn."""
        self._to_hand_over[request.request_id] = request
        self._links.wake(MASTER)

    def _end_turn(self) -> None:
        """Before the workers are woken: what is cheaper once for all requests of a turn."""
        if self._arrived:
            self._begin_arrived(time.monotonic())
        was_fed, self._replica_lane_was_fed = self._replica_lane_was_fed, False
        try:
            if self._to_hand_over:
                self._hand_over_now(time.monotonic())
            # Reads that a worker has taken count in the lane; whether the master is to help is for the kernel to say.
            if was_fed and self.lanes.replica.users_sent > self._settings.spill_depth < self.lanes.query_depth():
                self._links.wake(MASTER)
        except QueueGone:
            self._mend_queues(time.monotonic())

    def _hand_over_now(self, now: float) -> None:
        """The payloads over the socket first, then the tickets. Raises QueueGone."""
        requests, self._to_hand_over = self._to_hand_over, {}
        link = self._links.get(MASTER)
        if link is None or not self.servers.master.is_ready:
            return  # its worker has just gone; the next life is handed everything undecided
        requests = {number: each for number, each in requests.items() if number in self.table and each.lane is None}
        for each in requests.values():
            self._plan_purge(each, now)
        link.send_all([_payload(each) for each in requests.values()])
        for request in requests.values():
            if request.kind == FINISH:
                self.lanes.finish.put(request, 1, now)
            else:
                request.expires_at_ms = NEVER_MS  # its turn may come long after its client has given up waiting
                self.lanes.clear.put(request, 1, now)
                self._offer_clear_turn(now)

    def _plan_purge(self, request: Request, now: float) -> None:
        """Whose copies this write makes old. A write that is handed over once more purges whom it was to purge before, too."""
        nodes, mask = self.trails.begin_write(request.uid, request.node, now)
        if request.trail_mask is None:
            request.purge_nodes, request.trail_mask = nodes, mask
        else:
            request.purge_nodes = sorted({*request.purge_nodes, *nodes})
            request.trail_mask |= mask

    def may_have_work(self, server: str) -> bool:
        """May a ticket wait that this server's worker would take? Asked when it goes to sleep."""
        lanes = self.lanes
        if server == MASTER and (lanes.finish.sent or lanes.master.sent or lanes.clear.sent):
            return True
        try:
            return lanes.query_depth() > (self._settings.spill_depth if server == MASTER else 0)
        except QueueGone:
            return True  # it will find out, too

    # -- from workers

    def greet(self, link: WorkerLink) -> None:
        """A worker has said who it is. Of two for the same database the newer stays."""
        if not self.servers.knows(link.server):
            self._log.error("cut a worker that came for no server of ours server=%r", link.server)
            link.close()
            return
        before = self._links.get(link.server)
        if before is not None:
            self._log.warning("a second worker came, the older leaves server=%s pid=%s older_pid=%s", link.server, link.pid, before.pid)
            before.send(Leave())
            before.close()
            self.part(before)
        self._links.put(link)
        if self.lanes.are_gone():
            self._mend_queues(time.monotonic())
            return  # that ended this life too; the worker comes again
        self.servers.connect(link.server, link.pid)
        if link.server == MASTER and self.servers.is_blind and time.monotonic() - self._began_at < BLIND_WAIT_S:
            self._unwelcomed = link  # the replicas first
        else:
            self._welcome(link)

    def _welcome(self, link: WorkerLink) -> None:
        if link.server == MASTER:
            # Before it can look: a ticket of the life before it would be without its payload here, and make it wait for that in vain.
            now = time.monotonic()
            for request in self.lanes.take_back_masters():
                self._send_read(request, request.reason, now)
        link.send(Welcome(self.run_id, self.lanes.queue_key, *self.servers.known, self.pair.ownership.possessed, self.bundles.held_etag))

    def _welcome_the_master(self) -> None:
        """A front without memory lets the replicas speak first: by what they show, the claim can tell a master that went back."""
        link = self._unwelcomed
        if link is None or (self.servers.is_blind and time.monotonic() - self._began_at < BLIND_WAIT_S):
            return
        self._unwelcomed = None
        if self._links.get(MASTER) is link:
            self._welcome(link)

    def part(self, link: WorkerLink) -> None:
        """A worker's connection has ended. The marks of undecided writes stay until the successor's fresh tick (INV 3)."""
        if self._links.drop(link):
            self.servers.part(link.server, time.monotonic())
            if link.server == MASTER:
                self._say_passed(self._last_request_id + 1)
                self._replies.flush()

    def hear(self, link: WorkerLink, frame: FromWorker) -> None:
        if self._links.get(link.server) is not link:
            return  # superseded: what it says now is decided anew by its successor
        now = time.monotonic()
        if isinstance(frame, Reads):
            self._take_reads(link, frame, now)
        elif isinstance(frame, Writes):
            self._take_writes(frame, now)
        elif isinstance(frame, Ticked):
            self.time.note_tick(link, frame.generation, frame.tick, now)
        elif isinstance(frame, Ready):
            self._begin_life(frame, now)
        elif isinstance(frame, Down):
            self.time.note_down(link.server, frame, now)
        elif isinstance(frame, ReplicaHealth):
            self.time.note_health(link.server, frame)
        elif isinstance(frame, Segments):
            self.takeovers.note(frame)
        elif isinstance(frame, Endpoints):
            self.time.note_endpoints(link.server, frame)
        elif isinstance(frame, RevisionSeen | RevisionTaken):
            self.bundles.note(frame)
        elif isinstance(frame, Holds):
            self.holds.note(frame, now)
        if self._passed and link.server == MASTER:
            self._note_passed(frame)
        self._move_up(now)
        if isinstance(frame, Reads | Writes) and len(self.lanes.clear):
            self._offer_clear_turn(now)
        self._replies.flush()

    def _begin_life(self, ready: Ready, now: float) -> None:
        """A master worker has its fresh tick: no earlier one can commit any more, and what was undecided is decided anew."""
        if ready.cause:
            self.pair.forget()
        if self.time.begin_life(ready, now).is_new_base:
            self.lanes.set_generation(ready.generation)
        reads = self.lanes.take_back_masters()
        self._to_hand_over.clear()  # what this turn was about to hand over comes after what is older
        for request in [each for each in self.table.values() if each.kind != READ and not self._follows(each)]:
            request.lane = None
            request.may_have_happened = request.trail_mask is not None  # it was handed over before
            # It may have been committed before the fresh tick, and never after it by anyone but us.
            self.users.raise_stamp(request.uid, ready.tick)
            if request.answered and request.kind == FINISH:
                self._decide(request, ready.tick, now)
            else:
                self._hand_over(request)
        for request in reads:
            self._send_read(request, request.reason, now)

    def _follows(self, request: Request) -> bool:
        first = self._clears.get((request.uid, request.event_id))
        return request.kind == CLEAR and first is not request

    def _take_reads(self, link: WorkerLink, frame: Reads, now: float) -> None:
        server, counts, table = link.server, self.counts, self.table
        if frame.generation != self.servers.generation or not self.servers.may_answer(server):
            # On its way when a new generation began: it may show what the database has lost. Or when its replica was held.
            frame = msgspec.structs.replace(frame, answers=[], handed_back=[*frame.handed_back, *(number for number, _ in frame.answers)])
        if frame.answers:
            self.time.note_tick(link, frame.generation, frame.tick, now)
            by_master, reason = server == MASTER, None
            give_snapshots, written_since = self._replies.give_snapshots, self.users.written_since
            unsure, boot = None if self.pair.is_whole else self.pair.unsure, boottime()
            answered, users = [], 0
            for request_id, bodies in frame.answers:
                request = table.get(request_id)
                if request is None:
                    continue
                if request.lane is not None:
                    request.lane.take(request)
                if NOT_NOW in bodies:
                    # It met a lock of another DBSvr's: again in a moment. The others of its group do not wait for that.
                    request.reason = request.reason or "handed_back"
                    asyncio.get_running_loop().call_later(LOCKED_AGAIN_S, self._read_again, request)
                    if not any(bodies):
                        continue
                    request, bodies = request.split_off(bodies)
                else:
                    del table[request_id]
                users += len(bodies)
                if by_master:
                    reason = request.reason or "spill"
                unstorable = written_since(request.uids, request.accept_number)
                if unsure is not None:
                    unstorable |= unsure(request.uids, boot)
                give_snapshots(request, bodies, server, reason, unstorable)
                answered.append(request)
            self._users_waiting -= users
            counts.read_batches[server].add(users)
            counts.reads_by_server[server] += users
            if by_master:
                counts.note_master_reads(answered, now)
            else:
                counts.note_replica_reads(answered, frame.tick, now)
        for request_id, reason in [(each, "handed_back") for each in frame.handed_back] + [(each, "aged") for each in frame.expired]:
            request = table.get(request_id)
            if request is not None and (lane := request.lane) is not None and (lane is self.lanes.replica or reason == "handed_back"):
                lane.take(request)  # its ticket was taken, so none is left behind
                self._send_read(request, reason if lane is self.lanes.replica else request.reason, now)

    def _read_again(self, request: Request) -> None:
        if request.request_id in self.table and request.lane is None:
            self._send_read(request, request.reason, time.monotonic())

    def _send_again(self, request_id: int, reason: str, now: float) -> None:
        """Its replica will not answer this read in time: it is the master's now."""
        request = self.table.get(request_id)
        if request is not None and request.lane is self.lanes.replica:
            self.lanes.leave_stale(request)
            self._send_read(request, reason, now)

    def _take_writes(self, frame: Writes, now: float) -> None:
        counts = self.counts
        self.purges.note(frame.purges)
        if frame.tick:
            self.time.note_master_tick(frame.tick, now)
            self.time.acknowledged.note(
                frame.tick,
                [
                    AcknowledgedWrite(request.uid, request.event_id)
                    for request_id, applied, _ in frame.outcomes
                    if applied and (request := self.table.get(request_id)) is not None
                ],
            )
            counts.writes["batches"] += 1
            counts.write_batches.add(len(frame.outcomes) + len(frame.refused))
            counts.commit_ms_total += frame.commit_ms
            counts.writes["grants"] += frame.grants
            counts.writes["capped"] += frame.capped
        for request_id, applied, answer in frame.outcomes:
            request = self.table.get(request_id)
            if request is None:
                continue
            counter = counts.writes if request.kind == FINISH else counts.clears
            counter["applied" if applied else "repeated"] += 1
            counts.write_latency.add((now - request.arrived) * 1000)
            # The stamp first, the reply after it (INV 1).
            self._decide(request, frame.tick, now, answer, applied)
        for request_id, code, sentence in frame.refused:
            request = self.table.get(request_id)
            if request is not None:
                counts.writes["refused"] += 1
                if not request.answered:
                    if request.may_have_happened and code not in (BadArgument.code, OldRules.code):
                        # An earlier life of the worker may have committed it, and somebody else has gone on since.
                        self._replies.fail(request, TimedOut())
                    else:
                        self._replies.refuse(request, code, sentence)
                self._decide(request, None, now)
        for request_id in frame.expired:
            request = self.table.get(request_id)
            if request is not None:
                self._decide(request, None, now)

    def _decide(self, request: Request, stamp: int | None, now: float, answer: bytes | None = None, applied: bool = False) -> None:
        """The outcome of a write is known: stamp, mark, reply, and those who waited for it. No answer: it was not begun."""
        self._close(request)
        self.users.decide_write(request.uid, stamp)
        if not applied:
            if request.trail_mask is not None:
                self.trails.give_back(request.uid, request.trail_mask, now)
        elif (request.answered or request.client.is_gone) and (link := self._links.get(MASTER)) is not None:
            # Nobody sets the asker's node right: he has heard TIMEOUT, or is gone.
            link.send(PurgeCopy(request.uid, request.node))
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
                self._set_out(follower, self._way(follower.uid, now), now)

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
        shown = self.servers.best_replica_tick
        for request in self.lanes.replica.requests():
            is_aged = request.line_moment <= aged_before
            if request.stamp <= shown and not is_aged:
                continue  # a replica is about to take it, as nearly always
            reason = "aged" if is_aged else self._late_reason(request, now)
            if reason is not None:
                self._send_again(request.request_id, reason, now)
        self._sweep(now_ms)
        self._look_for_lost_tickets(now)
        self._offer_clear_turn(now)
        self.users.forget_accepted(now - 2 * self._settings.deadline_ms / 1000)
        self.counts.turn(now)
        self.trails.turn(now)
        self.purges.look_around(now)
        self.bundles.look_around(now)
        self.holds.look_around(now)
        self.servers.look_again(now)
        self._welcome_the_master()
        self._doubt_the_master(now)
        if not self.pair.ownership.is_alone:
            self.forwarding.look_around(now, self._deadline_s)
            self.takeovers.look_around(now)
            self.takeovers.mirrors.look_around(now)
        self._move_up(now)
        self._replies.flush()

    def _doubt_the_master(self, now: float) -> None:
        """A replica shows what the master lacks: end the worker's life, and let the next claim begin a new generation."""
        replica, link = self.servers.master_lacks(now), self._links.get(MASTER)
        if replica is None or link is None:
            return
        self._log.error("the master lacks what a replica has applied: it was restored replica=%s tick=%d", replica.name, replica.shown[1])
        replica.ahead_since = None
        link.close()
        self.part(link)

    def _late_reason(self, request: Request, now: float) -> str | None:
        """Why a read that waits for a replica had better not: it has turned out to be further behind than it seemed."""
        return self._master_reason(request, now) if self.servers.master.is_ready else None

    def _master_reason(self, request: Request, now: float) -> str | None:
        recorded_stamp, stamp = self.users.recorded_stamp, request.stamp
        return self.servers.master_reason(stamp, any(recorded_stamp(uid) == stamp for uid in request.uids), now)

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
        self.counts.deadline_misses[request.kind] += len(request.uids)
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
        self._log.error("a queue was removed from outside; made new ones, nothing is lost queue_key=%#x", self.lanes.queue_key)
        self.lanes.open()
        for link in self._links.all():
            link.close()
            self.part(link)
        for request in self.lanes.replica.empty():
            self._send_read(request, "aged", now)

    def _close(self, request: Request) -> None:
        if self.table.pop(request.request_id, None) is not None:
            self._users_waiting -= len(request.uids)
        if request.lane is not None:
            request.lane.take(request)


def _payload(request: Request) -> Write:
    return Write(
        request.request_id, request.uid, request.event_id, request.payload, request.kind == CLEAR, request.purge_nodes, request.is_repair
    )
