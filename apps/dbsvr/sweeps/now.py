"""How the sweeps stand now: for the sampler, which judges it."""

from __future__ import annotations

import time
from datetime import datetime

from apps.dbsvr.sweep_rules import SweepNow, SweepsNow
from apps.dbsvr.sweeps.models import Sweep
from tasksys_site.configuration import Configuration


def sweeps_now(configuration: Configuration) -> SweepsNow | None:
    """None where none are made. Raises the database's errors."""
    if not configuration.sweep.at:
        return None
    return SweepsNow(time.time(), tuple(_now(sweep) for sweep in Sweep.objects.order_by("table")))


def _now(sweep: Sweep) -> SweepNow:
    began_at = _moment(sweep.began_at) if sweep.is_under_way else None
    return SweepNow(sweep.table, sweep.error, _moment(sweep.failing_since), began_at, sweep.waits)


def _moment(at: datetime | None) -> float | None:
    return None if at is None else at.timestamp()
