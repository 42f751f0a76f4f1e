"""The replica diff's figures for Prometheus, behind an API key with the scope `read` (`authorization: {type: Api-Key}` in Prometheus).

A table of a replica that no run has found clean has no `clean_run_age_seconds`: unknown is not zero.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from apps.dbsvr.diff import findings
from apps.dbsvr.diff.models import DiffRun
from apps.tasks.keys import recognise
from apps.tasks.scopes import READ

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


_registry = CollectorRegistry(auto_describe=False)
_registry.register(DiffCollector())


@never_cache
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    scheme, _, text = request.headers.get("Authorization", "").partition(" ")
    key = recognise(text.strip()) if scheme.lower() == "api-key" else None
    if key is None or READ not in key.scopes:
        answer = HttpResponse("an API key with the scope read is needed\n", "text/plain; charset=utf-8", status=401 if key is None else 403)
        answer["WWW-Authenticate"] = "Api-Key"
        return answer
    return HttpResponse(generate_latest(_registry), "text/plain; version=0.0.4; charset=utf-8")
