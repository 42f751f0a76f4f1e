"""What a front knows of its servers: the master, the replicas, and since when each tick is committed.

Pure: moments are passed in. Workers' words come in, answers to "who may serve this?" go out; `dispatch` acts on them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from workers.master_view import MasterView
from workers.messages import Hold, Ready, ReplicaHealth
from workers.routing import SILENT_S, ReplicaView, master_reason
from workers.tick_clock import TickClock
from workers.timelines import Forks, Known
from workers.watermark import Watermark

MASTER = "master"
REBASE_AT = 2**30
"""Ticks past the base at which a new base is due: types must stay below MASTER_ONLY."""
AHEAD_S = 1.0
"""A replica that shows for so long what the master has not committed has applied what the master lacks."""


class Beginning(NamedTuple):
    """What a master worker's new life brings. `ended`: the newest known of the generation that ended with it, if one did."""

    is_new_base: bool
    ended: Known | None


class Servers:
    def __init__(self, replica_names: list[str], spill_ms: int, watermark: Watermark) -> None:
        self.master = MasterView()
        self.replicas = {name: ReplicaView(name, past_fork=watermark.past_fork.get(name, "")) for name in replica_names}
        self.clock = TickClock()
        self.forks = Forks(watermark.forks)
        self._remembered = watermark.known
        self.generation = watermark.known.generation
        self.server_id = watermark.known.server_id
        self.base = 0
        """A tick that was committed after this run began; 0 until there is one, and all reads wait for the master (INV 3)."""
        self.best_replica_tick = 0
        """What the furthest replica that may serve shows."""
        self._spill_s = spill_ms / 1000

    @property
    def known(self) -> Known:
        """The newest that is known to be committed: by what we remember, by the master's worker, or since a replica shows it."""
        shown = max((replica.shown for replica in self.replicas.values()), default=(0, 0))
        ours = (self.generation, self.clock.newest)
        newest = max(ours, shown, self._remembered[:2])
        return Known(*newest, self.server_id)

    @property
    def is_blind(self) -> bool:
        """We remember nothing, and some replica has not said yet what it shows: a master that went back could not be told."""
        return not self.generation and not all(replica.has_reported for replica in self.replicas.values())

    @property
    def past_fork(self) -> dict[str, str]:
        """The replicas that must be rebuilt, and why."""
        return {name: replica.past_fork for name, replica in self.replicas.items() if replica.past_fork}

    def knows(self, server: str) -> bool:
        return server == MASTER or server in self.replicas

    def connect(self, server: str, pid: int | None) -> None:
        """A worker has come for this server; what it can serve, it says itself."""
        if server == MASTER:
            self.master.connect(pid)
        else:
            replica = self.replicas[server]
            replica.connected, replica.pid, replica.last_error = True, pid, ""
            replica.dismiss()

    def part(self, server: str, now: float) -> None:
        """The server's worker is gone."""
        if server == MASTER:
            self.master.part()
        else:
            replica = self.replicas[server]
            replica.connected, replica.pid = False, None
            replica.dismiss()
            self.look_again(now)

    def note_down(self, server: str, sentence: str, now: float) -> None:
        """The server's worker has no usable database."""
        if server == MASTER:
            self.master.go_down(sentence)
        else:
            replica = self.replicas[server]
            replica.dismiss()
            replica.reported_at, replica.last_error, replica.refusal = now, sentence, ""
            self.look_again(now)

    def note_health(self, server: str, health: ReplicaHealth) -> None:
        replica = self.replicas[server]
        replica.endpoint, replica.io_running = health.endpoint, health.io_running
        replica.sql_running, replica.last_error = health.sql_running, health.last_error

    def begin_life(self, ready: Ready, now: float) -> Beginning:
        """A master worker has its fresh tick. The first of a run, or of a generation, becomes the base."""
        known = self.known
        ended = known if known.generation and ready.generation != known.generation else None
        is_new_base = not self.base or ended is not None
        self.forks.note(ready.generation, ready.fork_tick)
        if is_new_base:
            self.clock = TickClock()
            self.generation, self.server_id = ready.generation, ready.server_id
            self._remembered = Known()
            for replica in self.replicas.values():
                self._look_for_fork(replica, *replica.shown)
                replica.shown, replica.ahead_since = (0, 0), None
            self.base = ready.tick
            self.best_replica_tick = 0
            for replica in self.replicas.values():
                replica.dismiss()
        self.clock.note(ready.tick, now)
        self.master.begin(ready, now)
        return Beginning(is_new_base, ended)

    def note_master_tick(self, tick: int, now: float) -> None:
        self.master.note_tick(tick, now)
        self.clock.note(tick, now)

    def note_replica_tick(self, server: str, generation: int, tick: int, now: float) -> bool:
        """What a replica shows. True when with it the replica was admitted, or dismissed: its worker must hear.

        A replica is admitted when it shows a tick of our generation that the master has committed. Until then its worker
        serves nothing, since it may have applied what the master lacks.
        """
        replica = self.replicas[server]
        if generation <= self.generation or not self.base:
            # A generation that we do not know yet must not hide what it showed of ours: that decides whether it is past the fork.
            replica.shown = (generation, tick)
        replica.has_reported = True
        was_admitted = replica.is_admitted
        if was_admitted and generation == self.generation:
            replica.note_tick(tick, self.clock, now)
            self.look_again(now)
            return False
        replica.refusal = self._refusal(replica, generation, tick, now)
        if replica.refusal:
            replica.dismiss()
            replica.reported_at = now
        else:
            replica.is_admitted = True
            replica.note_tick(tick, self.clock, now)
        self.look_again(now)
        return replica.is_admitted != was_admitted

    def _refusal(self, replica: ReplicaView, generation: int, tick: int, now: float) -> str:
        if not self.base:
            return "the DBSvr has no fresh tick yet"
        if not tick:
            return "it has no row of this DBSvr yet"
        self._look_for_fork(replica, generation, tick)
        if replica.past_fork:
            return f"{replica.past_fork}; rebuild it from the master, then say `python -m workers rebuilt {replica.name}`"
        if generation != self.generation:
            return f"it shows generation {generation}, the master is at {self.generation}: it must replicate from the new master"
        if tick > self.clock.newest and not replica.is_admitted:
            replica.ahead_since = replica.ahead_since or now
            return f"it shows tick {tick}, and the master has committed {self.clock.newest} only"
        replica.ahead_since = None
        return ""

    def _look_for_fork(self, replica: ReplicaView, generation: int, tick: int) -> None:
        fork_tick = self.forks.passed_by(generation, tick)
        if fork_tick is not None:
            replica.past_fork = (
                f"it has applied tick {tick} of generation {generation}, past the fork at {fork_tick}: it holds what the master lacks"
            )

    def master_lacks(self, now: float) -> ReplicaView | None:
        """A replica that shows what the master has not committed, for too long to be on the way: the master was restored unseen."""
        for replica in self.replicas.values():
            if replica.ahead_since is not None and now - replica.ahead_since >= AHEAD_S and self.master.is_ready:
                return replica
        return None

    def note_holds(self, holds: Mapping[str, Hold], now: float) -> list[str]:
        """Which replicas are held now; the names of those for which that has changed: their workers must hear."""
        changed = []
        for name, replica in self.replicas.items():
            hold = holds.get(name)
            if (hold is None) != (replica.hold is None):
                changed.append(name)
            replica.hold = hold
        self.look_again(now)
        return changed

    def base_of(self, name: str) -> int:
        """What this replica's worker is to compute its bound from; 0 while it must not serve."""
        replica = self.replicas[name]
        return self.base if replica.is_admitted and replica.hold is None else 0

    def may_answer(self, server: str) -> bool:
        """Is what this server answers to be given on? A held replica may have drained tickets before it heard."""
        return server == MASTER or self.replicas[server].hold is None

    def accept_rebuilt(self, name: str) -> bool:
        """An operator says that the replica was rebuilt. False when it did not have to be."""
        was_past_fork = bool(self.replicas[name].past_fork)
        self.replicas[name].past_fork = ""
        return was_past_fork

    def lag_s(self, replica: ReplicaView, now: float) -> float | None:
        """How far it is behind now; None is unknown, also while the master shows no beat: who knows what it has committed."""
        lag_s = replica.lag_s(self.clock, now)
        beat_age_ms = self.master.beat_age_ms(now)
        is_beating = beat_age_ms is not None and beat_age_ms < SILENT_S * 1000
        return lag_s if lag_s or is_beating else None

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
