"""The reads of one TASK.MGET, and those of one turn of the event loop, travel as groups: a front's dispatch with real queues, and
workers whose words are made here."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Callable, Iterator

import pytest

from tasksys_site.configuration import DBSvr, Instance
from workers.bundles import PublishedBundle
from workers.clients import Client
from workers.commands import Commands
from workers.dispatch import Dispatch
from workers.lease_clock import boottime
from workers.messages import (
    MASTER_ONLY,
    MOST_USERS,
    NOT_NOW,
    FromWorker,
    Hello,
    Reads,
    Ready,
    SegmentRow,
    Segments,
    Ticked,
    Ticket,
    Writes,
    encode_frame,
)
from workers.queues import Queues
from workers.watermark import Watermark
from workers.worker_links import WorkerLink

LOG = logging.getLogger("test")
NODE = b"node-1"
ANY_TYPE, AT_HAND = 0, -1


class Written(asyncio.Transport):
    """What would go out on a connection."""

    def __init__(self) -> None:
        super().__init__()
        self.text = b""

    def write(self, data: object) -> None:
        self.text += bytes(data)  # type: ignore[call-overload]

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass

    def is_closing(self) -> bool:
        return False

    def close(self) -> None:
        pass


class NoShelf:
    """Nothing was ever published."""

    def load(self) -> PublishedBundle | None:
        return None

    def check(self, bundle: PublishedBundle, say: Callable[[str], None]) -> None:
        pass


class Front:
    """A dispatch in which the fresh tick was 100, with one replica, which shows it."""

    def __init__(self, **settings: int) -> None:
        key = random.randrange(0x1000_0000, 0x6000_0000)
        instances = {"a": Instance(port=7301, queue_key=key)}
        self.dispatch = Dispatch(
            "a", DBSvr(instances=instances, **settings), key, ["r1"], Watermark(), 302.0, lambda *lost: "", NoShelf(), LOG
        )
        self.dispatch._began_at -= 60  # it does not wait for the replicas' word
        self._queue = Queues.open(key).query
        self._commands = Commands(self.dispatch, None, 100, LOG)
        self._links = {name: WorkerLink(self.dispatch, LOG) for name in ("master", "r1")}
        for name, link in self._links.items():
            link.connection_made(Written())
            self.hear(name, Hello(name, 1))
        self.hear("master", Ready("m:1", 1, 100, 1, 0, 1, ""))
        self.hear("master", Segments(boottime(), [SegmentRow("all", 1, 2**63 - 1, "a", "a", 0, 2_000)], {}, {"a": 100}, []))
        self.hear("r1", Ticked(1, 100))

    def hear(self, server: str, frame: FromWorker) -> None:
        self._links[server].data_received(encode_frame(frame))

    def connect(self) -> tuple[Client, Written]:
        client, written = Client(self._commands, 2**30), Written()
        client.connection_made(written)
        return client, written

    def end_turn(self) -> None:
        """What the event loop would call after all that has come."""
        self.dispatch._end_turn()

    def written(self, uid: int, tick: int) -> None:
        """A write of this user has been acknowledged; no replica shows it yet."""
        client, _ = self.connect()
        finish(client, uid)
        self.hear("master", Writes(1, tick, 1.0, 0, [(max(self.dispatch.table), True, b"{}")], [], []))

    def tickets(self, message_type: int) -> list[Ticket]:
        return self._queue.drain(self.dispatch.run_id, message_type, 10_000)

    def groups(self, message_type: int) -> list[tuple[int, ...]]:
        return [ticket.uids for ticket in self.tickets(message_type)]


def mget(client: Client, *uids: int) -> None:
    send(client, b"TASK.MGET", NODE, *[b"%d" % uid for uid in uids])


def get(client: Client, uid: int, node: bytes = NODE) -> None:
    send(client, b"TASK.GET", b"%d" % uid, node)


def finish(client: Client, uid: int) -> None:
    send(client, b"TASK.FINISH", b"%d" % uid, NODE, b"e1", b'[{"task":1,"period":"once","op":"add","value":1}]')


def send(client: Client, *words: bytes) -> None:
    client.data_received(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%b\r\n" % (len(word), word) for word in words))


def bodies(ticket: Ticket) -> list[bytes]:
    return [b'{"uid":%d' % uid for uid in ticket.uids]


@pytest.fixture
def in_loop() -> Iterator[Callable[..., Front]]:
    """Makes fronts within a running loop's reach, though nothing is awaited."""
    loop, fronts = asyncio.new_event_loop(), []

    def make(**settings: int) -> Front:
        fronts.append(Front(**settings))
        return fronts[-1]

    asyncio._set_running_loop(loop)
    try:
        yield make
    finally:
        asyncio._set_running_loop(None)
        for front in fronts:
            front.dispatch.lanes.remove()
        loop.close()


MakeFront = Callable[..., Front]


