"""The trails of all segments: ours as reads make them, the others' as far as their owners mirror them.

Pure. Leans on `ownership` for whose a user is, on `trails` for what one segment keeps.
"""

from __future__ import annotations

from collections.abc import Iterable

from workers.ownership import Ownership
from workers.trails import ANY, NodeNumbers, Trails


class TrailBook:
    def __init__(self, ownership: Ownership, life_s: float, most: int, now: float) -> None:
        self._ownership = ownership
        self._life_s = life_s
        self._most = most
        self._began_at = now
        self.numbers = NodeNumbers()
        self.segments: dict[str, Trails] = {}
        self.inherited: dict[str, int] = {}
        """Segments whose last owner has told us all of his trails before he gave it: with which epoch."""

    def __len__(self) -> int:
        return sum(map(len, self.segments.values()))

    def of_segment(self, segment: str) -> Trails:
        trails = self.segments.get(segment)
        if trails is None:
            trails = self.segments[segment] = self.new_trails(self._began_at)
        return trails

    def new_trails(self, now: float) -> Trails:
        """Trails of which nothing is known at this moment."""
        return Trails(self.numbers, self._life_s, self._most, now)

    def of(self, uid: int) -> Trails | None:
        """None while it is not known whose the user is: then nothing of what he is told may be stored."""
        row = self._ownership.row_of(uid)
        return None if row is None else self.of_segment(row.segment)

    def note(self, uids: Iterable[int], node: str, now: float) -> None:
        """This node asks for these users."""
        row, trails = None, None
        for uid in uids:
            if row is None or trails is None or not row.first <= uid <= row.last:
                row = self._ownership.row_of(uid)
                if row is None:
                    continue
                trails = self.of_segment(row.segment)
            trails.note(uid, node, now)

    def begin_write(self, uid: int, node: str, now: float) -> tuple[list[str], int]:
        trails = self.of(uid)
        return ([ANY], 0) if trails is None else trails.begin_write(uid, node, now)

    def give_back(self, uid: int, mask: int, now: float) -> None:
        trails = self.of(uid)
        if trails is not None:
            trails.give_back(uid, mask, now)

    def take(self, segment: str, epoch: int, now: float) -> None:
        """A segment has become ours. Unless its owner has told us everything for this very epoch, its users' copies may be anywhere."""
        if self.inherited.pop(segment, None) != epoch:
            self.segments[segment] = self.new_trails(now)

    def turn(self, now: float) -> None:
        for trails in self.segments.values():
            trails.turn(now)

    def lost(self, now: float) -> Iterable[str]:
        """The segments in which a user without a whole trail is purged everywhere."""
        return [segment for segment, trails in self.segments.items() if trails.is_lost(now)]
