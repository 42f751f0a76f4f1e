"""How many purge rows were committed, and who waits for more: the cache sync center, to look at the table at once.

The table is the truth, and is looked at anyway; this only saves the time until the next look.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workers.requests import Later

if TYPE_CHECKING:
    from workers.clients import Client


class Purges:
    def __init__(self) -> None:
        self.committed = 0
        self._waiting: list[tuple[Later, float]] = []

    def wait(self, client: Client, seen: int, until: float) -> None:
        """Answer with the number of rows committed since the front began: at once if it is not `seen`, else when it changes, or by then."""
        later = Later(client)
        client.pending.append(later)
        self._waiting.append((later, until))
        if seen != self.committed:
            self._answer([later])

    def note(self, count: int) -> None:
        if count:
            self.committed += count
            self._answer([later for later, _ in self._waiting])

    def look_around(self, now: float) -> None:
        self._answer([later for later, until in self._waiting if until <= now])

    def _answer(self, laters: list[Later]) -> None:
        if laters:
            gone = set(map(id, laters))
            self._waiting = [each for each in self._waiting if id(each[0]) not in gone]
        for later in laters:
            later.reply = b":%d\r\n" % self.committed
            later.client.flush()
