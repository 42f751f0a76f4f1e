"""Comparing one day's grants here with the points system's, without reading either whole. Pure: both sides are asked by functions.

Sums over an interval are compared first. Where they differ it is cut into parts, down to an interval that holds few enough grants to look
at each: so two tables with one difference among a million grants are compared by a few dozen sums and one short list.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

PARTS = 24
FEW = 500
SHORTEST_MS = 1_000
MOST_DIFFERENCES = 200
MOST_SUMS = 500

MISSING, UNKNOWN_HERE, OTHER_POINTS, GIVEN_UP_HERE = "missing", "unknown_here", "other_points", "given_up_here"
CONFIRMED, ON_THE_WAY, GIVEN_UP = "confirmed", "on_the_way", "given_up"


class Sums(NamedTuple):
    grants: int
    points: int


class OurGrant(NamedTuple):
    """`standing`: confirmed must be there, on_the_way may be, given_up (dead, rejected, superseded) should not be."""

    uid: int
    points: int
    standing: str


class OurSums(NamedTuple):
    """What must be there, and what may be. What was given up here is in neither."""

    confirmed: Sums
    on_the_way: Sums


class Difference(NamedTuple):
    kind: str
    grant_id: str
    uid: int
    ours: int | None
    theirs: int | None


class Found(NamedTuple):
    differences: tuple[Difference, ...]
    more: bool
    """There are, or may be, more."""


Between = tuple[int, int]


def may_agree(ours: OurSums, theirs: Sums) -> bool:
    """Whether the sums can belong to equal grants: exactly, when nothing is on the way."""
    least, most = ours.confirmed.grants, ours.confirmed.grants + ours.on_the_way.grants
    if not ours.on_the_way.grants:
        return theirs == ours.confirmed
    # Points may be negative, so with grants on the way only their number bounds anything, unless theirs are just the confirmed ones.
    return theirs == ours.confirmed if theirs.grants == least else least < theirs.grants <= most


def differences_of(ours: Mapping[str, OurGrant], theirs: Mapping[str, tuple[int, int]]) -> list[Difference]:
    """Grant by grant. One that is on its way here may be there already."""
    found = []
    for grant_id in sorted({*ours, *theirs}):
        mine, other = ours.get(grant_id), theirs.get(grant_id)
        if mine is None and other is not None:
            found.append(Difference(UNKNOWN_HERE, grant_id, other[0], None, other[1]))
        elif mine is not None and other is None:
            if mine.standing == CONFIRMED:
                found.append(Difference(MISSING, grant_id, mine.uid, mine.points, None))
        elif mine is not None and other is not None and (mine.uid, mine.points) != other:
            found.append(Difference(OTHER_POINTS, grant_id, mine.uid, mine.points, other[1]))
        elif mine is not None and other is not None and mine.standing == GIVEN_UP:
            found.append(Difference(GIVEN_UP_HERE, grant_id, mine.uid, mine.points, other[1]))
    return found


def narrow(
    day: Between,
    our_sums: Callable[[Between], OurSums],
    their_sums: Callable[[Between], Sums],
    our_grants: Callable[[Between], Mapping[str, OurGrant]],
    their_grants: Callable[[Between], Mapping[str, tuple[int, int]]],
    is_time_up: Callable[[], bool] = lambda: False,
) -> Found:
    """The grants that differ between the two ends of `day` (ms), as far as the bounds above and the time allow."""
    found: list[Difference] = []
    waiting = [day]
    asked = 0
    while waiting:
        if len(found) >= MOST_DIFFERENCES or asked >= MOST_SUMS or is_time_up():
            return Found(tuple(found[:MOST_DIFFERENCES]), True)
        between = waiting.pop(0)
        asked += 1
        ours, theirs = our_sums(between), their_sums(between)
        here = ours.confirmed.grants + ours.on_the_way.grants
        # With grants on the way sums prove little; where they are many, the day is compared again when they have settled.
        if may_agree(ours, theirs) and (not ours.on_the_way.grants or here > FEW):
            continue
        begins, ends = between
        if max(here, theirs.grants) <= FEW or ends - begins <= SHORTEST_MS:
            found += differences_of(our_grants(between), their_grants(between))
            continue
        step = max(SHORTEST_MS, -(-(ends - begins) // PARTS))
        waiting += [(first, min(first + step, ends)) for first in range(begins, ends, step)]
    return Found(tuple(found[:MOST_DIFFERENCES]), len(found) > MOST_DIFFERENCES)
