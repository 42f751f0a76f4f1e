"""What the console says of the external profile system: that it fails. Pure.

Without a profile system, or without a look, nothing is claimed. A failure is said when it has lasted a while: a restart is nothing to
look at.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from apps.dbsvr.findings import ATTENTION, Finding

LOOKED_WITHIN_S = 30.0
FAILS_FOR_S = 10.0

DOWN = "profiles.down"
CODES = (DOWN,)


class ProfilesNow(msgspec.Struct, frozen=True):
    """`trouble`: how it fails (slow, dead, wrong), empty when it does not. Moments are epoch seconds."""

    looked_at: float
    trouble: str = ""
    reason: str = ""
    since: float = 0.0


def look(profiles: ProfilesNow | None, before: Mapping[tuple[str, str], Finding], now: float) -> list[Finding]:
    if profiles is None or now - profiles.looked_at >= LOOKED_WITHIN_S:
        return []
    if not profiles.trouble or now - profiles.since < FAILS_FOR_S:
        return []
    found = Finding(DOWN, ATTENTION, "", profiles.since, profiles.trouble, {"since_at": profiles.since, "reason": profiles.reason})
    return [msgspec.structs.replace(found, since=before[found.key].since) if found.key in before else found]
