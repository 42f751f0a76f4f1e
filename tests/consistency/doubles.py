"""Fronts that break the protocol on purpose: `python -m tests.consistency.doubles NAME`.

The checker must find them out; they exist nowhere but in tests.
"""

from __future__ import annotations

import asyncio
import sys

from tasksys_site.configuration import load
from workers import dispatch
from workers.front import run_front
from workers.process import start_log
from workers.user_info import UserInfo


class WithoutStamps(UserInfo):
    """Every user seems to have written before the DBSvr was born, and nobody seems to be writing."""

    def stamp(self, uid: int) -> int:
        return 0

    def is_in_flight(self, uid: int) -> bool:
        return False


class LateStamps(UserInfo):
    """A write is acknowledged before its stamp is set (INV 1)."""

    def decide_write(self, uid: int, stamp: int | None) -> None:
        super().decide_write(uid, None)
        if stamp is not None:
            asyncio.get_running_loop().call_later(0.1, self.raise_stamp, uid, stamp)


class WithoutFloor(UserInfo):
    """A dropped stamp leaves nothing behind (INV 4)."""

    def raise_floor(self, tick: int, cause: str) -> None:
        pass

    def forget_passed(self, update_ticks: object) -> None:
        while self._stamps:
            self._drop_oldest("dropped")


DOUBLES = {double.__name__: double for double in (WithoutStamps, LateStamps, WithoutFloor)}

if __name__ == "__main__":
    dispatch.UserInfo = DOUBLES[sys.argv[1]]  # type: ignore[misc]
    sys.exit(run_front(load(), "a", start_log(f"front-{sys.argv[1]}")))
