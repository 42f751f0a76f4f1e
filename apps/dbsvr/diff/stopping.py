"""The replica diff stops the use of a replica that differs in too many rows, and lets it be used again once it is clean.

`decide` is pure; `follow` asks, decides and acts. What an operator has held, the operator releases.
"""

from __future__ import annotations

import logging

from apps.dbsvr.diff.models import GONE, Difference
from apps.dbsvr.holds import Held, NotHeld, held_replicas, hold_replica, release_replica

log = logging.getLogger(__name__)

BY = "replica diff"
HOLD, RELEASE = "hold", "release"


def decide(differing: int, hold: Held | None, hold_above: int) -> str:
    """HOLD, RELEASE, or "": it stays as it is. `hold_above` 0: it never stops the use of one."""
    if hold is None:
        return HOLD if hold_above and differing > hold_above else ""
    return RELEASE if hold.by == BY and not differing else ""


def follow(replica: str, hold_above: int) -> str:
    """After a run, a repair or a look again: what was done. A DBSvr that does not take it is asked again the next time."""
    held = held_replicas()
    if held is None:
        return ""
    differing = Difference.objects.filter(replica=replica).exclude(state=GONE).count()
    done = decide(differing, held.get(replica), hold_above)
    try:
        if done == HOLD:
            hold_replica(replica, f"{differing} rows differ from the master, more than {hold_above}", by=BY)
        elif done == RELEASE:
            release_replica(replica, reason="no row is known to differ any more", by=BY)
    except NotHeld as error:
        log.warning("the use of a replica could not be changed", extra={"replica": replica, "wanted": done, "why": error.why})
        return ""
    return done
