"""Is a key that looked different still different at the same position? One timeline a key.

Pure. A position is what `db_info` shows: the (generation, tick) of every DBSvr, read in one snapshot with the row. The master's row is
looked at now and then; as long as it stays the same between two looks, a replica whose position lies strictly between theirs must show that
very row. If it does, the key is equal; if it does not, that counts against it, and only a key against which STRIKES such looks count
differs. Looks of the replica that no two looks of the master enclose, or between which the master's row changed, say nothing, except
that a row is equal when it is what the master had just before or just after.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

Position: TypeAlias = "Mapping[str, tuple[int, int]]"
STRIKES = 3
LOOKS_KEPT = 400
"""Of the master's, for one key: those of the lag, at a few a second."""


def has_passed(position: Position, other: Position) -> bool:
    """Something was committed up to `position` that `other` does not show. Both are places in one and the same order of commits."""
    return any(at > other.get(instance, (0, 0)) for instance, at in position.items())


class Look(NamedTuple):
    position: Position
    row: str | None
    """The row's SHA-1; None: there is no such row."""


class Timeline:
    """What was seen of one key. `verdict`: True equal, False different, None not decided yet."""

    __slots__ = ("_last_struck", "_master", "strikes", "verdict")

    def __init__(self) -> None:
        self._master: list[tuple[Position, Position, str | None]] = []
        """Stretches in which the master's row did not change: first and last position at which it was seen so."""
        self._last_struck: Position | None = None
        self.strikes = 0
        self.verdict: bool | None = None

    def note_master(self, look: Look) -> None:
        if self._master and self._master[-1][2] == look.row:
            self._master[-1] = (self._master[-1][0], look.position, look.row)
        else:
            self._master.append((look.position, look.position, look.row))
            del self._master[:-LOOKS_KEPT]

    def note_replica(self, look: Look) -> None:
        """A look of the replica, when the master has been looked at since."""
        for place, (first, last, row) in enumerate(self._master):
            if has_passed(look.position, last):
                continue  # it is beyond this stretch
            if has_passed(look.position, first) and has_passed(last, look.position):
                self._judge(look, row)
            elif place and look.row in (row, self._master[place - 1][2]):
                self.verdict = True
            return

    def _judge(self, look: Look, row: str | None) -> None:
        if look.row == row:
            self.verdict = True
        elif self._last_struck is None or has_passed(look.position, self._last_struck):
            self.strikes += 1
            self._last_struck = look.position
            if self.strikes >= STRIKES:
                self.verdict = False
