"""What a front learns of its servers' timelines from their workers, and whom it tells: ticks, endpoints, generations, what was lost.

Leans on `servers` for what follows from it, on `lost_writes` for naming what a break of the timeline has cost. `dispatch` hands it
the workers' words.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from workers.front_counts import FrontCounts
from workers.lost_writes import SHOWN, Acknowledged, AcknowledgedWrite, LostWrites
from workers.messages import Base, Down, Endpoints, Ready, ReplicaHealth
from workers.servers import MASTER, Beginning, Servers
from workers.timelines import Known
from workers.user_info import UserInfo
from workers.worker_links import WorkerLinks

if TYPE_CHECKING:
    from workers.worker_links import WorkerLink


class Timekeeper:
    def __init__(
        self,
        servers: Servers,
        users: UserInfo,
        links: WorkerLinks,
        counts: FrontCounts,
        keep_lost: Callable[[int, list[AcknowledgedWrite]], str],
        log: logging.Logger,
    ) -> None:
        """`keep_lost` puts lost writes of a generation where an operator finds them, and says where."""
        self.servers = servers
        self.acknowledged = Acknowledged()
        self.lost: LostWrites | None = None
        """What the last break of the master's timeline has cost."""
        self._users = users
        self._links = links
        self._counts = counts
        self._keep_lost = keep_lost
        self._log = log
        self._away: dict[str, str] = {}
        """Why a server cannot be used, as its worker said last."""

    def begin_life(self, ready: Ready, now: float) -> Beginning:
        """A master worker has its fresh tick."""
        self._note_usable(MASTER)
        self._note_switch(MASTER, self.servers.master.endpoint, ready.endpoint)
        beginning = self.servers.begin_life(ready, now)
        if beginning.ended is not None:
            self._begin_generation(ready, beginning.ended)
        if beginning.is_new_base:
            self._users.raise_floor(ready.tick, "start")
            self.acknowledged.begin(ready.tick)
            for link in self._links.all():
                if link.server != MASTER:
                    link.send(Base(ready.generation, 0))  # until it has shown that it goes along
        return beginning

    def note_down(self, server: str, frame: Down, now: float) -> None:
        """Said once, not at every try of its worker."""
        if self._away.get(server) != frame.sentence:
            self._away[server] = frame.sentence
            self._log.warning('a server cannot be used server=%s why="%s"', server, frame.sentence)
        self.servers.note_down(server, frame.sentence, now)

    def note_health(self, server: str, frame: ReplicaHealth) -> None:
        self._note_usable(server)
        self._note_switch(server, self.servers.replicas[server].endpoint, frame.endpoint)
        self.servers.note_health(server, frame)

    def _note_usable(self, server: str) -> None:
        if self._away.pop(server, None) is not None:
            self._log.info("a server can be used again server=%s", server)

    def _note_switch(self, server: str, before: str, endpoint: str) -> None:
        if before and before != endpoint:
            self._counts.switches[server] += 1
            self._log.warning("a server is reached by another endpoint server=%s endpoint=%s before=%s", server, endpoint, before)

    def _begin_generation(self, ready: Ready, ended: Known) -> None:
        """The master's timeline has broken: old stamps mean nothing any more, and what it lacks is lost (and named)."""
        self._users.begin_generation(ready.tick)
        ticks = max(0, ended.tick - ready.fork_tick)
        writes, is_complete = self.acknowledged.after(ready.fork_tick)
        is_complete = is_complete or not ticks
        self._counts.generation_rises[ready.cause] += 1
        self._counts.lost_writes += len(writes)
        self._log.error(
            "a new generation begins generation=%d cause=%s endpoint=%s fork_tick=%d ended_generation=%d newest_tick=%d ticks_lost=%d"
            " writes_lost=%d complete=%s",
            ready.generation,
            ready.cause,
            ready.endpoint,
            ready.fork_tick,
            ended.generation,
            ended.tick,
            ticks,
            len(writes),
            "yes" if is_complete else "no",
        )
        file = self._keep_lost(ended.generation, writes) if writes else ""
        for write in writes[:SHOWN]:
            self._log.error("an acknowledged write is lost uid=%d event_id=%s", write.uid, write.event_id)
        if len(writes) > SHOWN:
            self._log.error("more acknowledged writes are lost more=%d file=%s", len(writes) - SHOWN, file)
        self.lost = LostWrites(ready.generation, ready.cause, ready.fork_tick, ticks, len(writes), is_complete, writes[:SHOWN], file)

    def note_tick(self, link: WorkerLink, generation: int, tick: int, now: float) -> None:
        if link.server == MASTER:
            self.note_master_tick(tick, now)
            return
        replica = self.servers.replicas[link.server]
        shown, refusal = replica.tick, replica.refusal
        if generation == self.servers.generation:
            self._counts.shown.note(generation, tick, now)
        if self.servers.note_replica_tick(link.server, generation, tick, now):
            link.send(Base(self.servers.generation, self.servers.base_of(link.server)))
        if shown is not None and replica.tick is not None and replica.tick < shown:
            self._log.warning("a replica went back: it was restored replica=%s from_tick=%d tick=%d", link.server, shown, replica.tick)
        if replica.past_fork and replica.refusal != refusal:
            self._log.error('a replica is refused replica=%s why="%s"', link.server, replica.refusal)
        self._users.forget_passed(each.tick for each in self.servers.replicas.values())

    def note_master_tick(self, tick: int, now: float) -> None:
        self.servers.note_master_tick(tick, now)
        if (base := self.servers.next_base()) is not None:
            self.servers.set_base(base)
            self._tell_base()

    def _tell_base(self) -> None:
        for link in self._links.all():
            if link.server != MASTER and (base := self.servers.base_of(link.server)):
                link.send(Base(self.servers.generation, base))

    def note_endpoints(self, server: str, frame: Endpoints) -> None:
        view = self.servers.master if server == MASTER else self.servers.replicas[server]
        view.endpoints = frame.endpoints
        if server == MASTER and frame.warning != self.servers.master.warning:
            self.servers.master.warning = frame.warning
            if frame.warning:
                self._log.error('two masters take writes why="%s"', frame.warning)
            else:
                self._log.info("only one master takes writes again")

    def accept_rebuilt(self, name: str) -> bool:
        """An operator says that this replica was rebuilt from the master. False when it was not refused for a fork."""
        self._log.warning("an operator says that a replica was rebuilt replica=%s", name)
        return self.servers.accept_rebuilt(name)
