"""What is read of the configuration: the compiled tasks that this process holds."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from zoneinfo import ZoneInfo

from django.db import connections

from apps.tasks.change_signals import TASKS
from apps.tasks.decisions import CompiledTask
from apps.tasks.models import Task
from apps.tasks.periods import DAILY, ONCE
from apps.tasks.watch import Held, watch

log = logging.getLogger(__name__)


def compile_task(task: Task) -> CompiledTask:
    """The task as the hot path needs it. Raises ValueError for a time zone that this host does not know."""
    try:
        zone = ZoneInfo(task.time_zone)
    except (OSError, ValueError, KeyError) as error:
        raise ValueError(f"time zone {task.time_zone!r} is not known here") from error
    if task.period not in (ONCE, DAILY):
        raise ValueError(f"period {task.period!r} is not known here")
    texts = task.document.get("texts", {})
    return CompiledTask(
        number=task.id,
        code=task.code,
        name=task.name,
        description=next((text["description"] for text in texts.values() if text.get("description")), ""),
        period=task.period,
        zone=zone,
        starts_at=task.starts_at,
        ends_at=task.ends_at,
        target=task.target,
        points=task.points,
        active=not task.switched_off,
    )


def _load_tasks() -> Mapping[str, CompiledTask]:
    tasks = {}
    for task in Task.objects.filter(archived=False).order_by("code"):
        try:
            tasks[task.code] = compile_task(task)
        except ValueError as error:
            # One bad task must not take the others away.
            log.error("a task cannot be used and is left out", extra={"code": task.code, "error": error})
    return tasks


_tasks: Held[Mapping[str, CompiledTask]] = watch.register(Held(TASKS, _load_tasks))


def compiled_tasks() -> Mapping[str, CompiledTask]:
    """Every task by its code, in the order of the codes, at most about a second old. Raises NotKnownYet."""
    return _tasks.get()


def event_is_known(uid: int, event_id: str) -> bool:
    """Whether the event was applied to the user already: asked of the master, where every acknowledged write is."""
    with connections["userdata"].cursor() as cursor:
        cursor.execute("SELECT 1 FROM applied_event WHERE uid = %s AND event_id = %s", [uid, event_id])
        return cursor.fetchone() is not None
