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
    ARCHIVED = "archived", _("archived")


def state_of(task: Task, now: datetime) -> TaskState:
    """An ended task is ended, also when it is switched off: nothing is left to switch. An archived one is only that."""
    if task.archived:
        return TaskState.ARCHIVED
    if task.ends_at is not None and now >= task.ends_at:
        return TaskState.ENDED
    if task.switched_off:
        return TaskState.OFF
    return TaskState.LIVE if now >= task.starts_at else TaskState.UPCOMING


def tasks_in(state: TaskState, now: datetime) -> Q:
    """Selects exactly the tasks for which `state_of` says this state."""
    kept = Q(archived=False)
    not_ended = kept & (Q(ends_at__isnull=True) | Q(ends_at__gt=now))
    return {
        TaskState.ARCHIVED: Q(archived=True),
        TaskState.ENDED: kept & Q(ends_at__lte=now),
        TaskState.OFF: not_ended & Q(switched_off=True),
        TaskState.LIVE: not_ended & Q(switched_off=False, starts_at__lte=now),
        TaskState.UPCOMING: not_ended & Q(switched_off=False, starts_at__gt=now),
    }[state]
