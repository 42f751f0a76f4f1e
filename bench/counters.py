"""What the DBSvr's own counters say of the reads between two looks at them: key `reads` of TASK.STATS."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from deploy.local.private_stack import PrivateStack
from deploy.local.server_process import ServerFailed

SAFE_YET_ON_MASTER = ("spill", "aged", "handed_back", "replica_down")
"""Reasons that a read may have although some replica had its stamp when it arrived."""


def served_of_safe(before: Mapping[str, Any], after: Mapping[str, Any]) -> float:
    """In percent, at least: every master read whose reason allows that it was safe counts as one the replica should have served.

    Served over safe would be kinder: a replica also serves reads whose stamp it passed only after they had arrived.
    """
    safe = after["safe"] - before["safe"]
    given_away = sum(after["by_reason"][reason] - before["by_reason"][reason] for reason in SAFE_YET_ON_MASTER)
    return 100 * (safe - given_away) / safe if safe else 0.0


def shares(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[float, float]:
    """Of all reads between two looks at the counters: those that replicas served, and those that they could have."""
    total = after["total"] - before["total"]
    by_master = after["by_server"]["master"] - before["by_server"]["master"]
    return ((total - by_master) / total, (after["safe"] - before["safe"]) / total) if total else (0.0, 0.0)


def reads_of(stack: PrivateStack) -> Mapping[str, Any]:
    stats = stack.stats()
    if stats is None:
        raise ServerFailed("the front does not answer")
    return stats["reads"]  # type: ignore[return-value]
