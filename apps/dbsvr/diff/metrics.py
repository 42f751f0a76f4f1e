"""The replica diff's figures for Prometheus.

A table of a replica that no run has found clean has no `clean_run_age_seconds`: unknown is not zero.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from apps.dbsvr.diff import findings
from apps.dbsvr.diff.models import DiffRun
from apps.tasks.exposition import expose, registry_of

PREFIX = "tasksys_diff_"
WHERE = ("replica", "schema", "table")


class DiffCollector(Collector):
    def collect(self) -> Iterator[Metric]:
        newest = DiffRun.objects.values_list("replica", "schema", "table").distinct()
        differing = GaugeMetricFamily(f"{PREFIX}differences", "Rows of a replica that are not the master's", labels=WHERE)
        open_ones = findings.open_differences()
        for where in sorted({*newest, *open_ones}):
            differing.add_metric(where, open_ones.get(where, 0))
        yield differing
        age = GaugeMetricFamily(f"{PREFIX}clean_run_age_seconds", "Since a comparison of it ended equal", labels=WHERE)
        for where, at in sorted(findings.last_clean_runs().items()):
            age.add_metric(where, max(0.0, time.time() - at.timestamp()))
        yield age
        runs = GaugeMetricFamily(f"{PREFIX}runs", "Comparisons that have not ended", labels=("replica", "state"))
        going = DiffRun.objects.filter(ended_at=None).values_list("replica", "state").annotate(Count("pk"))
        for replica, state, count in going.order_by("replica", "state"):
            runs.add_metric((replica, state), count)
        yield runs


_registry = registry_of(DiffCollector())


@never_cache
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    return expose(request, _registry)
