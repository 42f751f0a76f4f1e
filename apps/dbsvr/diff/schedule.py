"""The nightly samples: one run a replica and table, which goes on where the last one ended.

Begun once a night by whoever looks first: a run of the night that is there already is the mark that it was begun.
"""

from __future__ import annotations

import logging
from datetime import datetime, time, timedelta

from django.db.models import Max
from django.utils import timezone

from apps.dbsvr.diff import service
from apps.dbsvr.diff.models import ENDED, DiffRun
from tasksys_site.configuration import Configuration

log = logging.getLogger(__name__)
LATEST_AFTER = timedelta(hours=2)
"""A night that was missed for longer is not made up for in the day."""


def begun_at(nightly_at: str, now: datetime) -> datetime | None:
    """When the night that is due now began; None: none is due. Pure."""
    if not nightly_at:
        return None
    at = datetime.combine(now.date(), time.fromisoformat(nightly_at), tzinfo=now.tzinfo)
    at = at if at <= now else at - timedelta(days=1)
    return at if now - at <= LATEST_AFTER else None


def begin_due(configuration: Configuration) -> int:
    """How many runs were begun."""
    settings = configuration.diff
    at = begun_at(settings.nightly_at, timezone.now())
    if at is None:
        return 0
    replicas = [replica.name for replica in configuration.databases.replicas]
    begun = DiffRun.objects.filter(asked_by="", kind="sample", created_at__gte=at, replica__in=replicas)
    there = set(begun.values_list("replica", "schema", "table"))
    if {replica for replica, _, _ in there} == set(replicas):
        return 0
    try:
        tables = [table for table in service.tables() if table.in_schedule]
    except service.Refused as refusal:
        log.warning('no nightly comparison: why="%s"', refusal)
        return 0
    count = 0
    for replica in replicas:
        for table in tables:
            if (replica, table.schema, table.name) in there:
                continue
            try:
                service.start_run(replica, f"{table.schema}.{table.name}", kind="sample", sample=settings.sample_percent)
                count += 1
            except service.Refused as refusal:
                log.info('not compared tonight replica=%s table=%s why="%s"', replica, table.name, refusal)
    return count


def newest_samples() -> dict[tuple[str, str, str], int]:
    """Of each (replica, schema, table) the newest sample that ended."""
    rows = DiffRun.objects.filter(state=ENDED, kind="sample").values_list("replica", "schema", "table").annotate(Max("pk"))
    return {(replica, schema, table): newest for replica, schema, table, newest in rows}
