"""The list of tasks on the Overview: what is live, what comes, newest first."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any, NamedTuple

from django.apps import apps
from django.db.models import Q, QuerySet

SHOWN = 20
SOON = timedelta(days=7)


class TaskCounts(NamedTuple):
    live: int
    starting: int
    ending: int


def _tasks() -> QuerySet[Any]:
    # By name: the model belongs to the other app, and this one must be importable before it is.
    return apps.get_model("tasks", "Task")._default_manager.all()


ON = Q(switched_off=False, archived=False)


def _live(now: datetime) -> Q:
    return ON & Q(starts_at__lte=now) & (Q(ends_at__isnull=True) | Q(ends_at__gt=now))


def live_task_count(now_s: float) -> int:
    return _tasks().filter(_live(datetime.fromtimestamp(now_s, timezone.utc))).count()


def counts(now_s: float) -> TaskCounts:
    now = datetime.fromtimestamp(now_s, timezone.utc)
    tasks = _tasks()
    return TaskCounts(
        live=tasks.filter(_live(now)).count(),
        starting=tasks.filter(ON, starts_at__gt=now, starts_at__lte=now + SOON).count(),
        ending=tasks.filter(_live(now), ends_at__lte=now + SOON).count(),
    )


def newest(now_s: float) -> list[tuple[Any, str]]:
    """The tasks added last, each with its state: live, later, ended or off."""
    now = datetime.fromtimestamp(now_s, timezone.utc)
    return [(task, _state(task, now)) for task in _tasks().order_by("-id")[:SHOWN]]


def _state(task: Any, now: datetime) -> str:
    if task.switched_off or task.archived:
        return "off"
    if task.starts_at > now:
        return "later"
    return "ended" if task.ends_at is not None and task.ends_at <= now else "live"
