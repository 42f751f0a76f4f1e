"""What a front knows of users: stamps, writes in flight, recently accepted writes, and the floor.

Pure: opens nothing, reads no clock but the one passed in. The front asks it; the queues carry its answer as the message
type. Bounded by the replicas' lag, not by the number of users: a stamp that every configured replica has passed is dropped.
"""

from __future__ import annotations

from array import array
from collections import OrderedDict, deque
from collections.abc import Iterable, Set

NOBODY: Set[int] = frozenset()
MOST_SPENT = 10_000
"""Places in the order that may be spent (the user has a newer stamp) before it is made anew."""
PLACES_A_CHUNK = 1024
EXACT_CHUNKS = 64
"""So many of the newest full chunks keep each user's own stamp. In an older one all share its largest, and a place takes 8 bytes instead of
16 and an int of 32; unless a stamp would rise by more than a 64th of its age: then a replica that lags would serve him noticeably later."""


class _Chunk:
    """Users one after the other, as they were stamped."""

    def __init__(self) -> None:
        self.uids = array("Q")
        self.stamps = array("Q")
        self.rounded = 0
        """The stamp of all of them, once they are old; then `stamps` is empty."""

    def round_up(self, stamps: dict[int, int], newest: int) -> None:
        """Never down: a replica that shows the larger tick shows the smaller one too."""
        rounded = max(self.stamps)
        if (rounded - min(self.stamps)) * EXACT_CHUNKS > newest - rounded:
            return
        for uid, stamp in zip(self.uids, self.stamps, strict=True):
            if stamps.get(uid) == stamp:  # else he has a newer one, or none any more
                stamps[uid] = rounded
        self.rounded, self.stamps = rounded, array("Q")


class _Order:
    """Users in the order in which they were stamped: 8 or 16 bytes a place, where an ordered dict takes 64 more than a plain one.

    In chunks: one long array would be copied as it grows, and leave holes of many megabytes behind.
    """

    def __init__(self, stamps: dict[int, int]) -> None:
        """`stamps`: whose order it is, and where it rounds."""
        self._stamps = stamps
        self._last = _Chunk()
        self._chunks = deque([self._last])
        self._start = 0
        self._places = 0

    def __len__(self) -> int:
        return self._places

    def append(self, uid: int, stamp: int) -> None:
        last = self._last
        if len(last.uids) == PLACES_A_CHUNK:
            last = self._last = _Chunk()
            self._chunks.append(last)
            if len(self._chunks) > EXACT_CHUNKS + 1:
                self._chunks[-EXACT_CHUNKS - 2].round_up(self._stamps, stamp)
        last.uids.append(uid)
        last.stamps.append(stamp)
        self._places += 1

    def first(self) -> tuple[int, int]:
        chunk, place = self._chunks[0], self._start
        return chunk.uids[place], chunk.rounded or chunk.stamps[place]

    def drop_first(self) -> None:
        self._places -= 1
        self._start += 1
        if self._start == PLACES_A_CHUNK:
            self._chunks.popleft()
            self._start = 0


