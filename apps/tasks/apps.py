"""The app that holds the task configuration and the REST API on it."""

from __future__ import annotations

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class TasksConfig(AppConfig):
    name = "apps.tasks"
    verbose_name = _("Task configuration")

    def ready(self) -> None:
        from apps.tasks import change_signals
        from apps.tasks.people import logins

        change_signals.connect()
        logins.connect()
