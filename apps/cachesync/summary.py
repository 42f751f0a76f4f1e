"""The cache layer as the console shows it: the nodes with what is known of each, and what the checker has found."""

from __future__ import annotations

import time
from typing import NamedTuple

from django.db.models import Max

from apps.cachesync import counts, purge_rows
from apps.cachesync.models import IN_USE, REMOVED, CacheNode, CacheNodeNow, CacheViolation
from apps.cachesync.registry import masked
from apps.cachesync.ring import Ring
from apps.dbsvr import cache_rules

SUMMED_S = 24 * 3600
COUNTED_MINUTES = 15


def cache_now() -> cache_rules.CacheNow:
    """For the sampler, which judges it. Raises the database's errors."""
    now = time.time()
    known = {row.name: row for row in CacheNodeNow.objects.all()}
    waiting = purge_rows.waiting()
    nodes = []
    for row in CacheNode.objects.exclude(state=REMOVED).order_by("name"):
        it = known.get(row.name)
        pending, oldest_ms = waiting.get(row.name, (0, 0))
        nodes.append(
            cache_rules.CacheNodeNow(
                row.name,
                row.state,
                None if it is None else it.answers,
                row.changed_at if it is None else it.since,
                pending,
                oldest_ms / 1000 if pending else None,
            )
        )
    everywhere, everywhere_oldest_ms = waiting.get(purge_rows.EVERY_NODE, (0, 0))
    violations = CacheViolation.objects.filter(at__gt=now - SUMMED_S)
    last = violations.order_by("-at").first()
    return cache_rules.CacheNow(
        looked_at=now,
        nodes=tuple(nodes),
        center_at=CacheNodeNow.objects.aggregate(newest=Max("probed_at"))["newest"],
        everywhere_pending=everywhere,
        everywhere_oldest_at=everywhere_oldest_ms / 1000 if everywhere else None,
        violations=violations.count(),
        violation_at=last.at if last else None,
        violation_node=last.node if last else "",
    )


class NodeDetails(NamedTuple):
    """One node on the page. None is unknown, or that it does not apply."""

    name: str
    url: str
    state: str
    changed_at: float
    answers: bool | None
    since: float | None
    error: str
    hit_ratio: float | None
    refused: int
    copies: int | None
    memory_bytes: int | None
    max_memory_bytes: int | None
    pending: int
    oldest_s: float | None
    share: float | None


def details(now: float) -> list[NodeDetails]:
    """All nodes but the removed; counts of the last COUNTED_MINUTES."""
    rows = list(CacheNode.objects.exclude(state=REMOVED).order_by("name"))
    known = {row.name: row for row in CacheNodeNow.objects.all()}
    waiting, counted = purge_rows.waiting(), counts.since(COUNTED_MINUTES, now)
    used = [row.name for row in rows if row.state == IN_USE]
    shares = Ring(used).shares() if used else {}
    found = []
    for row in rows:
        it, sums = known.get(row.name), counted.get(row.name, {})
        pending, oldest_ms = waiting.get(row.name, (0, 0))
        asked = sums.get("hits", 0) + sums.get("misses", 0)
        found.append(
            NodeDetails(
                name=row.name,
                url=masked(row.url),
                state=row.state,
                changed_at=row.changed_at,
                answers=it.answers if it else None,
                since=it.since if it else None,
                error=it.error if it else "",
                hit_ratio=sums["hits"] / asked if asked else None,
                refused=sums.get("refused_version", 0) + sums.get("refused_token", 0),
                copies=it.copies if it else None,
                memory_bytes=it.memory_bytes if it else None,
                max_memory_bytes=it.max_memory_bytes or None if it else None,
                pending=pending,
                oldest_s=max(0.0, now - oldest_ms / 1000) if pending else None,
                share=shares.get(row.name),
            )
        )
    return found


def newest_violations(at_most: int) -> list[CacheViolation]:
    return list(CacheViolation.objects.order_by("-at")[:at_most])
