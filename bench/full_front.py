"""A front that knows stamps and trails of a million users when it begins to serve: `python -m bench.full_front`. The real one otherwise.

For its memory alone: the stamps are of a far future, so that no replica passes them and none is dropped. Every tick is a number of its
own, which is the most that it can cost.
"""

from __future__ import annotations

import sys
from typing import Any

from tasksys_site.configuration import load
from workers import front
from workers.dispatch import Dispatch
from workers.process import start_log

MILLION = 1_000_000
FIRST_UID = 10**12
FIRST_STAMP = 10**9


def full_dispatch(*arguments: Any) -> Dispatch:
    dispatch = Dispatch(*arguments)
    trails = dispatch.trails.of_segment("all")
    for number in range(MILLION):
        uid = int(b"%d" % (FIRST_UID + number))  # as the wire brings it: a sum takes a place more, hence 16 bytes
        trails.begin_write(uid, "node-1", 0.0)
        dispatch.users.raise_stamp(uid, FIRST_STAMP + number)
    return dispatch


if __name__ == "__main__":
    front.Dispatch = full_dispatch  # type: ignore[assignment,misc]
    sys.exit(front.run_front(load(), "a", start_log("front-full")))
