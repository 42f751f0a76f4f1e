"""`manage.py sampler`: the process that watches every DBSvr. Ends with 0 within a second of TERM or INT."""

from __future__ import annotations

import signal
import threading
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from apps.cachesync.summary import cache_now
from apps.dbsvr.sampler import Sampler
from apps.tasks.points.console import points_now
from apps.tasks.profiles.watch import profiles_now


class Command(BaseCommand):
    help = "Ask every DBSvr for its figures once a second, judge them, and keep their history."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        stop = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda _number, _frame: stop.set())
        Sampler(settings.CONFIGURATION, stop, cache_now, points_now, profiles_now).run()
