"""What web processes did on the cache nodes, by the minute: written as sums, read for the console."""

from __future__ import annotations

import time
from collections.abc import Mapping

from django.db import connection
from django.db.models import Sum

from apps.cachesync.models import CacheCount
from apps.cachesync.nodes import CacheNode

COUNTED = ("hits", "misses", "stored", "refused_version", "refused_token", "failures")
KEPT_MINUTES = 24 * 60


def add(nodes: Mapping[str, CacheNode]) -> None:
    """Add what this process has counted since the last time. What cannot be written is dropped: these are figures."""
    minute = int(time.time() // 60)
    rows = [(name, taken) for name, node in nodes.items() if (taken := node.counts.take())]
    if not rows:
        return
    columns = ", ".join(COUNTED)
    sums = ", ".join(f"{name} = {name} + VALUES({name})" for name in COUNTED)
    with connection.cursor() as cursor:
        cursor.executemany(
            f"INSERT INTO cache_count (minute, node, {columns}) VALUES (%s, %s{', %s' * len(COUNTED)}) ON DUPLICATE KEY UPDATE {sums}",
            [(minute, name, *(taken.get(it, 0) for it in COUNTED)) for name, taken in rows],
        )


def since(minutes: int, now: float) -> dict[str, dict[str, int]]:
    """Of each node the sums of the last minutes."""
    rows = (
        CacheCount.objects.filter(minute__gt=int(now // 60) - minutes).values("node").annotate(**{f"sum_{it}": Sum(it) for it in COUNTED})
    )
    return {row["node"]: {it: int(row[f"sum_{it}"] or 0) for it in COUNTED} for row in rows}


def delete_old(now: float) -> int:
    deleted, _ = CacheCount.objects.filter(minute__lt=int(now // 60) - KEPT_MINUTES).delete()
    return deleted
