"""Which DBSvr owns a user, as far as a client can know it.

Every DBSvr takes every user, so a wrong belief costs time, never a wrong answer: writes are forwarded, reads come from the master.
A segment is believed to be at its home until an answer says otherwise: the error NOTOWNER names the owner, and a read says by its
reason whether the DBSvr that answered it owns the user.

Pure, and shared by threads without a lock: a belief is one value in a dictionary, and the newest answer is as good as any.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence

from tasksys_site.configuration import Segment

NOT_OWNER = "not_owner"


class Owners:
    def __init__(self, segments: Sequence[Segment], instances: Iterable[str]) -> None:
        """`segments` cover all users, in the order of their uids."""
        self._segments = segments
        self._firsts = [segment.first for segment in segments]
        self._instances = tuple(instances)
        self._orders = {name: [*self._instances[place:], *self._instances[:place]] for place, name in enumerate(self._instances)}
        self._believed = {segment.name: segment.home for segment in segments}

    def segment_of(self, uid: int) -> Segment:
        """By this client's configuration. What is no uid is sent somewhere all the same: the DBSvr has the words for it."""
        return self._segments[max(0, bisect_right(self._firsts, uid) - 1)]

    def owner_of(self, uid: int) -> str:
        return self._believed[self.segment_of(uid).name]

    def in_turn(self, uid: int) -> Sequence[str]:
        """The DBSvrs in the order in which to ask them for this user: the owner first."""
        return self._orders[self.owner_of(uid)]

    def note_owner(self, uid: int, owner: str) -> None:
        """A DBSvr has named the owner. One that this client does not know says nothing to it."""
        if owner in self._instances:
            self._believed[self.segment_of(uid).name] = owner

    def note_read(self, uid: int, instance: str, reason: str | None) -> None:
        """`instance` has answered a read of this user, for this reason."""
        segment = self.segment_of(uid)
        if reason != NOT_OWNER:
            self._believed[segment.name] = instance
        elif self._believed[segment.name] == instance:
            # Not this one. Its home, or where that is the one that said so, the next in turn, which knows better or says so too.
            self._believed[segment.name] = self.in_turn(uid)[1 % len(self._instances)] if instance == segment.home else segment.home
