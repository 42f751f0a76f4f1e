"""Where a task stands in its life: what operators see in the list and filter by. The same words as a query and for one task."""

from __future__ import annotations

from datetime import datetime

from django.db.models import Q, TextChoices
from django.utils.translation import gettext_lazy as _

from apps.tasks.models import Task


class TaskState(TextChoices):
    LIVE = "live", _("live")
    UPCOMING = "upcoming", _("upcoming")
    ENDED = "ended", _("ended")
    OFF = "off", _("switched off")


def state_of(task: Task, now: datetime) -> TaskState:
    """An ended task is ended, also when it is switched off: nothing is left to switch."""
    if task.ends_at is not None and now >= task.ends_at:
        return TaskState.ENDED
    if not task.active:
        return TaskState.OFF
    return TaskState.LIVE if now >= task.starts_at else TaskState.UPCOMING


def tasks_in(state: TaskState, now: datetime) -> Q:
    """Selects exactly the tasks for which `state_of` says this state."""
    not_ended = Q(ends_at__isnull=True) | Q(ends_at__gt=now)
    return {
        TaskState.ENDED: Q(ends_at__lte=now),
        TaskState.OFF: not_ended & Q(active=False),
        TaskState.LIVE: not_ended & Q(active=True, starts_at__lte=now),
        TaskState.UPCOMING: not_ended & Q(active=True, starts_at__gt=now),
    }[state]
