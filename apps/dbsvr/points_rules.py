"""What the console says of the delivery of points: grants that were given up, or wait for long, and relays that stand still. Pure.

Without a points system, or without a look (the database is away), nothing is claimed. When no relay has said anything for a while, only
that is said: its figures are old.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from apps.dbsvr.findings import ATTENTION, MAINTENANCE, Fact, Finding

LOOKED_WITHIN_S = 30.0
SILENT_AFTER_S = 60.0
OLD_AFTER_S = 600.0

DEAD, WAITING, RELAY = "points.dead", "points.waiting", "points.relay"
CODES = (DEAD, WAITING, RELAY)


class PointsNow(msgspec.Struct, frozen=True):
    """Moments are epoch seconds. `counted_at`: when a relay counted; None: none ever has."""

    looked_at: float
    counted_at: float | None = None
    dead: int = 0
    waiting: int = 0
    indeterminate: int = 0
    oldest_at: float | None = None
    paused: bool = False


def look(points: PointsNow | None, before: Mapping[tuple[str, str], Finding], now: float) -> list[Finding]:
    if points is None or points.counted_at is None or now - points.looked_at >= LOOKED_WITHIN_S:
        return []
    found = []
    if now - points.counted_at >= SILENT_AFTER_S:
        found.append(Finding(RELAY, ATTENTION, "", points.counted_at, "", {"since_at": points.counted_at}))
    else:
        if points.dead:
            found.append(Finding(DEAD, ATTENTION, "", now, "one" if points.dead == 1 else "", {"dead": points.dead}))
        if points.oldest_at is not None and now - points.oldest_at >= OLD_AFTER_S:
            facts: dict[str, Fact] = {
                "waiting": points.waiting,
                "indeterminate": points.indeterminate,
                "wait_ms": round(now - points.oldest_at) * 1000,
            }
            level, case = (MAINTENANCE, "paused") if points.paused else (ATTENTION, "failing")
            found.append(Finding(WAITING, level, "", points.oldest_at + OLD_AFTER_S, case, facts))
    return [msgspec.structs.replace(it, since=before[it.key].since) if it.key in before else it for it in found]
