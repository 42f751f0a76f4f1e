"""How long users had no answer after something happened, taken from a history of clients that went on all the time."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable

from tests.consistency.history import CLEAR, READ, Operation


def first_answer_after(history: Iterable[Operation], moment: float, kind: str, is_meant: Callable[[int], bool]) -> float:
    """Seconds from `moment` to the first answer to an operation of this kind that began after it, for users that are meant."""
    ended = [each.ended for each in history if each.kind == kind and each.state is not None and each.began > moment and is_meant(each.uid)]
    return min(ended, default=float("inf")) - moment


def longest_gap(history: Iterable[Operation], since: float, until: float, is_meant: Callable[[int], bool], kind: str = READ) -> float:
    """The longest time between two answers of this kind, for users that are meant, with `since` and `until` as answers."""
    ended = sorted(
        each.ended
        for each in history
        if each.kind == kind and each.state is not None and is_meant(each.uid) and since <= each.ended <= until
    )
    moments = [since, *ended, until]
    return max(later - earlier for earlier, later in itertools.pairwise(moments))


def without_answer(history: Iterable[Operation]) -> list[Operation]:
    """Operations that had none. Not deletions: they wait for all else, and their clients may give up."""
    return [each for each in history if each.state is None and each.kind != CLEAR]
