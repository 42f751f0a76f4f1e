"""How long a grant that failed waits before it is sent again, and when it has failed for too long. Pure.

Waits double from one second to five minutes, each shortened by chance to between half and all of it, so that what failed together does not
come back together. How long a grant has failed is the sum of its waits without chance: time in which delivery was paused, or nothing was
sent because the points system was away, does not count.
"""

from __future__ import annotations

FIRST_MS = 1_000
LONGEST_MS = 300_000
_DOUBLINGS = 9
"""2^9 seconds are longer than the longest wait."""


def full_wait_ms(attempts: int) -> int:
    """After so many attempts, without chance."""
    return min(FIRST_MS << min(max(attempts - 1, 0), _DOUBLINGS), LONGEST_MS)


def wait_ms(attempts: int, drawn: float) -> int:
    """With chance: `drawn` is between 0 and 1."""
    return round(full_wait_ms(attempts) * (0.5 + drawn / 2))


def failed_for_ms(attempts: int) -> int:
    """All waits before and after these attempts."""
    short = min(attempts, _DOUBLINGS)
    return sum(full_wait_ms(number) for number in range(1, short + 1)) + max(0, attempts - short) * LONGEST_MS
