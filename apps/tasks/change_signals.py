"""Every saved or deleted key raises its change counter, on whichever path it was saved: page, command or shell.

`QuerySet.update()` sends no signal; the watch reloads everything now and then, which covers that path too, only later. Published tasks
come by another way (`live_bundle`).
"""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.db.models import Model
from django.db.models.signals import post_delete, post_save

from apps.tasks.models import ApiKey, ChangeCounter
from apps.tasks.watch import watch

KEYS = "keys"


def connect() -> None:
    for signal in (post_save, post_delete):
        signal.connect(_raise_counter, sender=ApiKey, dispatch_uid=f"{KEYS}-{id(signal)}")


def _raise_counter(sender: type[Model], **_unused: Any) -> None:
    ChangeCounter.raise_by_one(KEYS)
    transaction.on_commit(watch.wake)
