"""Trails: which cache nodes asked for a user since his last write, and may therefore hold a copy that a write makes old.

Pure. A trail is a bit mask of node numbers, so that millions of users fit; it is forgotten when any copy that came of it has
expired. Where a trail may have been lost (after a start, a takeover, under pressure), a user without a *whole* trail may have
copies anywhere, until every copy of that time has expired (INV 10).
"""

from __future__ import annotations

from collections.abc import Callable

WHOLE = 1
"""The bit that says: this trail began with a write, so it names every node with a copy."""
MOST_NODES = 1_000
ANY = "*"


class NodeNumbers:
    """Node names as bits, in the order in which they came."""

    def __init__(self) -> None:
        self.names: list[str] = []
        # Most trails are a bit, or a bit and WHOLE, and all those share one object: above 256, every other is an object of its own, of 32
        # bytes and more.
        self.bits: dict[str, int] = {}
        self.wholes: dict[int, int] = {0: WHOLE}

    def bit(self, name: str) -> int:
        """0 when there are too many of them: then the trail cannot be kept."""
        known = self.bits.get(name)
        if known is not None:
            return known
        if len(self.names) >= MOST_NODES:
            return 0
        self.names.append(name)
        bit = 1 << len(self.names)  # bit 0 is WHOLE
        self.bits[name], self.wholes[bit] = bit, bit | WHOLE
        return bit

    def named(self, mask: int) -> list[str]:
        return [name for place, name in enumerate(self.names, start=1) if mask >> place & 1]


class Trails:
    """The trails of one segment's users."""

    def __init__(self, numbers: NodeNumbers, life_s: float, most: int, now: float) -> None:
        """`life_s`: after so long, no copy is left that came of a read. `most`: users kept at the most."""
        self._numbers = numbers
        self._life_s = life_s
        self._most = most
        # Two generations, so that forgetting costs nothing: what is in `_old` came more than `life_s` before it goes.
        self._young: dict[int, int] = {}
        self._old: dict[int, int] = {}
        self._turned_at = now
        self._lost_until = now + life_s
        self.losses = 0
        self.changed: Callable[[int], None] | None = None
        """Told of each user whose trail has changed."""

    def __len__(self) -> int:
        return len(self._young) + len(self._old)

    def uids(self) -> list[int]:
        """Everybody with a trail, as of now."""
        return [*self._young, *(uid for uid in self._old if uid not in self._young)]

    def set(self, uid: int, mask: int, now: float) -> None:
        """A trail as its segment's owner has it."""
        self._old.pop(uid, None)
        self._young[uid] = mask
        if len(self._young) > self._most:
            self.lose(now)
            self._young.clear()

    def inherit(self, lost_ms: int, now: float) -> None:
        """Everything that the owner knew is here: what he had lost stays lost for as long as it would have been for him."""
        self._lost_until = now + lost_ms / 1000

    def lost_ms(self, now: float) -> int:
        return max(0, int((self._lost_until - now) * 1000) + 1)

    def mask(self, uid: int) -> int:
        return self._young.get(uid, 0) | self._old.get(uid, 0)

    def note(self, uid: int, node: str, now: float) -> None:
        """This node asks for the user. Call it before the database is read (INV 9)."""
        bit = self._numbers.bits.get(node) or self._numbers.bit(node)
        if not bit:
            self.lose(now)
            self._young.pop(uid, None)
            self._old.pop(uid, None)
            return
        young = self._young
        known = young.get(uid, 0)
        if not known & bit:
            young[uid] = known | bit if known else self._numbers.bits[node]
            if self.changed is not None:
                self.changed(uid)
            if len(young) > self._most:
                self.lose(now)
                young.clear()
                self._old.clear()

    def begin_write(self, uid: int, node: str, now: float) -> tuple[list[str], int]:
        """The nodes to purge for a write that this node asked for (ANY: every node), and the mask to give back if it is not applied.

        From here on the trail is that node and those that come; the write's own purge rows answer for the rest.
        """
        mask = self.mask(uid)
        own = self._numbers.bit(node)
        names = self._numbers.named(mask & ~own) if mask & WHOLE or now >= self._lost_until else [ANY]
        self._old.pop(uid, None)
        self._young[uid] = self._numbers.wholes[own]
        if self.changed is not None:
            self.changed(uid)
        return names, mask

    def give_back(self, uid: int, mask: int, now: float) -> None:
        """The write was not applied: its rows do not exist, and the trail is as it was, with those who came since."""
        since = self._young.get(uid, 0)
        was_whole = mask & WHOLE
        if self.changed is not None:
            self.changed(uid)
        self._young[uid] = (mask | since) & ~WHOLE | was_whole
        if not was_whole and not mask and not since & ~WHOLE:
            del self._young[uid]

    def lose(self, now: float) -> None:
        """Trails may be missing from here on: until every copy of now has expired, who has no whole trail may have one anywhere."""
        self._lost_until = now + self._life_s
        self.losses += 1

    def is_lost(self, now: float) -> bool:
        return now < self._lost_until

    def turn(self, now: float) -> None:
        """Forget what is so old that no copy is left of it."""
        if now - self._turned_at >= self._life_s:
            self._old, self._young = self._young, {}
            self._turned_at = now
