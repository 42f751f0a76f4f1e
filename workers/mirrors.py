"""The mirrors of a front: one towards each peer, fed by what changes in the trails of our segments."""

from __future__ import annotations

import functools
import time
from typing import Any

from workers.forwarding import Forwarding
from workers.mirror import Mirror, Part, hear
from workers.ownership import OURS
from workers.pair import Pair
from workers.peer_link import Take
from workers.protocol import BadArgument
from workers.trail_book import TrailBook


class Mirrors:
    def __init__(self, pair: Pair, book: TrailBook, forwarding: Forwarding) -> None:
        self._pair = pair
        self._book = book
        self._forwarding = forwarding
        self._mirrors = {name: Mirror(book, functools.partial(self._tell, name)) for name in forwarding.peers}
        self._followed: list[str] = []
        self.heard = 0
        forwarding.on_greeting(self._begin)

    def _tell(self, peer: str, words: list[bytes], take: Take) -> bool:
        return self._forwarding.tell(peer, words, take, time.monotonic())

    def _begin(self, peer: str) -> None:
        self._mirrors[peer].begin(self._followed)

    def follow(self) -> None:
        """After a look: whatever is ours is mirrored."""
        if not self._mirrors:
            return
        ours = [row.segment for row in self._pair.ownership.rows if self._pair.ownership.state(row) == OURS]
        for segment in ours:
            self._book.of_segment(segment).changed = functools.partial(self._note, segment)
        self._followed = ours
        for mirror in self._mirrors.values():
            mirror.follow(ours)

    def _note(self, segment: str, uid: int) -> None:
        now = time.monotonic()
        for mirror in self._mirrors.values():
            mirror.note(segment, uid, now)

    def look_around(self, now: float) -> None:
        for name, mirror in self._mirrors.items():
            if self._forwarding.peers[name].is_up(now):
                mirror.pump(now)

    def has_told_all(self, segment: str, epoch: int, to: str, now: float) -> bool:
        """Does the peer that is given the segment know all trails of it? One that cannot be reached will do without."""
        if not self._forwarding.peers[to].is_up(now):
            return True
        mirror = self._mirrors[to]
        if (segment, epoch) in mirror.final_acknowledged:
            return True
        if mirror.is_level(segment):
            mirror.finish(segment, epoch)
        return False

    def hear(self, peer: str, part: Part, now: float) -> None:
        """Raises BadArgument for what is not the peer's to say."""
        row = self._pair.row(part.segment)
        if row is None or row.owner != peer:
            raise BadArgument(f"segment {part.segment} is not owned by {peer}, as far as is known here")
        self.heard += 1
        hear(self._book, part, now)

    def as_json(self, now: float) -> dict[str, dict[str, Any]]:
        return {
            name: {
                "lag_ms": round(mirror.lag_ms(now), 1),
                "is_level": all(map(mirror.is_level, self._followed)) and self._forwarding.peers[name].is_up(now),
                "sent": mirror.sent,
                "resends": mirror.resends,
            }
            for name, mirror in self._mirrors.items()
        }
