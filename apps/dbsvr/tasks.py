"""Celery's part: the history of samples, and the canary's rounds. The light is judged by the sampler and needs no broker."""

from __future__ import annotations

import logging
import time

from celery import shared_task
from django.conf import settings
from django.db import DatabaseError

from apps.dbsvr import canary_rounds, samples
from apps.dbsvr.db_interface import db_interface
from apps.dbsvr.diff import tasks as diff_tasks
from apps.dbsvr.sweeps import tasks as sweep_tasks
from tasksys_site.celery import CANARY, DELETE_OLD, ROLL_UP

log = logging.getLogger(__name__)
__all__ = ["diff_tasks", "sweep_tasks"]  # Celery looks for tasks here alone


@shared_task(name=ROLL_UP, ignore_result=True)
def roll_up(seconds: int) -> int:
    return samples.roll_up(seconds, time.time())


@shared_task(name=DELETE_OLD, ignore_result=True)
def delete_old_samples() -> int:
    now = time.time()
    return samples.delete_old(now) + canary_rounds.delete_old(now)


@shared_task(name=CANARY, ignore_result=True)
def canary_round() -> None:
    try:
        canary_rounds.next_round(settings.CONFIGURATION, db_interface(), time.time())
    except DatabaseError as error:
        log.warning("the canary's round could not be kept", extra={"error": error})
