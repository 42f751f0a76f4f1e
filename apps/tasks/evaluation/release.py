"""Who has a task at all: gray release by lists and by a share of the users.

Pure. A user's bucket (0 … 9,999 basis points) is MurmurHash3 (x86, 32 bit, seed 0) of `salt:uid`, modulo 10,000. It never changes, and
a share takes the buckets below it: so a larger share keeps everybody who had the task, and tasks with one salt go to the same users.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass

import mmh3

from apps.tasks.config.documents import WHOLE


def bucket_of(salt: str, uid: int) -> int:
    return mmh3.hash(f"{salt}:{uid}", signed=False) % WHOLE


class Members:
    """The uids of one list: eight bytes each, found by halving."""

    def __init__(self, uids: Iterable[int]) -> None:
        self._uids = array("Q", sorted(uids))

    def __contains__(self, uid: int) -> bool:
        place = bisect_left(self._uids, uid)
        return place < len(self._uids) and self._uids[place] == uid

    def __len__(self) -> int:
        return len(self._uids)


@dataclass(frozen=True, slots=True)
class Share:
    """A release as it is asked: the lists by name, then the share. Who is on a list of `deny` has not got the task, whatever else holds."""

    percentage_bp: int
    salt: str
    allow: tuple[str, ...]
    deny: tuple[str, ...]
