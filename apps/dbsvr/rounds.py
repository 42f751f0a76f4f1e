"""Many users' requests at once: grouped by whom to ask, and repeated, each for itself, where that can help.

Whom to ask, and whether to ask another at once, DbInterface says; this keeps the account. A round ends when nobody is left to ask at once;
then a pause is due, as for a single request.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from workers.protocol import DBSvrError

FIRST_PAUSE_MS = 20
LONGEST_PAUSE_MS = 400
SHARE_OF_A_TRY = 1 / 3
"""Of the time left, while another DBSvr could be asked after this one: who does not answer must not use up the whole deadline."""

Answer = TypeVar("Answer")


class Turn(NamedTuple):
    """Whom to ask next. `is_last`: nobody else is left to ask at once, so he may take all the time there is."""

    instance: str
    is_last: bool

    def until(self, until: float, longest_s: float = math.inf) -> float:
        now = time.monotonic()
        return until if self.is_last else now + min((until - now) * SHARE_OF_A_TRY, longest_s)


class Rounds:
    """`turn`: whom to ask for a uid, after those that were asked in this round. `goes_elsewhere`: whether another may be asked at once
    after this error; it notes who was asked."""

    def __init__(
        self,
        turn: Callable[[int, set[str]], Turn],
        goes_elsewhere: Callable[[int, Turn, DBSvrError, set[str]], bool],
    ) -> None:
        self._turn = turn
        self._goes_elsewhere = goes_elsewhere

    def __call__(
        self,
        uids: Sequence[int],
        results: list[Answer | DBSvrError],
        places: Iterable[int],
        ask: Callable[[Turn, list[int], float], Sequence[Answer | DBSvrError]],
        at_once: int,
        until: float,
    ) -> None:
        """Put into `results`, at each of these places, the answer or the error that stands. `ask` is given at most `at_once` places."""
        left = list(places)
        asked: dict[int, set[str]] = {place: set() for place in left}
        attempt = 0
        while left:
            by_turn: dict[Turn, list[int]] = {}
            for place in left:
                by_turn.setdefault(self._turn(uids[place], asked[place]), []).append(place)
            again: dict[int, DBSvrError] = {}
            is_soon = True
            for turn, theirs in by_turn.items():
                for start in range(0, len(theirs), at_once):
                    batch = theirs[start : start + at_once]
                    if time.monotonic() >= until:
                        return
                    for place, result in zip(batch, ask(turn, batch, until), strict=True):
                        results[place] = result
                        if isinstance(result, DBSvrError) and result.retryable:
                            again[place] = result
                            is_soon &= self._goes_elsewhere(uids[place], turn, result, asked[place])
            if not again:
                return
            if not is_soon:
                if not pause(max(again.values(), key=lambda error: error.retry_after_ms), attempt, until):
                    return
                attempt += 1
            left = list(again)


def one_of_each(uids: Sequence[int]) -> Iterator[list[int]]:
    """The places of each user's first item, then of each one's second, …: so that those of one user keep their order."""
    by_uid: dict[int, list[int]] = {}
    for place, uid in enumerate(uids):
        by_uid.setdefault(uid, []).append(place)
    rank = 0
    while places := [theirs[rank] for theirs in by_uid.values() if rank < len(theirs)]:
        yield places
        rank += 1


def pause(error: DBSvrError, attempt: int, until: float) -> bool:
    """Wait before the next attempt; False, without waiting, when the deadline would pass meanwhile.

    The pause is random, so that clients that were refused together do not come back together. The DBSvr's own word for when
    to come back is a lower bound.
    """
    pause_ms = random.uniform(1, min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2**attempt)) + error.retry_after_ms
    if time.monotonic() + pause_ms / 1000 >= until:
        return False
    time.sleep(pause_ms / 1000)
    return True
