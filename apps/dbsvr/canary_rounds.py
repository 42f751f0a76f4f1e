"""The canary's rounds in the database: which user is next, what is promised of him, what was found; and one round at a time.

A round's finding is logged before it is written, so that a database that is away hides nothing.
"""

from __future__ import annotations

import logging

from django.db import connection
from django.db.models import Count, Max

from apps.dbsvr.alone import alone
from apps.dbsvr.canary import Known, Round, run_round
from apps.dbsvr.canary_rules import CanaryNow
from apps.dbsvr.db_interface import DbInterface
from apps.dbsvr.models import CanaryRound
from tasksys_site.configuration import Configuration

log = logging.getLogger(__name__)

SUMMED_S = 24 * 3600
KEPT_S = 8 * 24 * 3600
VIOLATIONS_KEPT_S = 90 * 24 * 3600
DELETE_AT_ONCE = 5_000


def uid_at(configuration: Configuration, now: float) -> int:
    """Whose turn it is: one user after the other."""
    canary = configuration.canary
    return canary.first_uid + int(now / canary.every_s) % canary.users


def next_round(configuration: Configuration, interface: DbInterface, now: float) -> Round | None:
    """Run one round, log and keep what it found; None when another round is under way."""
    # Two rounds beside each other would accuse each other of writing twice.
    with alone(f"{configuration.databases.configuration_schema}.canary") as is_alone:
        if not is_alone:
            return None
        uid = uid_at(configuration, now)
        found = run_round(interface, configuration.cache.nodes[0].name, uid, promised_of(uid))
        report(found)
        write(found, now)
        return found


def report(found: Round) -> None:
    first_of_kind = {violation.kind: violation for violation in reversed(found.violations)}
    for kind, violation in first_of_kind.items():
        log.error(
            "the canary found a violation",
            extra={
                "kind": kind,
                "times": sum(other.kind == kind for other in found.violations),
                "uid": found.uid,
                "route": violation.route,
                "served_by": violation.served_by,
                "promised": _text(violation.promised),
                "seen": _text(violation.seen),
            },
        )
    if found.errors:
        log.warning("the canary got errors", extra={"uid": found.uid, "errors": found.errors, "error": found.error})


def _text(known: Known) -> str:
    return f"generation:{known.generation},version:{known.version},progress:{known.progress}"


def promised_of(uid: int) -> Known | None:
    """What earlier rounds know of the user."""
    row = CanaryRound.objects.filter(uid=uid, version__isnull=False).order_by("-id").first()
    return None if row is None else Known(row.generation, row.version, row.progress)


def write(found: Round, now: float) -> None:
    first = found.violations[0] if found.violations else None
    CanaryRound.objects.create(
        at=now,
        uid=found.uid,
        generation=found.known.generation if found.known else None,
        version=found.known.version if found.known else None,
        progress=found.known.progress if found.known else None,
        reads=found.reads,
        replica_reads=found.replica_reads,
        violations=len(found.violations),
        kind=first.kind if first else "",
        served_by=first.served_by if first else "",
        promised=_text(first.promised) if first else "",
        seen=_text(first.seen) if first else "",
        errors=found.errors,
        error=found.error[:200],
        delay_ms=found.delay_ms,
        margin_ticks=found.margin_ticks,
    )


def summary(now: float) -> CanaryNow | None:
    """The last 24 h; None without a round in them."""
    rounds = CanaryRound.objects.filter(at__gt=now - SUMMED_S)
    newest = rounds.order_by("-at").first()
    if newest is None:
        return None
    counts = rounds.aggregate(rounds=Count("id"), newest=Max("at"))
    broken = rounds.filter(violations__gt=0)
    last = broken.order_by("-at").first()
    return CanaryNow(
        rounds=counts["rounds"],
        newest_at=newest.at,
        violations=broken.count(),
        violation_at=last.at if last else None,
        kind=last.kind if last else "",
        served_by=last.served_by if last else "",
        errors=newest.errors,
        delay_ms=newest.delay_ms,
        margin_ticks=newest.margin_ticks,
    )


def delete_old(now: float) -> int:
    """Rounds without a violation go after eight days, those with one after ninety."""
    deleted = 0
    with connection.cursor() as cursor:
        for condition, kept_s in (("violations = 0", KEPT_S), ("violations > 0", VIOLATIONS_KEPT_S)):
            cursor.execute(f"DELETE FROM canary_round WHERE at < %s AND {condition} LIMIT {DELETE_AT_ONCE}", [now - kept_s])
            deleted += cursor.rowcount
    return deleted
