"""The Celery side of the cache sync center. Queue `purge` has a worker of its own; the checker is in queue `sample`.

The worker of queue `purge` listens to the fronts, and works rows off as they come (`waker`); beat sends `sweep` every second, which finds
the rest. `purge_now` is the same look, for whoever wants one.
"""

from __future__ import annotations

import functools
import logging
import os
import time
from typing import Any

from celery import shared_task
from celery.signals import worker_ready
from django.conf import settings
from django.db import DatabaseError
from kombu.exceptions import OperationalError

from apps.cachesync import checker, counts, probes, purge_rows
from apps.cachesync.center import Center
from apps.cachesync.waker import Waker
from apps.dbsvr.db_interface import db_interface
from tasksys_site.celery import CHECK_COPIES, DELETE_OLD_CHECKS, PROBE_NODES, PURGE_EVERYWHERE, PURGE_NODE, PURGE_NOW, SWEEP

log = logging.getLogger(__name__)

PURGE_QUEUE = "purge"
EXPIRES_S = 5
"""A fan-out that found no free thread in this time is of no use: the next look sends another."""


@worker_ready.connect
def _listen_to_the_fronts(sender: Any, **_named: Any) -> None:
    """In the worker that does the purges, and in no other."""
    if PURGE_QUEUE in sender.app.amqp.queues.consume_from:
        Waker(center(), settings.CONFIGURATION.dbsvr.instances).start()


@functools.lru_cache(maxsize=1)
def _center_of(pid: int) -> Center:
    return Center(settings.CONFIGURATION.cache)


def center() -> Center:
    """This process's one."""
    return _center_of(os.getpid())


@shared_task(name=PURGE_NOW, ignore_result=True)
def purge_now() -> None:
    """Look at the table and send one task for each node that has something before it."""
    _look()


@shared_task(name=SWEEP, ignore_result=True)
def sweep() -> None:
    _look()
    center().let_join()


def _look() -> None:
    for node in purge_rows.unfinished():
        task = purge_everywhere.si() if node == purge_rows.EVERY_NODE else purge_node.si(node)
        try:
            task.apply_async(expires=EXPIRES_S)
        except OperationalError as error:
            log.warning("the broker took no task; the next look sends it", extra={"node": node, "error": error})
            return


@shared_task(name=PURGE_NODE, ignore_result=True)
def purge_node(name: str) -> None:
    center().purge_node(name)


@shared_task(name=PURGE_EVERYWHERE, ignore_result=True)
def purge_everywhere() -> None:
    center().purge_everywhere()


@shared_task(name=PROBE_NODES, ignore_result=True)
def probe_nodes() -> None:
    center().admit(probes.probe(center().nodes()))


@shared_task(name=CHECK_COPIES, ignore_result=True)
def check_copies() -> None:
    try:
        checker.check_due(center().nodes(), db_interface(), time.time())
    except DatabaseError as error:
        log.warning("copies could not be checked", extra={"error": error})


@shared_task(name=DELETE_OLD_CHECKS, ignore_result=True)
def delete_old_checks() -> None:
    now = time.time()
    checker.delete_old(now)
    counts.delete_old(now)
