"""The master worker's part in the ownership of segments: it looks, takes, gives and possesses.

Leans on `segment_rows` for the statements and on `ownership` for what follows from them. One keeper lives as long as one life of
the worker.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable

from tasksys_site.configuration import DBSvr
from workers import segment_rows
from workers.database import Connection, DatabaseUnfit, NoRoom, TryAgain
from workers.lease_clock import boottime
from workers.messages import GiveSegment, MayPossess, SegmentRow, Segments, TakeSegment
from workers.ownership import Ownership

LOOKS_A_LEASE = 10
EARLY = 0.1
"""By this part of its interval a look, or a beat, may come early, to share a wake-up that is there anyway and costs more than either."""


class SegmentKeeper:
    def __init__(
        self,
        connection: Connection,
        settings: DBSvr,
        ownership: Ownership,
        generation: int,
        fresh_tick: Callable[[], int],
        log: logging.Logger,
    ) -> None:
        """`fresh_tick` commits one. Makes the rows of the configuration when there are none."""
        self._connection = connection
        self._settings = settings
        self._ownership = ownership
        self._generation = generation
        self._fresh_tick = fresh_tick
        self._log = log
        self._ready_at: dict[tuple[str, int], float] = {}
        """When the lease of a segment's former owner has run out for sure: (segment, epoch) -> CLOCK_BOOTTIME."""
        self._next_look_at, self._look_from = 0.0, 0.0
        segment_rows.fill(connection, settings.segment_list, settings.lease_ms)

    @property
    def next_look_at(self) -> float:
        """To be woken for (CLOCK_BOOTTIME)."""
        return self._next_look_at

    def is_due(self, now: float, may_be_early: bool) -> bool:
        return now >= (self._look_from if may_be_early else self._next_look_at)

    def look(self) -> Segments:
        """Look, and possess what is ours and free of every earlier lease. Raises DatabaseUnfit when another DBSvr is a generation ahead."""
        looked_at = boottime()
        seen = segment_rows.look(self._connection)
        replied_at = boottime()
        if seen.generation > self._generation:
            raise DatabaseUnfit(f"another DBSvr has begun generation {seen.generation}, we are at {self._generation}")
        self._ownership.note(seen.rows, looked_at)
        possessed = []
        for row in self._ownership.unpossessed():
            key = (row.segment, row.epoch)
            ready_at = self._ready_at.setdefault(key, replied_at + row.lease_ms / 1000)
            if self._ownership.is_alone or replied_at >= ready_at:
                tick = self._possess(row)
                if tick:
                    possessed.append((row.segment, row.epoch, tick))
        self._plan_next(replied_at)
        return Segments(looked_at, list(seen.rows), seen.unchanged_ms, seen.ticks, possessed)

    def _possess(self, row: SegmentRow) -> int:
        try:
            tick = self._fresh_tick()
        except NoRoom:
            return 0  # the next look tries again
        self._ownership.possess(row.segment, row.epoch)
        self._log.info("owns a segment segment=%s epoch=%d tick=%d", row.segment, row.epoch, tick)
        return tick

    def _plan_next(self, now: float) -> None:
        every_s = self._settings.lease_ms / 1000 / LOOKS_A_LEASE
        ready = (self._ready_at[row.segment, row.epoch] for row in self._ownership.unpossessed())
        # A lease is waited out to its end: for that no look comes early.
        possessing_at = min((at for at in ready if at > now), default=math.inf)
        self._next_look_at = min(now + every_s, possessing_at)
        self._look_from = min(now + every_s * (1 - EARLY), possessing_at)

    def obey(self, order: TakeSegment | GiveSegment | MayPossess) -> None:
        """The next look shows what came of it."""
        self._next_look_at, self._look_from = 0.0, 0.0
        if isinstance(order, MayPossess):
            self._ready_at[order.segment, order.epoch] = 0.0
            return
        row = next((row for row in self._ownership.rows if (row.segment, row.epoch) == (order.segment, order.epoch)), None)
        if row is None:
            return  # it has changed since
        owner, home, hold_ms = self._ownership.instance, row.home, self._settings.hold_ms
        if isinstance(order, GiveSegment):
            if row.owner != self._ownership.instance:
                return
            owner, home, hold_ms = order.to, order.to if order.moves_home else row.home, 0
        try:
            changed = segment_rows.change_owner(self._connection, row, owner, home, self._settings.lease_ms, hold_ms)
        except TryAgain:
            # Its owner is in the midst of a transaction: then he lives, or the server ends it soon.
            self._log.warning("a segment's row is locked, trying again segment=%s owner=%s", row.segment, row.owner)
            return
        if changed:
            if isinstance(order, GiveSegment):
                self._ownership.give_up(row.segment, owner)
            self._log.warning(
                "a segment changes its owner segment=%s from=%s to=%s epoch=%d cause=%s",
                row.segment,
                row.owner,
                owner,
                row.epoch + 1,
                "given" if isinstance(order, GiveSegment) else "taken over",
            )