def test_users_whom_a_replica_shows_travel_in_one_ticket_and_are_answered_in_order(in_loop: MakeFront) -> None:
    front = in_loop()
    client, written = front.connect()
    mget(client, 7, 5, 7, 6)

    (ticket,) = front.tickets(AT_HAND)
    front.hear("r1", Reads(1, 100, [(ticket.request_id, bodies(ticket))], [], []))

    assert (ticket.uids, ticket.stamp, ticket.generation) == ((7, 5, 7, 6), 100, 1)
    places = [written.text.index(b'{"uid":%d,' % uid) for uid in (7, 5, 6)]
    assert written.text.startswith(b"*4\r\n")
    assert places == sorted(places)
    assert written.text.count(b'{"uid":7,') == 2
    assert written.text.count(b'"storable":true') == 4
    reads = front.dispatch.counts
    assert (reads.reads_by_server["r1"], reads.reads_safe) == (4, 4)
    assert not front.dispatch.table


def test_reads_of_all_clients_in_one_turn_travel_in_one_ticket_and_each_is_answered_on_his_connection(in_loop: MakeFront) -> None:
    front = in_loop()
    (one, first), (other, second) = front.connect(), front.connect()
    get(one, 7)
    get(other, 5)
    get(one, 6)
    get(other, 4, b"node-2")

    assert front.groups(AT_HAND) == [], "not before the turn ends"
    front.end_turn()
    tickets = front.tickets(AT_HAND)
    front.hear("r1", Reads(1, 100, [(ticket.request_id, bodies(ticket)) for ticket in tickets], [], []))

    assert [ticket.uids for ticket in tickets] == [(7, 5, 6), (4,)], "a node's trail is its own"
    assert [uid for uid in (7, 6, 5, 4) if b'{"uid":%d,' % uid in first.text] == [7, 6]
    assert [uid for uid in (7, 6, 5, 4) if b'{"uid":%d,' % uid in second.text] == [5, 4]
    assert first.text.index(b'{"uid":7,') < first.text.index(b'{"uid":6,')
    assert not front.dispatch.table


def test_a_write_of_the_same_turn_is_accepted_before_the_reads_are_judged(in_loop: MakeFront) -> None:
    """Whichever of them came first: the reads are then the master's, on nobody's trail, and nobody stores them (INV 2, INV 8)."""
    front = in_loop()
    (reader, _), (writer, _) = front.connect(), front.connect()
    get(reader, 7)
    finish(writer, 7)
    get(reader, 7)
    front.end_turn()

    assert front.groups(AT_HAND) == []
    assert front.groups(MASTER_ONLY) == [(7, 7)]
    (request,) = [each for each in front.dispatch.table.values() if each.kind == "read"]
    assert (request.reason, request.accept_number) == ("in_flight", -1)


def test_a_read_before_a_write_of_its_own_connection_does_not_wait_for_it(in_loop: MakeFront) -> None:
    front = in_loop()
    client, _ = front.connect()
    get(client, 7)
    finish(client, 7)
    front.end_turn()

    assert front.groups(MASTER_ONLY) == [(7,)]


def test_a_read_behind_a_write_of_its_own_connection_waits_for_it_also_in_one_turn(in_loop: MakeFront) -> None:
    front = in_loop()
    client, written = front.connect()
    finish(client, 7)
    get(client, 7)
    get(client, 5)
    front.end_turn()

    assert front.groups(MASTER_ONLY) == []
    assert front.groups(AT_HAND) == [(5,)]
    assert written.text == b""


def test_who_must_be_read_from_the_master_does_not_take_the_others_there(in_loop: MakeFront) -> None:
    front = in_loop()
    writer, _ = front.connect()
    finish(writer, 7)
    client, _ = front.connect()

    mget(client, 5, 7, 6, 7)

    assert front.groups(MASTER_ONLY) == [(7, 7)]
    assert front.groups(AT_HAND) == [(5, 6)]


def test_a_group_that_waits_carries_the_largest_stamp_and_who_need_not_wait_travels_apart(in_loop: MakeFront) -> None:
    front = in_loop(spill_ms=60_000)
    front.written(7, 101)
    front.written(8, 103)
    client, _ = front.connect()

    mget(client, 5, 7, 8)

    assert front.groups(AT_HAND) == [(5,)]
    assert front.groups(-3) == [], "a replica that shows 102 has one of the two only"
    (waiting,) = front.tickets(-4)
    assert (waiting.uids, waiting.stamp) == ((7, 8), 103)


def test_a_snapshot_short_of_the_largest_stamp_sends_the_whole_group_to_the_master(in_loop: MakeFront) -> None:
    front = in_loop()
    client, written = front.connect()
    mget(client, 5, 6)
    (ticket,) = front.tickets(AT_HAND)

    front.hear("r1", Reads(1, 99, [], [], [ticket.request_id]))
    (again,) = front.tickets(MASTER_ONLY)
    front.hear("master", Reads(1, 100, [(again.request_id, bodies(again))], [], []))

    assert again.uids == (5, 6)
    assert written.text.count(b'"reason":"handed_back"') == 2
    assert front.dispatch.counts.reads_by_reason["handed_back"] == 2


