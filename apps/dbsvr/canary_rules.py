"""What the console says of the canary's rounds. Pure.

A violation is a fault for as long as somebody has to look after it: HOLD_S after the last one. Rounds that stop coming are no finding
of their own, since the page says when Celery stands still; the tile stops claiming anything then.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from apps.dbsvr.findings import FAULT, Fact, Finding

CODE = "canary.violation"
HOLD_S = 3600.0


class CanaryNow(msgspec.Struct, frozen=True):
    """The rounds of the last 24 h, and what the newest found."""

    rounds: int
    newest_at: float
    violations: int = 0
    """Rounds with a violation among them."""
    violation_at: float | None = None
    kind: str = ""
    served_by: str = ""
    errors: int = 0
    delay_ms: float | None = None
    margin_ticks: int | None = None


def look(canary: CanaryNow | None, before: Mapping[tuple[str, str], Finding], now: float) -> list[Finding]:
    """The finding about the last violation, while it is fresh."""
    if canary is None or canary.violation_at is None or now - canary.violation_at >= HOLD_S:
        return []
    was = before.get((CODE, ""))
    facts: dict[str, Fact] = {"last_at": canary.violation_at, "violations": canary.violations, "server": canary.served_by}
    return [Finding(CODE, FAULT, "", was.since if was else canary.violation_at, canary.kind, facts)]
