"""Where the screens that show a task lead to."""

from __future__ import annotations

from urllib.parse import urlencode

from django.urls import reverse


def task_address(code: str) -> str:
    """The task in the list: there is its form, and whatever a draft does with it."""
    return f"{reverse('admin:tasks_task_changelist')}?{urlencode({'q': code})}"
