"""The Celery side of points: beat asks every second for delivery, once a day for the comparison. Queue `points` has a worker of its own."""

from __future__ import annotations

import functools
import logging
import os
import time
from dataclasses import asdict
from datetime import date, datetime, timedelta, timezone

from celery import shared_task
from django.conf import settings
from django.db import DatabaseError

from apps.dbsvr.sweeps.tasks import sweep
from apps.tasks.points import figures, provider
from apps.tasks.points.reconcile import reconcile
from apps.tasks.points.relay import Relay
from apps.tasks.points.sweep import Grants
from tasksys_site.celery import DELETE_OLD_DRAINS, DELIVER_POINTS, RECONCILE_POINTS, SWEEP_GRANTS
from tasksys_site.configuration import ConfigurationError

log = logging.getLogger(__name__)

FIGURES_EVERY_S = 5.0
DAYS_BACK = 3
"""A day is compared again on the following days: what was on its way then has settled."""

_figures_at = 0.0


@functools.lru_cache(maxsize=1)
def _relay_of(pid: int) -> Relay:
    return Relay(settings.CONFIGURATION.points)


def relay() -> Relay:
    """This process's one."""
    return _relay_of(os.getpid())


@shared_task(name=DELIVER_POINTS, ignore_result=True)
def deliver() -> None:
    """About a second of it. What a killed worker leaves in the middle comes back by itself."""
    try:
        _note_figures()
        if settings.CONFIGURATION.points.url:
            relay().drain()
    except ConfigurationError as error:
        log.warning("points cannot be delivered", extra={"error": error})
    except DatabaseError as error:
        log.warning("points cannot be delivered just now; the next try is in a second", extra={"error": error})


def _note_figures() -> None:
    """For the console, which looks at no user table itself."""
    global _figures_at
    if time.monotonic() - _figures_at >= FIGURES_EVERY_S:
        _figures_at = time.monotonic()
        provider.note_figures(asdict(figures.collect()))


@shared_task(name=RECONCILE_POINTS, ignore_result=True)
def reconcile_days(day: str = "") -> None:
    """The day that is named, or those before today."""
    today = datetime.now(timezone.utc).date()
    days = [date.fromisoformat(day)] if day else [today - timedelta(days=back) for back in range(1, DAYS_BACK + 1)]
    for each in days:
        try:
            row = reconcile(settings.CONFIGURATION.points, each)
        except DatabaseError as error:
            log.warning("a day's points could not be compared", extra={"day": each, "error": error})
        else:
            log.info("a day's points were compared", extra={"day": each, "outcome": row.outcome, "error": row.error})


@shared_task(name=DELETE_OLD_DRAINS, ignore_result=True)
def delete_old_drains() -> None:
    figures.delete_old_drains(datetime.now(timezone.utc))


@shared_task(name=SWEEP_GRANTS, ignore_result=True)
def sweep_grants() -> None:
    """On the queue of the other sweep: it may take its time, and keeps no delivery waiting."""
    if sweep(Grants(settings.CONFIGURATION.points.keep_days)):
        sweep_grants.apply_async(expires=60)
