"""Celery's part of the sweeps, on the queue `diff`, whose worker has time. Beat asks; a slice that has more to do asks for the next."""

from __future__ import annotations

import logging

from celery import shared_task
from django.conf import settings
from django.db import DatabaseError

from apps.dbsvr.db_interface import db_interface
from apps.dbsvr.sweeps import rounds
from apps.dbsvr.sweeps.events import AppliedEvents
from apps.dbsvr.sweeps.pace import Pace
from tasksys_site.celery import SWEEP_EVENTS

log = logging.getLogger(__name__)


def sweep(table: rounds.Table) -> bool:
    configuration = settings.CONFIGURATION
    pace = Pace(configuration.sweep, db_interface(), configuration.dbsvr.instances)
    try:
        return rounds.work(table, configuration, pace)
    except DatabaseError as error:
        log.warning("a table cannot be swept just now; the next try is in a minute", extra={"table": table.name, "error": error})
        return False


@shared_task(name=SWEEP_EVENTS, ignore_result=True)
def sweep_events() -> None:
    if sweep(AppliedEvents(settings.EVENT_RETENTION_DAYS)):
        sweep_events.apply_async(expires=60)