def test_a_ticket_has_no_more_users_than_fit_and_no_more_than_a_batch(in_loop: MakeFront) -> None:
    client, _ = (front := in_loop()).connect()
    mget(client, *range(1, 2 * MOST_USERS + 2))
    assert [len(group) for group in front.groups(AT_HAND)] == [MOST_USERS, MOST_USERS, 1]

    client, _ = (front := in_loop(batch=16)).connect()
    mget(client, *range(1, 34))
    assert [len(group) for group in front.groups(AT_HAND)] == [16, 16, 1]


def test_a_read_behind_a_write_of_its_connection_waits_for_it_and_the_others_do_not(in_loop: MakeFront) -> None:
    front = in_loop()
    client, _ = front.connect()
    finish(client, 7)
    mget(client, 5, 7, 6)

    assert front.groups(AT_HAND) == [(5, 6)]
    assert front.groups(MASTER_ONLY) == []
    front.hear("master", Writes(1, 101, 1.0, 0, [(min(front.dispatch.table), True, b"{}")], [], []))
    assert front.groups(ANY_TYPE) == [(7,)]


def test_who_met_a_lock_comes_again_alone_and_the_others_have_their_answers(in_loop: MakeFront) -> None:
    front = in_loop()
    client, written = front.connect()
    mget(client, 5, 6, 7)
    (ticket,) = front.tickets(ANY_TYPE)
    first, _, third = bodies(ticket)

    front.hear("master", Reads(1, 100, [(ticket.request_id, [first, NOT_NOW, third])], [], []))
    (request,) = front.dispatch.table.values()
    assert written.text == b""
    front.dispatch._read_again(request)
    (again,) = front.tickets(MASTER_ONLY)
    front.hear("master", Reads(1, 100, [(again.request_id, bodies(again))], [], []))

    assert again.uids == (6,)
    assert [written.text.count(b'{"uid":%d,' % uid) for uid in (5, 6, 7)] == [1, 1, 1]
    assert not front.dispatch.table


def test_who_meets_a_lock_until_his_time_is_over_does_not_spoil_the_others_answers(in_loop: MakeFront) -> None:
    front = in_loop()
    client, written = front.connect()
    mget(client, 5, 6)
    (ticket,) = front.tickets(ANY_TYPE)
    front.hear("master", Reads(1, 100, [(ticket.request_id, [NOT_NOW, bodies(ticket)[1]])], [], []))

    front.dispatch.look_around(time.monotonic() + 60)

    assert written.text.startswith(b"*2\r\n-TIMEOUT ")
    assert b'{"uid":6,' in written.text


def test_a_write_that_comes_meanwhile_makes_only_its_users_answer_unstorable(in_loop: MakeFront) -> None:
    front = in_loop()
    client, written = front.connect()
    mget(client, 5, 6, 7)
    (ticket,) = front.tickets(AT_HAND)
    writer, _ = front.connect()
    finish(writer, 6)

    front.hear("r1", Reads(1, 100, [(ticket.request_id, bodies(ticket))], [], []))

    parts = written.text.split(b'{"uid":')[1:]
    assert [b'"storable":true' in part for part in parts] == [True, False, True]


def test_past_the_backlog_users_are_refused_in_their_places(in_loop: MakeFront) -> None:
    front = in_loop(backlog=100)
    first, _ = front.connect()
    mget(first, *range(1, 100))
    client, written = front.connect()
    mget(client, 5, 6, 7)
    third, refused = front.connect()
    get(third, 8)
    front.end_turn()

    *_, ticket = front.tickets(AT_HAND)
    front.hear("r1", Reads(1, 100, [(ticket.request_id, bodies(ticket))], [], []))

    assert ticket.uids == (5,)
    assert written.text.count(b"-OVERLOADED ") == 2
    assert refused.text.startswith(b"-OVERLOADED ")
    assert front.dispatch.counts.errors["OVERLOADED"] == 3


def test_at_the_deadline_each_user_of_a_group_is_told_and_counted(in_loop: MakeFront) -> None:
    front = in_loop()
    client, written = front.connect()
    mget(client, 5, 6, 7)

    front.dispatch.look_around(time.monotonic() + 60)

    assert written.text.count(b"-TIMEOUT ") == 3
    assert front.dispatch.counts.deadline_misses["read"] == 3
    get(client, 8)
    front.end_turn()
    assert len(front.dispatch.table) == 1, "whom nobody waits for does not count as waiting"


def test_an_aged_group_goes_to_the_master_and_its_old_ticket_answers_nobody_twice(in_loop: MakeFront) -> None:
    front = in_loop()
    client, written = front.connect()
    mget(client, 5, 6)

    front.dispatch.look_around(time.monotonic() + 0.5)
    (again,) = front.tickets(MASTER_ONLY)
    (old,) = front.tickets(AT_HAND) or [again]
    front.hear("master", Reads(1, 100, [(again.request_id, bodies(again))], [], []))
    front.hear("r1", Reads(1, 100, [(old.request_id, bodies(old))], [], []))

    assert written.text.count(b'"reason":"aged"') == 2
    assert written.text.count(b'"served_by"') == 2
    assert front.dispatch.counts.reads_by_reason["aged"] == 2
