"""What the console says of the replica diff: rows that differ, and tables that were not compared. Pure.

Without a look at what was found (the database is away) nothing is claimed. The finding's subject is the replica, as `/r1`; a gap's is the
table on it.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from apps.dbsvr.findings import ATTENTION, NOTICE, Fact, Finding

LOOKED_WITHIN_S = 30.0
FOUND, GAP = "diff.found", "diff.gap"
CODES = (FOUND, GAP)


class Differing(msgspec.Struct, frozen=True):
    """One replica with rows that differ now. `named`: some of them, as they are read."""

    replica: str
    rows: int
    first_seen_at: float
    named: str
    is_held: bool = False


class Gap(msgspec.Struct, frozen=True):
    """The last run of a table has not compared all of it. `share`: how much was not; None when that is not known."""

    replica: str
    table: str
    run: int
    at: float
    why: str
    share: float | None = None


class DiffNow(msgspec.Struct, frozen=True):
    looked_at: float
    differing: tuple[Differing, ...] = ()
    gaps: tuple[Gap, ...] = ()


def look(diff: DiffNow | None, before: Mapping[tuple[str, str], Finding], now: float) -> list[Finding]:
    if diff is None or now - diff.looked_at >= LOOKED_WITHIN_S:
        return []
    found = [_differs(it) for it in diff.differing] + [_gap(it) for it in diff.gaps]
    return [msgspec.structs.replace(it, since=before[it.key].since) if it.key in before else it for it in found]


def _differs(it: Differing) -> Finding:
    case = ("one_" if it.rows == 1 else "") + ("held" if it.is_held else "used")
    facts: dict[str, Fact] = {"replica": it.replica, "rows": it.rows, "named": it.named, "seen_at": it.first_seen_at}
    return Finding(FOUND, ATTENTION, f"/{it.replica}", it.first_seen_at, case, facts)


def _gap(it: Gap) -> Finding:
    facts: dict[str, Fact] = {"replica": it.replica, "table": it.table, "run": it.run, "reason": it.why}
    if it.share is not None:
        facts["gap_share"] = it.share
    return Finding(GAP, NOTICE, f"/{it.replica}/{it.table}", it.at, "all" if it.share is None else "part", facts)
