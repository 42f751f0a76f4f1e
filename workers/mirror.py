"""The mirror: the trails of our segments, streamed to another DBSvr, so that one that is given a segment knows whom to purge.

Pure but for `ask`, which sends. Only what is ours is sent, so nothing echoes. What has changed is remembered as a uid and sent as it is
then; a break, or too many changes, lead to sending everything again, in parts. Nothing rests on the mirror being level: whoever takes
over from a dead owner purges everywhere, since what that owner did last is not in it (INV 10).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import islice

import msgspec

from workers.peer_link import Take
from workers.trail_book import TrailBook

MOST_CHANGES = 100_000
ENTRIES_A_PART = 2_000

Ask = Callable[[list[bytes], Take], bool]
"""Sends a command to the peer; False when it cannot be reached."""


class Part(msgspec.Struct, array_like=True):
    """Trails of one segment: (uid, mask), each bit a place in `names`.

    `begins`: forget what you have of the segment, everything follows; `is_level`: with this you know all. `lost_ms`: for how long a user
    without a whole trail is to be purged everywhere. `final_epoch`: the epoch with which the segment becomes yours; nothing follows.
    """

    segment: str
    names: list[str]
    entries: list[tuple[int, int]]
    begins: bool
    is_level: bool
    lost_ms: int
    final_epoch: int = 0


_encode = msgspec.msgpack.Encoder().encode
decode_part = msgspec.msgpack.Decoder(Part).decode


class Mirror:
    """The sending side towards one peer. One part is under way at a time."""

    def __init__(self, book: TrailBook, ask: Ask) -> None:
        self._book = book
        self._ask = ask
        self._changes: dict[str, dict[int, float]] = {}
        """Segment -> uid -> since when it waits to be sent."""
        self._resends: dict[str, Iterator[int]] = {}
        self._begun: set[str] = set()
        self._is_asking = False
        self._asked_at = 0.0
        self._finals: dict[str, int] = {}
        self.final_acknowledged: set[tuple[str, int]] = set()
        self.sent = 0
        self.resends = 0

    def begin(self, segments: list[str]) -> None:
        """The peer has just been connected: it knows nothing."""
        self._changes = {segment: {} for segment in segments}
        self._resends = {}
        self._begun = set()
        self._is_asking = False
        self._finals = {}
        self.final_acknowledged = set()
        for segment in segments:
            self._resend(segment)

    def follow(self, segments: list[str]) -> None:
        """These are ours now: whatever is new among them is sent as a whole, and what has gone is not spoken of any more."""
        for segment in segments:
            if segment not in self._changes:
                self._changes[segment] = {}
                self._resend(segment)
        for segment in set(self._changes) - set(segments):
            del self._changes[segment]
            self._resends.pop(segment, None)
            self._begun.discard(segment)

    def note(self, segment: str, uid: int, now: float) -> None:
        changes = self._changes.get(segment)
        if changes is None:
            return
        changes.setdefault(uid, now)
        if len(changes) > MOST_CHANGES:
            self._resend(segment)

    def _resend(self, segment: str) -> None:
        self._changes[segment].clear()
        self._begun.discard(segment)
        self._resends[segment] = iter(self._book.of_segment(segment).uids())
        self.resends += 1

    def is_level(self, segment: str) -> bool:
        return segment in self._changes and not self._changes[segment] and segment not in self._resends and not self._is_asking

    def finish(self, segment: str, epoch: int) -> None:
        """The segment is about to be the peer's, with this epoch."""
        self._finals[segment] = epoch

    def lag_ms(self, now: float) -> float:
        """How long the oldest change has been waiting to be known over there."""
        waiting = [next(iter(changes.values())) for changes in self._changes.values() if changes]
        if self._is_asking:
            waiting.append(self._asked_at)
        return max(0.0, (now - min(waiting)) * 1000) if waiting else 0.0

    def pump(self, now: float) -> None:
        """Send the next part, unless one is under way or there is nothing to say."""
        if self._is_asking:
            return
        for segment, changes in self._changes.items():
            part = self._next_part(segment, changes, now)
            if part is not None:
                self._send(part, now)
                return

    def _next_part(self, segment: str, changes: dict[int, float], now: float) -> Part | None:
        trails = self._book.of_segment(segment)
        uids: list[int] = []
        resend = self._resends.get(segment)
        if resend is not None:
            uids = list(islice(resend, ENTRIES_A_PART))
            if len(uids) < ENTRIES_A_PART:
                del self._resends[segment]
        else:
            uids = list(islice(changes, ENTRIES_A_PART))
            for uid in uids:
                del changes[uid]
        begins = segment not in self._begun
        is_level = segment not in self._resends and not changes
        epoch = self._finals.get(segment, 0) if is_level else 0
        if not uids and not begins and not epoch:
            return None
        self._begun.add(segment)
        entries = [(uid, mask) for uid in uids if (mask := trails.mask(uid))]
        return Part(segment, self._book.numbers.names, entries, begins, is_level, trails.lost_ms(now), epoch)

    def _send(self, part: Part, now: float) -> None:
        def take(answer: object) -> None:
            self._is_asking = False
            if not isinstance(answer, int):
                if part.segment in self._changes:
                    self._resend(part.segment)  # it does not know what we have said
            elif part.final_epoch:
                self._finals.pop(part.segment, None)
                self.final_acknowledged.add((part.segment, part.final_epoch))
            else:
                self.pump(time.monotonic())

        self._is_asking, self._asked_at = True, now
        if self._ask([b"TASK.MIRROR", _encode(part)], take):
            self.sent += 1
        else:
            take(None)


def hear(book: TrailBook, part: Part, now: float) -> None:
    """The receiving side: what a segment's owner says of its trails."""
    if part.begins:
        book.segments[part.segment] = book.new_trails(now)
    trails = book.of_segment(part.segment)
    places = [book.numbers.bit(name) for name in part.names]
    if not all(places):
        trails.lose(now)
    ours: dict[int, int] = {}
    """Their masks in our numbers. Few differ, and who has the same one shares it."""
    for uid, mask in part.entries:
        if mask not in ours:
            ours[mask] = mask & 1 | sum(bit for place, bit in enumerate(places, start=1) if mask >> place & 1)
        trails.set(uid, ours[mask], now)
    if part.final_epoch:
        trails.inherit(part.lost_ms, now)
        book.inherited[part.segment] = part.final_epoch
