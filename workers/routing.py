"""Which server may answer a read, and why.

Pure: knows what the workers last reported and when ticks were committed; opens nothing and reads no clock but the one
passed in. The answer travels as the message type: MASTER_ONLY with a reason, or the stamp's type, which any replica that
has reached the stamp takes (and the master, when the replicas are busy).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from workers.messages import Hold
from workers.tick_clock import TickClock

SILENT_S = 1.0
"""A replica whose worker has said nothing for so long is not counted on."""

OVERDUE_S = 0.05


@dataclass(slots=True)
class ReplicaView:
    """What is known of one replica. `tick` is None while nothing that counts is known."""

    name: str
    connected: bool = False
    pid: int | None = None
    tick: int | None = None
    reported_at: float = 0.0
    delay_at_least_s: float = 0.0
    delay_at_most_s: float = 0.0
    """How late it showed a commit when its tick last advanced: between the age of the first it lacked and of the last it had."""
    endpoint: str = ""
    io_running: bool | None = None
    sql_running: bool | None = None
    last_error: str = ""
    is_admitted: bool = False
    """It has shown a tick that counts since its worker came, and its worker may serve."""
    refusal: str = ""
    """Why it is not admitted."""
    past_fork: str = ""
    """It holds what the master lacks, and must be rebuilt: what gave it away. Stays until an operator says that it was."""
    ahead_since: float | None = None
    """Since when it has shown a tick that the master has not committed."""
    shown: tuple[int, int] = (0, 0)
    """The generation and tick that it showed last, whether they count or not."""
    has_reported: bool = False
    hold: Hold | None = None
    """Somebody has said that it is not to be used, and why. Its ticks go on counting, so that its lag stays known."""
    endpoints: list[tuple[str, str, str]] = field(default_factory=list)

    def dismiss(self) -> None:
        """Nothing that it showed counts any more."""
        self.tick, self.is_admitted = None, False

    def note_tick(self, tick: int, clock: TickClock, now: float) -> None:
        if tick != self.tick:
            shown_at = clock.committed_at(tick)
            self.delay_at_least_s = clock.age_of_first_after(tick, now)
            self.delay_at_most_s = 0.0 if shown_at is None else now - shown_at
        self.tick = tick
        self.reported_at = now

    def is_known(self, now: float) -> bool:
        """What it shows now is known."""
        return self.connected and self.tick is not None and now - self.reported_at < SILENT_S

    def may_serve(self, now: float) -> bool:
        return self.hold is None and self.is_known(now)

    def lag_s(self, clock: TickClock, now: float) -> float | None:
        """How far it is behind now; None is unknown."""
        if not self.is_known(now) or self.tick is None:
            return None
        return clock.age_of_first_after(self.tick, self.reported_at) if self.tick < clock.newest else 0.0

    def state(self, clock: TickClock, now: float) -> str:
        """serving, catching_up, stopped, refused, held, silent or down."""
        if self.connected and not self.is_admitted and self.refusal and now - self.reported_at < SILENT_S:
            return "refused"
        if not self.connected or (self.tick is None and self.last_error):
            return "down"
        if self.hold is not None:
            return "held"
        if self.io_running is False or self.sql_running is False:
            return "stopped"
        lag_s = self.lag_s(clock, now)
        if lag_s is None:
            return "silent"
        return "serving" if lag_s < 1.0 else "catching_up"


def soonest_s(stamp: int, replicas: Iterable[ReplicaView], clock: TickClock, now: float) -> float | None:
    """In how many seconds some replica will show `stamp`, if it goes on as it does; 0 when one does now, None when none may serve."""
    soonest: float | None = None
    committed_at = clock.committed_at(stamp)
    for replica in replicas:
        if replica.tick is None or not replica.may_serve(now):
            continue
        if replica.tick >= stamp:
            return 0.0
        if committed_at is None:
            continue  # not committed yet, as far as is known: no telling
        age_s = now - committed_at
        if age_s > replica.delay_at_most_s + OVERDUE_S:
            expected = age_s  # it should be there by now: the replica has slowed down or stands, and may take as long again
        else:
            expected = max(0.0, replica.delay_at_least_s - age_s)
        soonest = expected if soonest is None else min(soonest, expected)
    return soonest


def master_reason(
    stamp: int, is_recorded: bool, replicas: Iterable[ReplicaView], clock: TickClock, spill_s: float, now: float
) -> str | None:
    """Why a read with this stamp must go to the master; None when it may wait for a replica."""
    soonest = soonest_s(stamp, replicas, clock, now)
    if soonest is None:
        return "replica_down"
    if soonest <= spill_s:
        return None
    return "recent_write" if is_recorded else "replica_lag"
