"""Traffic of tasks as lists judge it, taken from what the DBSvrs have counted. None: it is not known now."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from datetime import datetime, timedelta

from django.db import Error
from django.db.models import Q
from django.utils import timezone

from apps.tasks.models import Task
from apps.tasks.screens.task_warnings import CAP_NEAR, CAP_REACHED, Figures, warnings_of
from apps.tasks.task_state import TaskState, tasks_in
from apps.tasks.traffic import Traffic, traffic_of, traffic_of_all

log = logging.getLogger(__name__)

RECENT_DAYS = 7
KEPT_DAYS = 100
"""Older figures are gone: of a task that has run for longer, "ever" means so many days, and its cap is judged too mildly."""


def figures_of(numbers: Iterable[int]) -> dict[int, Figures] | None:
    now = timezone.now()
    try:
        found = traffic_of(numbers, days=KEPT_DAYS, now=now)
    except Error:
        log.warning("the traffic of tasks cannot be read", exc_info=True)
        return None
    return {number: _figures(traffic, now) for number, traffic in found.items()}


def _figures(traffic: Traffic, now: datetime) -> Figures:
    since = now.date() - timedelta(days=RECENT_DAYS - 1)
    recent = [(started, completed) for day, started, completed in traffic.by_day if day >= since]
    return Figures(
        started=sum(started for started, _ in recent),
        completed=sum(completed for _, completed in recent),
        completed_ever=traffic.completed_recent,
    )


def quiet_tasks(now: datetime) -> Q:
    """Live tasks that have run for a while and that nobody has touched in the last days."""
    busy = [number for number, traffic in traffic_of_all(RECENT_DAYS, now).items() if traffic.started_recent or traffic.completed_recent]
    return tasks_in(TaskState.LIVE, now) & Q(starts_at__lt=now - timedelta(days=1)) & ~Q(pk__in=busy)


def nearly_used_up(now: datetime) -> Q:
    """Tasks of whose cap 80 % are used, or all."""
    capped = list(Task.objects.filter(archived=False).exclude(cap_total=None, points_budget=None).defer("document"))
    figures = figures_of([task.pk for task in capped]) or {}
    return Q(pk__in=[task.pk for task in capped if {CAP_NEAR, CAP_REACHED} & set(warnings_of(task, figures.get(task.pk), now))])
