"""What a front knows of its servers: the master, the replicas, and since when each tick is committed.

Pure: moments are passed in. Workers' words come in, answers to "who may serve this?" go out; `dispatch` acts on them.
"""

from __future__ import annotations

from workers.master_view import MasterView
from workers.messages import Ready, ReplicaHealth
from workers.routing import ReplicaView, master_reason
from workers.tick_clock import TickClock

MASTER = "master"
REBASE_AT = 2**30
"""Ticks past the base at which a new base is due: types must stay below MASTER_ONLY."""


class Servers:
    def __init__(self, replica_names: list[str], spill_ms: int) -> None:
        self.master = MasterView()
        self.replicas = {name: ReplicaView(name) for name in replica_names}
        self.clock = TickClock()
        self.generation = 0
        self.base = 0
        """A tick that was committed after this run began; 0 until there is one, and all reads wait for the master (INV 3)."""
        self.best_replica_tick = 0
        """What the furthest replica that may serve shows."""
        self._spill_s = spill_ms / 1000

    def knows(self, server: str) -> bool:
        return server == MASTER or server in self.replicas

    def connect(self, server: str, pid: int | None) -> None:
        """A worker has come for this server; what it can serve, it says itself."""
        if server == MASTER:
            self.master.connect(pid)
        else:
            replica = self.replicas[server]
            replica.connected, replica.pid, replica.last_error = True, pid, ""

    def part(self, server: str, now: float) -> None:
        """The server's worker is gone."""
        if server == MASTER:
            self.master.part()
        else:
            replica = self.replicas[server]
            replica.connected, replica.pid = False, None
            self.look_again(now)

    def note_down(self, server: str, sentence: str, now: float) -> None:
        """The server's worker has no usable database."""
        if server == MASTER:
            self.master.go_down(sentence)
        else:
            replica = self.replicas[server]
            replica.note_tick(None, self.clock, 0.0)
            replica.last_error = sentence
            self.look_again(now)

    def note_health(self, server: str, health: ReplicaHealth) -> None:
        replica = self.replicas[server]
        replica.endpoint, replica.io_running = health.endpoint, health.io_running
        replica.sql_running, replica.last_error = health.sql_running, health.last_error

    def went_back(self, ready: Ready) -> bool:
        """The fresh tick is not newer than what was seen before: the master was restored to an earlier state."""
        return bool(self.base) and (ready.generation, ready.tick) <= (self.generation, self.clock.newest)

    def begin_life(self, ready: Ready, now: float) -> bool:
        """A master worker has its fresh tick. True when it became the base, of which the replicas' workers must hear."""
        is_new_timeline = not self.base or ready.generation != self.generation or self.went_back(ready)
        if is_new_timeline:
            self.clock = TickClock()
            self.generation = ready.generation
            self.set_base(ready.tick)
        self.clock.note(ready.tick, now)
        self.master.begin(ready.endpoint, ready.epoch, ready.tick, now)
        return is_new_timeline

    def note_tick(self, server: str, generation: int, tick: int, now: float) -> None:
        """What a server shows. A tick of another generation says nothing about ours."""
        if server == MASTER:
            self.master.note_tick(tick, now)
            self.clock.note(tick, now)
        else:
            self.replicas[server].note_tick(tick if tick and generation == self.generation else None, self.clock, now)
            self.look_again(now)

    def look_again(self, now: float) -> None:
        """Time itself changes who may serve: a silent replica is not counted on."""
        ticks = (replica.tick for replica in self.replicas.values() if replica.tick is not None and replica.may_serve(now))
        self.best_replica_tick = max(ticks, default=0)

    def next_base(self) -> int | None:
        """A higher base, when types are about to grow too large: one that every replica of which a tick is known has reached."""
        newest = self.clock.newest
        if newest - self.base <= REBASE_AT:
            return None
        return min([newest, *(replica.tick for replica in self.replicas.values() if replica.tick is not None)])

    def set_base(self, tick: int) -> None:
        # Tickets queued with types of the old base are harmless: the stamp in the ticket is what is proven.
        self.base = tick
        for replica in self.replicas.values():
            replica.tick = None
        self.best_replica_tick = 0

    def master_reason(self, stamp: int, is_recorded: bool, now: float) -> str | None:
        """Why a read with this stamp must go to the master; None when a replica shows it, or will soon."""
        if stamp <= self.best_replica_tick:
            return None
        return master_reason(stamp, is_recorded, self.replicas.values(), self.clock, self._spill_s, now)
