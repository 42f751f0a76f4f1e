"""Every saved or deleted task or key raises its change counter, on whichever path it was saved: page, command or shell.

`QuerySet.update()` sends no signal; the watch reloads everything now and then, which covers that path too, only later.
"""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.db.models import Model
from django.db.models.signals import post_delete, post_save

from apps.tasks.models import ApiKey, ChangeCounter, Task
from apps.tasks.watch import watch

TASKS, KEYS = "tasks", "keys"


def connect() -> None:
    for model, name in ((Task, TASKS), (ApiKey, KEYS)):
        for signal in (post_save, post_delete):
            signal.connect(_raise_counter, sender=model, dispatch_uid=f"{name}-{id(signal)}")


def _raise_counter(sender: type[Model], **_unused: Any) -> None:
    ChangeCounter.raise_by_one(TASKS if sender is Task else KEYS)
    transaction.on_commit(watch.wake)
