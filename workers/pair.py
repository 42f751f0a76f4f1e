"""What a front decides about segments: whom to route where, what to take over, what to ask back, what to give.

Pure: looks and moments come in (CLOCK_BOOTTIME, seconds), decisions go out; `dispatch` and `forwarding` act on them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Set
from typing import Any, NamedTuple

from tasksys_site.configuration import DBSvr
from workers.messages import SegmentRow, Segments
from workers.ownership import THEIRS, Ownership, StillTicks
from workers.protocol import NotOwner

DEMAND_S = 5.0
"""A segment is taken over only for clients: when one has come for it within this time."""
LONGEST_HOLE_S = 1.0
"""A hole in our own looks: what stood still meanwhile says nothing about the other DBSvr."""
ASK_AGAIN_S = 0.25
GIVE_WITHIN_S = 5.0
TAKEOVERS_KEPT = 20


class Takeover(NamedTuple):
    """A change of owner that we saw. `cause`: taken over, given back, moved (by an operator), or configured."""

    segment: str
    before: str
    after: str
    epoch: int
    cause: str
    at: float


class Giving(NamedTuple):
    segment: str
    epoch: int
    to: str
    moves_home: bool
    until: float


class Pair:
    def __init__(self, instance: str, settings: DBSvr, possessed: Mapping[str, int]) -> None:
        self.instance = instance
        self._settings = settings
        self.ownership = Ownership(instance, len(settings.instances) == 1, possessed)
        self.is_whole = False
        """All users are ours for sure, and nobody else is there who could take one over: nothing is to be asked for each request."""
        self.takeovers: deque[Takeover] = deque(maxlen=TAKEOVERS_KEPT)
        self.giving: dict[str, Giving] = {}
        self._still = StillTicks(LONGEST_HOLE_S)
        self._demand: dict[str, float] = {}
        self._unchanged_ms: dict[str, int] = {}
        self._asked_at: dict[str, float] = {}

    def note(self, look: Segments, wall: float) -> list[Takeover]:
        """A look of the master's worker; the changes of owner that it shows."""
        before = {row.segment: row for row in self.ownership.rows}
        changes = []
        for row in look.rows:
            was = before.get(row.segment)
            if was is not None and was.epoch != row.epoch:
                changes.append(Takeover(row.segment, was.owner, row.owner, row.epoch, self._cause(was, row), wall))
        self.ownership.note(look.rows, look.looked_at)
        for segment, epoch, _ in look.possessed:
            self.ownership.possess(segment, epoch)
        self._unchanged_ms = look.unchanged_ms
        self._still.note(look.ticks, look.looked_at)
        self.is_whole = self.ownership.is_alone and bool(look.rows) and all(map(self.ownership.is_possessed, look.rows))
        self.takeovers.extend(changes)
        return changes

    def _cause(self, was: SegmentRow, row: SegmentRow) -> str:
        if was.segment in self.giving:
            return "given back" if row.home == was.home else "moved"
        if was.owner == row.owner:
            return "configured"
        if row.home != was.home:
            return "moved"
        return "given back" if row.owner == row.home else "taken over"

    def forget(self) -> None:
        """The master's timeline has broken."""
        self.ownership.forget()
        self.is_whole = False

    # -- routing

    def is_sure(self, uid: int, now: float) -> bool:
        """May a replica answer for him?"""
        return self.ownership.is_sure(uid, now) and not (self.giving and self._is_being_given(uid))

    def unsure(self, uids: Iterable[int], now: float) -> Set[int]:
        """Those for whom no replica may answer."""
        return {uid for uid in uids if not self.is_sure(uid, now)}

    def is_ours(self, uid: int) -> bool:
        """May his write be accepted?"""
        return self.ownership.is_ours(uid) and not (self.giving and self._is_being_given(uid))

    def _is_being_given(self, uid: int) -> bool:
        row = self.ownership.row_of(uid)
        return row is not None and row.segment in self.giving

    def note_demand(self, uid: int, now: float) -> None:
        """A client has come to us for a user who is not ours."""
        row = self.ownership.row_of(uid)
        if row is not None:
            self._demand[row.segment] = now

    def owner_of(self, uid: int) -> str | None:
        """The other DBSvr that owns him; None when nobody is known to, or it is us."""
        row = self.ownership.row_of(uid)
        return row.owner if row is not None and row.owner != self.instance else None

    def refusal(self, uid: int) -> NotOwner:
        row = self.ownership.row_of(uid)
        if row is not None and row.segment in self.giving:
            return NotOwner.of(row.segment, self.giving[row.segment].to, "is being given the segment, retry")
        if row is None:
            return NotOwner.of("", "", f"nobody is known to own uid {uid} yet, retry")
        if row.owner == self.instance:
            return NotOwner.of(row.segment, row.owner, "is taking the segment over, retry")
        return NotOwner.of(row.segment, row.owner, f"owns uid {uid}, and cannot be reached from DBSvr {self.instance}")

    # -- what to do

    def to_take(self, now: float) -> list[SegmentRow]:
        """Segments whose users ask here while their owner's tick stands still."""
        settings = self._settings
        return [
            row
            for row in self.ownership.rows
            if self.ownership.state(row) == THEIRS
            and now - self._demand.get(row.segment, float("-inf")) < DEMAND_S
            and self._still.still_s(row.owner, now) >= settings.takeover_after_ms / 1000
            and self._unchanged_ms.get(row.segment, 0) >= settings.hold_ms
            and self._may_ask(row, now)
        ]

    def to_ask_back(self, now: float, healthy_s: float) -> list[SegmentRow]:
        """Segments whose home is here, and which another DBSvr holds longer than needed."""
        if healthy_s < self._settings.give_back_after_ms / 1000:
            return []
        return [
            row
            for row in self.ownership.rows
            if row.home == self.instance
            and self.ownership.state(row) == THEIRS
            and self._unchanged_ms.get(row.segment, 0) >= self._settings.hold_ms
            and self._may_ask(row, now)
        ]

    def _may_ask(self, row: SegmentRow, now: float) -> bool:
        if now - self._asked_at.get(row.segment, float("-inf")) < ASK_AGAIN_S:
            return False
        self._asked_at[row.segment] = now
        return True

    def give(self, segment: str, to: str, moves_home: bool, now: float) -> Giving | None:
        """Begin to give a segment of ours: from now on no write of it is accepted here. None when it is not ours to give.

        `moves_home`: an operator wants it there, so that nobody asks it back.
        """
        row = next((row for row in self.ownership.rows if row.segment == segment), None)
        if row is None or not self.ownership.is_possessed(row) or segment in self.giving:
            return None  # what is not possessed yet has the lease of an owner before us on it, which its receiver would not wait out
        self.giving[segment] = Giving(segment, row.epoch, to, moves_home, now + GIVE_WITHIN_S)
        return self.giving[segment]

    def row(self, segment: str) -> SegmentRow | None:
        return next((row for row in self.ownership.rows if row.segment == segment), None)

    # -- for people

    def as_json(self, now: float) -> dict[str, dict[str, Any]]:
        return {
            row.segment: {
                "first": row.first,
                "last": row.last,
                "home": row.home,
                "owner": row.owner,
                "epoch": row.epoch,
                "state": self.ownership.state(row),
                "lease_left_ms": round(self.ownership.lease_left_ms(row, now), 1),
            }
            for row in self.ownership.rows
        }
