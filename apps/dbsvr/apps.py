"""The app on the logic side of the DBSvr: its client, the samples of its figures, and the operators' console."""

from __future__ import annotations

from importlib import import_module

from django.apps import AppConfig


class DbsvrConfig(AppConfig):
    name = "apps.dbsvr"
    label = "dbsvr"
    verbose_name = "DBSvr"

    def ready(self) -> None:
        # A shared_task belongs to the app that exists when it is first sent; without this one that is a default broker.
        import_module("tasksys_site.celery")
