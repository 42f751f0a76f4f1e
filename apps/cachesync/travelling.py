"""Writes of many threads that travel to the DBSvr together, and their users' cache nodes: one word to each for all that have come back.

Leans on `convoys` for the way, on `purging` for what a write owes the nodes (INV 9). What takes time for one user's sake is left to the
thread that waits for him: his other nodes, a node of his that does not confirm, and every second try.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from apps.cachesync.followed_writes import FollowedWrites
from apps.cachesync.nodes import CacheNode
from apps.cachesync.purging import Purging
from apps.dbsvr.convoys import Traveller
from apps.dbsvr.db_interface import DbInterface, decoded_write_answer
from apps.dbsvr.resp import pack
from workers.protocol import Change, WriteAnswer, encode


class TravellingWrite(Traveller):
    """`answer`: a WriteAnswer or a DBSvrError; None: it was not sent."""

    __slots__ = ("_own", "event_id", "is_complete", "uid")

    def __init__(self, uid: int, event_id: str) -> None:
        super().__init__()
        self.uid = uid
        self.event_id = event_id
        self.is_complete = False
        """The nodes are right."""
        self._own: CacheNode | None = None

    def decide(self, own: CacheNode, changes: Sequence[Change]) -> None:
        """What is to be sent. `own`: where the user's copy lies."""
        self._own = own
        self.packed = pack(("TASK.FINISH", self.uid, own.name, self.event_id, encode(changes)))

    @property
    def own(self) -> CacheNode:
        assert self._own is not None, "it was not sent"
        return self._own


class Travelling:
    def __init__(
        self, dbsvr: DbInterface, purging: Purging, followed: FollowedWrites, prepare: Callable[[Sequence[TravellingWrite]], None]
    ) -> None:
        """`prepare` decides those of a convoy that it can decide at once."""
        self._dbsvr = dbsvr
        self._purging = purging
        self._followed = followed
        self.prepare = prepare
        self._convoys = dbsvr.convoys(self)

    def set_out(self, write: TravellingWrite, until: float) -> Callable[[], None] | None:
        """None: `write` has its answer, if it was sent. Else nobody is under way: write by yourself, and then call what you were given.

        Raises TimedOut: it was applied, and the nodes could not be set right.
        """
        end = self._dbsvr.travel(write.uid, write, self._convoys, until)
        if end is None and isinstance(write.answer, WriteAnswer):
            if not write.is_complete:
                self._purging.complete(write.own, write.answer, write_through=True)
            self._followed.note(write.own.name, write.event_id, write.answer)
        return end

    def close(self) -> None:
        for convoys in self._convoys.values():
            convoys.close()

    # -- a convoy's work

    def take(self, answered: Sequence[TravellingWrite]) -> None:
        for write in answered:
            write.answer = decoded_write_answer(write.answer)
        written = [write for write in answered if isinstance(write.answer, WriteAnswer)]
        done = self._purging.complete_at_once([(write.own, write.answer) for write in written])
        for write, is_complete in zip(written, done, strict=True):
            write.is_complete = is_complete

    def take_alone(self, answered: TravellingWrite) -> None:
        if isinstance(answered.answer, WriteAnswer) and not answered.is_complete:
            self._purging.complete_later(answered.own, answered.answer)
