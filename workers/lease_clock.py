"""The clock of leases. A module of its own: the front reads it too, and is to load nothing that talks to a database."""

from __future__ import annotations

import time


def boottime() -> float:
    """CLOCK_BOOTTIME in seconds: leases run out by it, also while the host sleeps."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)
