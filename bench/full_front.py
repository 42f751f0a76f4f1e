"""A front that knows a million users when it begins to serve: `python -m bench.full_front`. It is the real one otherwise.

For its memory alone: the stamps are of a far future, so that no replica passes them and none is dropped. Every tick is a number of its
own, which is the most that it can cost.
"""

from __future__ import annotations

import sys
from typing import Any

from tasksys_site.configuration import load
from workers import dispatch
from workers.front import run_front
from workers.process import start_log
from workers.user_info import UserInfo

MILLION = 1_000_000
FIRST_UID = 10**12
FIRST_STAMP = 10**9


class FullUserInfo(UserInfo):
    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        for number in range(MILLION):
            self.raise_stamp(FIRST_UID + number, FIRST_STAMP + number)


if __name__ == "__main__":
    dispatch.UserInfo = FullUserInfo  # type: ignore[attr-defined,assignment]
    sys.exit(run_front(load(), "a", start_log("front-full")))