class UserInfo:
    """uid -> stamp and in-flight marks of one DBSvr, in the ticks of one generation."""

    def __init__(self, max_stamps: int) -> None:
        self._max_stamps = max_stamps
        self._stamps: dict[int, int] = {}
        self._order = _Order(self._stamps)
        self._in_flight: dict[int, int] = {}
        # uid -> (number, moment) of his newest accepted write, oldest first: decides whether an answer may be stored.
        self._accepted: OrderedDict[int, tuple[int, float]] = OrderedDict()
        self._accept_number = 0
        self.floor = 0
        self.floor_rises = {"start": 0, "generation": 0, "takeover": 0, "dropped": 0, "lru": 0}

    def __len__(self) -> int:
        return len(self._stamps)

    @property
    def users_in_flight(self) -> int:
        return len(self._in_flight)

    @property
    def accept_number(self) -> int:
        """Counts accepted writes; a read notes it at its arrival."""
        return self._accept_number

    def stamp(self, uid: int) -> int:
        """The tick that a server must have reached before it may answer a read of this user."""
        recorded = self._stamps.get(uid, 0)
        return recorded if recorded > self.floor else self.floor

    def largest_stamp(self, uids: Iterable[int]) -> int:
        """Of these users'."""
        stamps = self._stamps
        return max([self.floor, *[stamps.get(uid, 0) for uid in uids]]) if stamps else self.floor

    def recorded_stamp(self, uid: int) -> int | None:
        return self._stamps.get(uid)

    def is_in_flight(self, uid: int) -> bool:
        return uid in self._in_flight

    def any_in_flight(self, uids: Iterable[int]) -> bool:
        return bool(self._in_flight) and not self._in_flight.keys().isdisjoint(uids)

    def accept_write(self, uid: int, now: float) -> None:
        """A write was accepted: until `decide_write`, the user's reads belong to the master (INV 2)."""
        self._in_flight[uid] = self._in_flight.get(uid, 0) + 1
        self._accept_number += 1
        self._accepted[uid] = (self._accept_number, now)
        self._accepted.move_to_end(uid)

    def decide_write(self, uid: int, stamp: int | None) -> None:
        """A write's outcome is known: set the stamp, then take the mark away. Call it before the client is answered (INV 1).

        `stamp` is None only for a write that certainly was not begun.
        """
        if stamp is not None:
            self.raise_stamp(uid, stamp)
        left = self._in_flight.get(uid, 0) - 1
        if left > 0:
            self._in_flight[uid] = left
        else:
            self._in_flight.pop(uid, None)

    def raise_stamp(self, uid: int, stamp: int) -> None:
        if self._stamps.get(uid, 0) >= stamp:
            return
        self._stamps[uid] = stamp
        self._order.append(uid, stamp)
        if len(self._order) > 2 * len(self._stamps) + MOST_SPENT:
            self._order = _Order(self._stamps)
            for each in sorted(self._stamps.items(), key=lambda item: item[1]):
                self._order.append(*each)
        while len(self._stamps) > self._max_stamps:
            self._drop_oldest("lru")

    def begin_generation(self, tick: int) -> None:
        """A new timeline: old stamps are numbers of another one. Everybody's last write was at its fresh tick."""
        self._stamps.clear()
        self._order = _Order(self._stamps)
        self.floor = tick
        self.floor_rises["generation"] += 1

    def raise_floor(self, tick: int, cause: str) -> None:
        """Knowledge may have been lost: nobody's read may be answered below `tick` (INV 3, INV 4)."""
        if tick > self.floor:
            self.floor = tick
            self.floor_rises[cause] += 1

    def forget_passed(self, update_ticks: Iterable[int | None]) -> None:
        """Drop the stamps that every configured replica has passed. None is a replica of which nothing is known."""
        ticks = list(update_ticks)
        if not ticks or any(tick is None for tick in ticks):
            return
        passed = min(tick for tick in ticks if tick is not None)
        while self._stamps and self._oldest()[1] <= passed:
            self._drop_oldest("dropped")

    def _drop_oldest(self, cause: str) -> None:
        uid, stamp = self._oldest()
        # The floor first: without the stamp it is all that keeps the user's reads from an older replica (INV 4).
        self.raise_floor(stamp, cause)
        del self._stamps[uid]

    def _oldest(self) -> tuple[int, int]:
        """Who has the oldest stamp, and which; there is one."""
        while self._stamps.get((first := self._order.first())[0]) != first[1]:
            self._order.drop_first()  # he has a newer one, or none any more
        return first

    def written_since(self, uids: Iterable[int], accept_number: int) -> Set[int]:
        """Those of whom a write is in flight, or was accepted after `accept_number`: their answers must not be stored (INV 8)."""
        if accept_number == self._accept_number and not self._in_flight:
            return NOBODY
        return {uid for uid in uids if uid in self._in_flight or ((accepted := self._accepted.get(uid)) and accepted[0] > accept_number)}

    def forget_accepted(self, before: float) -> None:
        """Forget accepted writes older than `before`; no read that old is still unanswered."""
        while self._accepted:
            uid = next(iter(self._accepted))
            if self._accepted[uid][1] >= before:
                break
            del self._accepted[uid]
