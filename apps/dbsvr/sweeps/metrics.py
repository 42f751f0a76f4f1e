"""The sweeps for Prometheus. A table whose round has never ended has no age: unknown is not zero."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import datetime, timezone
from datetime import time as time_of_day

from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from apps.dbsvr.sweeps.models import Sweep
from apps.tasks.exposition import expose, registry_of

PREFIX = "tasksys_sweep_"


class SweepCollector(Collector):
    def collect(self) -> Iterator[Metric]:
        ended = GaugeMetricFamily(f"{PREFIX}ended_age_seconds", "Since a round of the table came to its end", labels=("table",))
        oldest = GaugeMetricFamily(f"{PREFIX}oldest_row_age_seconds", "Of the rows that the last round left", labels=("table",))
        removed = CounterMetricFamily(f"{PREFIX}removed_rows", "Rows deleted because they were old", labels=("table",))
        failing = GaugeMetricFamily(f"{PREFIX}failing", "1 while a sweep cannot go on", labels=("table",))
        now = time.time()
        for sweep in Sweep.objects.order_by("table"):
            where = (sweep.table,)
            if sweep.ended_at is not None:
                ended.add_metric(where, max(0.0, now - sweep.ended_at.timestamp()))
            if sweep.oldest is not None:
                began = datetime.combine(sweep.oldest, time_of_day.min, timezone.utc)
                oldest.add_metric(where, max(0.0, now - began.timestamp()))
            removed.add_metric(where, sweep.removed_ever)
            failing.add_metric(where, int(bool(sweep.error)))
        yield from (ended, oldest, removed, failing)


_registry = registry_of(SweepCollector())


@never_cache
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    return expose(request, _registry)
