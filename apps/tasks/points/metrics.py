"""The delivery of points for Prometheus: what waits and for how long, what was given up, how fast it goes.

While no points system is configured grants wait too, and are shown. Nothing waits: there is no age, since unknown or none is not zero.
"""

from __future__ import annotations

from collections.abc import Iterator

from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from apps.tasks.exposition import expose, registry_of
from apps.tasks.points import figures
from apps.tasks.points.provider import provider

PREFIX = "tasksys_points_"


class PointsCollector(Collector):
    def collect(self) -> Iterator[Metric]:
        now = figures.collect()
        grants = GaugeMetricFamily(f"{PREFIX}grants", f"Grants in a state, counted to {figures.COUNTED_TO}", labels=("state",))
        for state, count in now.counts.items():
            grants.add_metric((state,), count)
        yield grants
        if now.oldest_at is not None:
            yield GaugeMetricFamily(
                f"{PREFIX}oldest_wait_seconds", "Since the oldest grant on its way was made", max(0.0, now.at - now.oldest_at)
            )
        lately = figures.delivery()
        yield GaugeMetricFamily(f"{PREFIX}requests_per_second", "To the points system, over the last minute", lately.rate_per_s)
        yield GaugeMetricFamily(f"{PREFIX}confirmed_last_minute", "Grants that it has confirmed in the last minute", lately.confirmed)
        if lately.slowest_ms is not None:
            yield GaugeMetricFamily(f"{PREFIX}slowest_answer_seconds", "Its slowest answer of the last minute", lately.slowest_ms / 1000)
        yield GaugeMetricFamily(f"{PREFIX}paused", "1 while an operator has paused delivery", int(provider().paused))


_registry = registry_of(PointsCollector())


@never_cache
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    return expose(request, _registry)
