"""A replica's worker: answers the reads that its replica has already caught up with.

It takes only tickets whose type the replica's update tick has reached, so the kernel never hands it a read that it could not
answer (INV 5). Rows and tick come from one snapshot; where that snapshot is short of a ticket's stamp all the same (the
replica was swapped in between), the read is handed back, and the front sends it to the master.
"""

from __future__ import annotations

import logging
import time

from tasksys_site.configuration import Configuration, DBSvr, Replica
from workers import store
from workers.database import Connection, replication_health
from workers.front_link import local_socket_path
from workers.known_snapshots import KnownSnapshots
from workers.lives import Place, WorkerProcess, heed_leave
from workers.messages import Base, GroupAnswer, Idle, Reads, ReplicaHealth, Ticked, Ticket, Wake, message_type
from workers.probes import Probes
from workers.process import StopFlag, now_ms
from workers.queues import Queues
from workers.roles import ReplicaRole

HEALTH_EVERY_S = 1.0
EAGER_LOOK_S = 0.003
"""How often to look at the update tick while reads wait for it."""


def slave_db_svr(configuration: Configuration, instance: str, replica: Replica, stop: StopFlag, log: logging.Logger) -> WorkerProcess:
    def live(place: Place, connection: Connection) -> None:
        _Life(configuration.dbsvr, instance, stop, place, connection).live()

    role = ReplicaRole(replica.name, configuration.databases)
    probes = Probes(replica.endpoints, role.look_at)
    return WorkerProcess(replica.name, local_socket_path(configuration, instance), role, probes, live, stop, log)


class _Life:
    def __init__(self, settings: DBSvr, instance: str, stop: StopFlag, place: Place, connection: Connection) -> None:
        self._settings = settings
        self._instance = instance
        self._stop = stop
        self._place = place
        self._link = link = place.link
        self._connection = connection
        self._run_id = link.welcome.run_id
        self._queue = Queues.open(link.welcome.queue_key).query
        self._known = KnownSnapshots()
        self._generation, self._base = 0, 0
        """The front tells them when this replica has shown a tick that counts."""
        self._tick = 0
        """The update tick; 0 while this replica shows none that counts."""
        self._wake_number = 0
        self._said_idle = -1
        self._was_woken = False
        self._looked_at = 0.0
        self._health_at = 0.0

    def live(self) -> None:
        wait_s = 0.0
        while not self._stop:
            self._hear(wait_s)
            wait_s = 0.0
            self._place.look_around()
            self._tell_health()
            if self._answer():
                continue
            eager = self._queue.depth() > 0
            look_every_s = EAGER_LOOK_S if eager else self._settings.beat_ms / 1000
            # What we were woken for may wait for a tick that is already here.
            is_due = (eager and self._was_woken) or time.monotonic() - self._looked_at >= look_every_s
            self._was_woken = False
            if is_due and self._look() and self._answer():
                continue  # the tick has moved, and there were reads for us
            if self._said_idle != self._wake_number:
                self._link.hold(Idle(self._wake_number))
                self._said_idle = self._wake_number
            wait_s = max(0.001, self._looked_at + look_every_s - time.monotonic())

    def _hear(self, timeout_s: float) -> None:
        for frame in self._link.receive(timeout_s):
            if isinstance(frame, Wake):
                self._wake_number = frame.number
                self._said_idle = -1
                self._was_woken = True
            elif isinstance(frame, Base):
                self._generation, self._base = frame.generation, frame.base
                self._tick = 0
            else:
                heed_leave(frame)

    def _tell_health(self) -> None:
        """Once a second, also under load: answering reads shows the tick, but not why it stands still."""
        now = time.monotonic()
        if now - self._health_at >= HEALTH_EVERY_S:
            self._health_at = now
            self._link.flush()
            self._link.hold(ReplicaHealth(self._connection.endpoint, *replication_health(self._connection)))

    def _look(self) -> bool:
        """Look at the update tick; True when it has moved."""
        before = self._tick
        self._link.flush()
        generation, tick = store.read_tick(self._connection, self._instance)
        self._note(generation, tick)
        self._link.hold(Ticked(generation, tick))
        self._looked_at = time.monotonic()
        return self._tick > before

    def _note(self, generation: int, tick: int) -> None:
        # A tick counts only within its generation: another master's timeline says nothing about ours.
        self._tick = tick if generation == self._generation else 0

    def _answer(self) -> bool:
        """Answer a batch of the reads that the update tick admits; False when there was none."""
        if not self._base or self._tick < self._base:
            return False  # and never receive with 0, which would mean "any message"
        tickets = self._queue.drain(self._run_id, -message_type(self._tick, self._base), self._settings.batch)
        if not tickets:
            return False
        self._link.flush()
        now = now_ms()
        due = [ticket for ticket in tickets if ticket.expires_at_ms > now]
        expired = [ticket.request_id for ticket in tickets if ticket.expires_at_ms <= now]
        if not due:
            self._link.hold(Reads(self._generation, self._tick, [], expired, []))
            return True
        uids = {uid for ticket in due for uid in ticket.uids}
        generation, tick, snapshots = store.read_snapshots(self._connection, self._instance, uids, self._known)
        self._note(generation, tick)
        self._looked_at, self._was_woken = time.monotonic(), False
        answers, handed_back = prove(due, generation, tick, snapshots)
        self._link.hold(Reads(generation, tick, answers, expired, handed_back))
        return True


def prove(tickets: list[Ticket], generation: int, tick: int, snapshots: dict[int, bytes]) -> tuple[list[GroupAnswer], list[int]]:
    """The type was the filter, the snapshot is the proof: which reads it answers, and which it must hand back."""
    answers, handed_back = [], []
    for ticket in tickets:
        if ticket.generation == generation and ticket.stamp <= tick:
            answers.append((ticket.request_id, [snapshots[uid] for uid in ticket.uids]))
        else:
            handed_back.append(ticket.request_id)
    return answers, handed_back
