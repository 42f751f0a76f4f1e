"""A front that knows stamps and trails of a million users when it begins to serve: `python -m bench.full_front`. The real one otherwise.

For its memory alone: the stamps are of a far future, so that no replica passes them and none is dropped. Every tick is a number of its
own, which is the most that it can cost; stamp and trail have their user's number in common, as a write leaves them.
"""

from __future__ import annotations

import sys
from typing import Any

from tasksys_site.configuration import load
from workers import dispatch
from workers.front import run_front
from workers.process import start_log
from workers.trail_book import TrailBook
from workers.user_info import UserInfo

MILLION = 1_000_000
FIRST_UID = 10**12
FIRST_STAMP = 10**9
uids: list[int] = []
"""The users' numbers, on their way from the stamps to the trails."""


class FullUserInfo(UserInfo):
    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        for number in range(MILLION):
            uid = int(b"%d" % (FIRST_UID + number))  # as the wire brings it: a sum takes a place more, hence 16 bytes
            self.raise_stamp(uid, FIRST_STAMP + number)
        uids.extend(self._stamps)


class FullTrailBook(TrailBook):
    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        trails = self.of_segment("all")
        for uid in uids:
            trails.begin_write(uid, "node-1", 0.0)
        uids.clear()


if __name__ == "__main__":
    dispatch.UserInfo = FullUserInfo  # type: ignore[attr-defined,assignment]
    dispatch.TrailBook = FullTrailBook  # type: ignore[attr-defined,assignment]
    sys.exit(run_front(load(), "a", start_log("front-full")))
