"""Which users are ours, and since when for sure.

Pure: looks come in, answers go out; the moments are of CLOCK_BOOTTIME, which also counts the time in which the host slept. Both
the master's worker (which fences) and the front (which routes) keep one. An owner is sure of a segment only for `lease_ms` from the
moment at which its last look was *sent* (INV 13), and only once it has *possessed* the segment's epoch: waited out the lease of
the owner before it, and committed a fresh tick after that.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping

from workers.messages import SegmentRow
from workers.protocol import NotOwner

OURS, TAKING, THEIRS, UNKNOWN = "ours", "taking", "theirs", "unknown"
BREAK = ""
"""Stands among the possessed segments from the first break of the master's timeline on: a row of epoch 0 may then be an old one, whose
segment was taken over in what the new master lacks."""


class Ownership:
    def __init__(self, instance: str, is_alone: bool, possessed: Mapping[str, int]) -> None:
        """`is_alone`: no other DBSvr is configured, so that nobody can take anything over. `possessed`: segment -> epoch."""
        self.instance = instance
        self.is_alone = is_alone
        self.possessed = dict(possessed)
        self._rows: list[SegmentRow] = []
        self._firsts: list[int] = []
        self._looked_at = float("-inf")

    @property
    def rows(self) -> list[SegmentRow]:
        return self._rows

    def note(self, rows: Iterable[SegmentRow], looked_at: float) -> None:
        """A look that was sent at `looked_at`."""
        self._rows = sorted(rows, key=lambda row: row.first)
        self._firsts = [row.first for row in self._rows]
        self._looked_at = looked_at

    def possess(self, segment: str, epoch: int) -> None:
        self.possessed[segment] = epoch

    def give_up(self, segment: str, owner: str) -> None:
        """It has just been given to another, before a look has shown it."""
        self._rows = [row._replace(owner=owner, epoch=row.epoch + 1) if row.segment == segment else row for row in self._rows]

    def forget(self) -> None:
        """The master's timeline has broken: whoever owned what before, its lease is to be waited out (a change of master is a takeover)."""
        self.possessed.clear()
        self.possessed[BREAK] = 0

    def row_of(self, uid: int) -> SegmentRow | None:
        """The segment of this user; None while nothing is known, or nobody owns him."""
        place = bisect_right(self._firsts, uid) - 1
        if place < 0 or self._rows[place].last < uid:
            return None
        return self._rows[place]

    def is_possessed(self, row: SegmentRow) -> bool:
        """Ours, and every earlier owner's lease has run out. Epoch 0 has had no earlier owner, unless the timeline has broken."""
        if row.owner != self.instance:
            return False
        return self.possessed.get(row.segment) == row.epoch or (row.epoch == 0 and BREAK not in self.possessed)

    def is_ours(self, uid: int) -> bool:
        """May we write this user, as far as is known? The write's own transaction proves it."""
        row = self.row_of(uid)
        return row is not None and self.is_possessed(row)

    def is_sure(self, uid: int, now: float) -> bool:
        """May a replica answer for this user, and a plain read of the master?"""
        row = self.row_of(uid)
        if row is None or not self.is_possessed(row):
            return False
        return self.is_alone or now < self._looked_at + row.lease_ms / 1000

    def lease_left_ms(self, row: SegmentRow, now: float) -> float:
        return max(0.0, (self._looked_at - now) * 1000 + row.lease_ms)

    def state(self, row: SegmentRow) -> str:
        if row.owner != self.instance:
            return THEIRS
        return OURS if self.is_possessed(row) else TAKING

    def unpossessed(self) -> list[SegmentRow]:
        """Ours by their rows, and not possessed yet."""
        return [row for row in self._rows if self.state(row) == TAKING]


def not_owner(ownership: Ownership, uid: int) -> NotOwner:
    """Why a write of this user is not ours to do now."""
    row = ownership.row_of(uid)
    if row is None:
        return NotOwner.of("", "", f"nobody is known to own uid {uid} yet")
    if ownership.is_possessed(row):
        return NotOwner.of(row.segment, "", "has just got another owner, retry")
    if row.owner == ownership.instance:
        return NotOwner.of(row.segment, row.owner, "is taking the segment over, and not ready yet")
    return NotOwner.of(row.segment, row.owner, f"owns uid {uid} now, and cannot be reached from here")


class StillTicks:
    """Since when does another DBSvr's tick stand still, as our looks at the master see it?

    Counted only while our own looks come without a hole: a master that hangs lets every tick stand still.
    """

    def __init__(self, longest_hole_s: float) -> None:
        self._longest_hole_s = longest_hole_s
        self._ticks: dict[str, int] = {}
        self._moved_at: dict[str, float] = {}
        self._since = float("-inf")
        self._looked_at = float("-inf")

    def note(self, ticks: Mapping[str, int], now: float) -> None:
        is_hole = now - self._looked_at > self._longest_hole_s
        if is_hole:
            self._since = now
        self._looked_at = now
        for instance, tick in ticks.items():
            if is_hole or self._ticks.get(instance) != tick:
                self._ticks[instance], self._moved_at[instance] = tick, now

    def still_s(self, instance: str, now: float) -> float:
        """How long it has stood still; 0 while our own looks do not come."""
        if now - self._looked_at > self._longest_hole_s:
            return 0.0
        # An instance without a row has never lived here: it has stood still since we look.
        return self._looked_at - self._moved_at.get(instance, self._since)
