"""What the console says of the sweeps of old rows: one that cannot go on, and one that has come to no end for days. Pure.

Without a look (the database is away), and where sweeps are switched off, nothing is claimed.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from apps.dbsvr.findings import ATTENTION, NOTICE, Fact, Finding

LOOKED_WITHIN_S = 30.0
LATE_AFTER_S = 3 * 86_400.0

FAILS, LATE = "sweep.fails", "sweep.late"
CODES = (FAILS, LATE)


class SweepNow(msgspec.Struct, frozen=True):
    """One table's. Moments are epoch seconds. `began_at`: of the round that has not ended."""

    table: str
    error: str = ""
    failing_since: float | None = None
    began_at: float | None = None
    waits: str = ""


class SweepsNow(msgspec.Struct, frozen=True):
    looked_at: float
    tables: tuple[SweepNow, ...] = ()


def look(sweeps: SweepsNow | None, before: Mapping[tuple[str, str], Finding], now: float) -> list[Finding]:
    if sweeps is None or now - sweeps.looked_at >= LOOKED_WITHIN_S:
        return []
    found = []
    for it in sweeps.tables:
        facts: dict[str, Fact] = {"table": it.table}
        if it.error:
            since = it.failing_since or sweeps.looked_at
            found.append(Finding(FAILS, ATTENTION, f"//{it.table}", since, "", {**facts, "since_at": since, "reason": it.error}))
        elif it.began_at is not None and now - it.began_at >= LATE_AFTER_S:
            case = "waits" if it.waits else ""
            facts = {**facts, "began_at": it.began_at, **({"reason": it.waits} if it.waits else {})}
            found.append(Finding(LATE, NOTICE, f"//{it.table}", it.began_at + LATE_AFTER_S, case, facts))
    return [msgspec.structs.replace(it, since=before[it.key].since) if it.key in before else it for it in found]
