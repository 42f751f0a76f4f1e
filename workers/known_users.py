"""Users as this life's own writes have left them: who writes again soon need not be read again.

Pure. It may be relied on for as long as nobody else can have written them: the segments that we own stand under the same epochs as
when the user was kept, and the bump that follows finds our own worker epoch (see docs/protocol.md). Bounded by records, not by users,
since a user may have thousands.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from workers.messages import SegmentRow
from workers.users import User

BYTES_OF_A_RECORD = 600
"""About; who has members of distinct tasks counts for more."""
MOST_RECORDS = 100_000
"""Some 60 MB."""


class KnownUsers:
    def __init__(self, most_records: int = MOST_RECORDS) -> None:
        self._most = most_records
        self._users: dict[int, User] = {}  # who was written longest ago comes first
        self._records = 0
        self._owned: Sequence[SegmentRow] = ()

    def __len__(self) -> int:
        return len(self._users)

    @property
    def owned(self) -> Sequence[SegmentRow]:
        """What was held when the users were kept."""
        return self._owned

    def are_owned_as_before(self, owned: Sequence[SegmentRow]) -> bool:
        """Whether the segments that a transaction holds are those of before; if not, everybody is forgotten."""
        if owned == self._owned:
            return True
        self._owned = owned
        self._users.clear()
        self._records = 0
        return False

    def take(self, uids: Iterable[int]) -> dict[int, User]:
        """Those of them that are known, to be written: they are given back by `keep`, or forgotten."""
        found = {}
        for uid in uids:
            user = self._users.pop(uid, None)
            if user is not None:
                self._records -= _weight(user)
                found[uid] = user
        return found

    def keep(self, users: Iterable[User]) -> None:
        """What was taken or read, as it will be when the transaction is committed."""
        for user in users:
            self._users[user.uid] = user
            self._records += _weight(user)
        while self._records > self._most:
            oldest = self._users.pop(next(iter(self._users)))
            self._records -= _weight(oldest)

    def forget(self, uids: Iterable[int]) -> None:
        self.take(uids)


def _weight(user: User) -> int:
    return 1 + len(user.tasks) + user.member_bytes // BYTES_OF_A_RECORD
