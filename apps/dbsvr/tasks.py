"""Celery's part in the samples: history only. The light is judged by the sampler and needs no broker."""

from __future__ import annotations

import time

from celery import shared_task

from apps.dbsvr import samples
from tasksys_site.celery import DELETE_OLD, ROLL_UP


@shared_task(name=ROLL_UP, ignore_result=True)
def roll_up(seconds: int) -> int:
    return samples.roll_up(seconds, time.time())


@shared_task(name=DELETE_OLD, ignore_result=True)
def delete_old_samples() -> int:
    return samples.delete_old(time.time())
