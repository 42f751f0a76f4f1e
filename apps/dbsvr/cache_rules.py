"""What the console says of the cache nodes: one that is out, purges that wait, a copy that broke the promise. Pure.

Without a look at them (the database is away) nothing is claimed. While the cache sync center does not work, only that is said: who is
out is its word. The finding's subject is the node, as `/node-1`.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from apps.dbsvr.findings import ATTENTION, FAULT, Fact, Finding

LOOKED_WITHIN_S = 30.0
CENTER_SILENT_AFTER_S = 10.0
PURGES_OLD_AFTER_S = 5.0
HOLD_S = 3600.0
"""After a violation somebody has to look after it."""

OUT, PURGES, CENTER, VIOLATION = "cache.out", "cache.purges", "cache.center", "cache.violation"
CODES = (OUT, PURGES, CENTER, VIOLATION)
EVERY_NODE = "*"


class CacheNodeNow(msgspec.Struct, frozen=True):
    """`answers`: as the center says; None when it has not asked yet. Moments are epoch seconds."""

    name: str
    state: str
    answers: bool | None = None
    since: float = 0.0
    pending: int = 0
    oldest_at: float | None = None


class CacheNow(msgspec.Struct, frozen=True):
    looked_at: float
    nodes: tuple[CacheNodeNow, ...] = ()
    center_at: float | None = None
    """When the center last asked the nodes; None: never."""
    everywhere_pending: int = 0
    """Purges that are for every node."""
    everywhere_oldest_at: float | None = None
    violations: int = 0
    """In the last 24 h."""
    violation_at: float | None = None
    violation_node: str = ""


def look(cache: CacheNow | None, before: Mapping[tuple[str, str], Finding], now: float) -> list[Finding]:
    if cache is None or now - cache.looked_at >= LOOKED_WITHIN_S:
        return []
    found = _violations(cache)
    if cache.center_at is not None and now - cache.center_at >= CENTER_SILENT_AFTER_S:
        oldest = [node.oldest_at for node in cache.nodes if node.oldest_at is not None]
        waits = bool(oldest) and now - min(oldest) >= PURGES_OLD_AFTER_S
        found.append(Finding(CENTER, ATTENTION, "", cache.center_at, "waiting" if waits else "idle", {"since_at": cache.center_at}))
    else:
        found += _of_nodes(cache, now)
    return [msgspec.structs.replace(it, since=before[it.key].since) if it.key in before else it for it in found]


def _of_nodes(cache: CacheNow, now: float) -> list[Finding]:
    found = []
    used = [node for node in cache.nodes if node.state == "in_use"]
    out = [node for node in used if node.answers is False]
    for node in out:
        case = "all" if len(out) == len(used) else "one"
        found.append(Finding(OUT, ATTENTION, f"/{node.name}", node.since, case, {"node": node.name, "since_at": node.since}))
    for node in cache.nodes:
        if node not in out and node.oldest_at is not None and now - node.oldest_at >= PURGES_OLD_AFTER_S:
            facts: dict[str, Fact] = {"node": node.name, "purges": node.pending, "since_at": node.oldest_at}
            found.append(Finding(PURGES, ATTENTION, f"/{node.name}", node.oldest_at, "node", facts))
    if cache.everywhere_oldest_at is not None and now - cache.everywhere_oldest_at >= PURGES_OLD_AFTER_S:
        facts = {"purges": cache.everywhere_pending, "since_at": cache.everywhere_oldest_at}
        found.append(Finding(PURGES, ATTENTION, "", cache.everywhere_oldest_at, "every", facts))
    return found


def _violations(cache: CacheNow) -> list[Finding]:
    at = cache.violation_at
    if at is None or cache.looked_at - at >= HOLD_S:
        return []
    return [Finding(VIOLATION, FAULT, "", at, "", {"last_at": at, "node": cache.violation_node, "violations": cache.violations})]
