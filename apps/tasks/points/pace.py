"""Turns at the points system, of all relays together: a row holds the moment from which the next turn is free. Pure.

Turns are 1 / rate apart. A relay takes those of the next moments only, and turns that nobody took are gone: so no second has more than
`rate` of them, and no relay hoards what another could use.
"""

from __future__ import annotations

from typing import NamedTuple

AHEAD_US = 100_000


class Turns(NamedTuple):
    """`at_us`: when each may be used. `free_from_us`: what the row says afterwards."""

    at_us: tuple[int, ...]
    free_from_us: int


def take_turns(free_from_us: int, now_us: int, wanted: int, rate_per_s: int) -> Turns:
    """At most `wanted` turns between now and AHEAD_US later."""
    apart_us = max(1, 1_000_000 // max(1, rate_per_s))
    # A clock that was set back must not stop delivery until it comes to where it was.
    first = free_from_us if now_us <= free_from_us <= now_us + 60_000_000 else now_us
    count = min(max(0, wanted), max(0, -(-(now_us + AHEAD_US - first) // apart_us)))
    return Turns(tuple(first + number * apart_us for number in range(count)), first + count * apart_us)
