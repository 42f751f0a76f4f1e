"""Celery's part of the replica diff, on the queue `diff`. Tables are the truth: a lost message is sent again by the schedule."""

from __future__ import annotations

import logging
import os
import socket
import threading
from collections.abc import Sequence
from datetime import timedelta
from itertools import groupby

from celery import shared_task
from django.conf import settings
from django.db.models import Q
from django.utils import timezone

from apps.dbsvr.db_interface import db_interface
from apps.dbsvr.diff import findings, runs, schedule, stopping
from apps.dbsvr.diff.comparison import Comparison
from apps.dbsvr.diff.failures import CannotCompare
from apps.dbsvr.diff.models import GONE, STOPPED, Difference, DiffRun
from apps.dbsvr.diff.servers import open_both
from tasksys_site.celery import DIFF_DELETE_OLD, DIFF_RECHECK, DIFF_SCHEDULE, DIFF_WORK

log = logging.getLogger(__name__)
KEPT_DAYS = 30


@shared_task(name=DIFF_WORK, ignore_result=True)
def work(run_id: int) -> None:
    worker = f"{socket.gethostname()}:{os.getpid()}:{threading.get_ident()}"
    if runs.work(run_id, settings.CONFIGURATION, worker, db_interface()):
        work.apply_async((run_id,))
    elif (following := runs.next_at_replica_of(run_id)) is not None:
        work.apply_async((following,))
    # However far it has come: a run that was stopped may have found too much already.
    for replica in DiffRun.objects.filter(pk=run_id).values_list("replica", flat=True):
        stopping.follow(replica, settings.CONFIGURATION.diff.hold_above)


@shared_task(name=DIFF_RECHECK, ignore_result=True)
def recheck(ids: Sequence[int]) -> None:
    """Compare these keys again."""

    def place(difference: Difference) -> tuple[str, str, str]:
        return difference.replica, difference.schema, difference.table

    chosen = Difference.objects.filter(pk__in=ids).exclude(state=GONE).order_by("replica", "schema", "table", "pk")
    for (replica, schema, table), some in groupby(chosen, place):
        differences = list(some)
        try:
            with open_both(settings.CONFIGURATION.databases, replica) as both:
                shape = runs.agreed_shape(both, schema, table)
                findings.look_again(differences, shape, Comparison(both, shape))
        except CannotCompare as error:
            log.warning('differences could not be compared again replica=%s why="%s"', replica, error)
            Difference.objects.filter(pk__in=[each.pk for each in differences]).update(
                state="open", repair_error=f"it could not be compared again: {error}"[:500]
            )
        stopping.follow(replica, settings.CONFIGURATION.diff.hold_above)


@shared_task(name=DIFF_SCHEDULE, ignore_result=True)
def look_at_schedule() -> None:
    """Begin the night's samples when it is time; send runs on that nobody works on."""
    schedule.begin_due(settings.CONFIGURATION)
    for run_id in runs.lost_runs():
        work.apply_async((run_id,), expires=10)


@shared_task(name=DIFF_DELETE_OLD, ignore_result=True)
def delete_old() -> None:
    """Runs of long ago, and what has long gone. The newest run of a sample stays: the next one goes on from it."""
    before = timezone.now() - timedelta(days=KEPT_DAYS)
    Difference.objects.filter(state=GONE, gone_at__lt=before).delete()
    newest = set(schedule.newest_samples().values())
    is_old = Q(ended_at__lt=before) | Q(state=STOPPED, created_at__lt=before)
    old = DiffRun.objects.filter(is_old).exclude(pk__in=newest).values_list("pk", flat=True)[:1000]
    DiffRun.objects.filter(pk__in=list(old)).delete()
