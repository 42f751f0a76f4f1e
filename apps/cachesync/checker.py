"""The cache checker: a sample of acknowledged writes is looked for on all nodes, 1, 10 and 60 s later.

A copy that is older than the write is a violation when no purge of it is unfinished: the order of looking is copy, purge rows, copy
again, so that a purge that ends meanwhile accuses nobody. While one is unfinished its node goes out of use by itself (INV 11).
What is found is logged before it is written, with what is known of the user.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import Any

from django.db import DatabaseError

from apps.cachesync import purge_rows
from apps.cachesync.models import CacheCheck, CacheViolation
from apps.cachesync.nodes import CacheNode, NodeUnavailable
from apps.dbsvr.db_interface import DbInterface
from workers.protocol import DBSvrError

log = logging.getLogger(__name__)

AFTER_S = (1.0, 10.0, 60.0)
AT_ONCE = 200
KEPT_S = 90 * 24 * 3600
LATE_S = 30.0
"""A look that is later than this is left out: the worker was away, and the next stage looks all the same."""


def check_due(nodes: Mapping[str, CacheNode], interface: DbInterface, now: float) -> int:
    """Look after the writes whose time has come; the number of violations found."""
    found = 0
    for check in CacheCheck.objects.filter(due_at__lte=now).order_by("due_at")[:AT_ONCE]:
        if now - check.due_at < LATE_S:
            found += sum(_is_stale(check, node, interface, now) for node in nodes.values())
        stage = check.stage + 1
        if stage < len(AFTER_S):
            CacheCheck.objects.filter(pk=check.pk).update(stage=stage, due_at=check.written_at + AFTER_S[stage])
        else:
            CacheCheck.objects.filter(pk=check.pk).delete()
    return found


def _is_stale(check: CacheCheck, node: CacheNode, interface: DbInterface, now: float) -> bool:
    promised = (check.generation, check.version)
    try:
        if not _is_older(node.head_of(check.uid), promised):
            return False
        rows = purge_rows.of_user(check.uid) + purge_rows.of_user(purge_rows.FLUSH)
        if any(row.node in (node.name, purge_rows.EVERY_NODE) for row in rows):
            return False
        seen = node.head_of(check.uid)
    except NodeUnavailable:
        return False  # what cannot be reached is not served either
    if seen is None or not _is_older(seen, promised):
        return False
    _report(check, node, seen, interface, now)
    return True


def _is_older(seen: tuple[int, int] | None, promised: tuple[int, int]) -> bool:
    return seen is not None and seen < promised


def _report(check: CacheCheck, node: CacheNode, seen: tuple[int, int], interface: DbInterface, now: float) -> None:
    known = {"event_id": check.event_id, "own_node": check.own_node, "written_at": check.written_at, "explain": _explain(check, interface)}
    violation = CacheViolation(
        at=now,
        uid=check.uid,
        node=node.name,
        promised=f"generation:{check.generation},version:{check.version}",
        seen=f"generation:{seen[0]},version:{seen[1]}",
        after_s=now - check.written_at,
        known=json.dumps(known),
    )
    log.error(
        "a cache node has a copy older than an acknowledged write",
        extra={"uid": check.uid, "node": node.name, "promised": violation.promised, "seen": violation.seen, "known": violation.known},
    )
    try:
        violation.save()
    except DatabaseError as error:
        log.warning("the violation could not be kept", extra={"error": error})


def _explain(check: CacheCheck, interface: DbInterface) -> dict[str, Any] | str:
    try:
        return interface.explain(check.uid, deadline_ms=1_000)
    except DBSvrError as error:
        return str(error)


def delete_old(now: float) -> int:
    old_violations, _ = CacheViolation.objects.filter(at__lt=now - KEPT_S).delete()
    old_checks, _ = CacheCheck.objects.filter(due_at__lt=now - 3600).delete()
    return old_violations + old_checks
