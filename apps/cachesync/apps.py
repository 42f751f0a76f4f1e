"""The app of the cache nodes: TaskInterface, the registry of nodes, the cache sync center."""

from __future__ import annotations

from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.db.models.signals import post_migrate


class CachesyncConfig(AppConfig):
    name = "apps.cachesync"
    label = "cachesync"
    verbose_name = "Cache"

    def ready(self) -> None:
        post_migrate.connect(_take_over_configured_nodes, sender=self)


def _take_over_configured_nodes(using: str = "default", **_named: Any) -> None:
    if using == "default":
        from apps.cachesync import registry

        registry.take_over(settings.CONFIGURATION.cache.nodes)
