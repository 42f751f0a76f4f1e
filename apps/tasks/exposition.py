"""How figures are handed to Prometheus: as text, behind an API key with the scope `read` (`authorization: {type: Api-Key}` there).

Whose figures they are, and which, says the collector. Any web process answers for all, since they stand in the database.
"""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.registry import Collector

from apps.tasks.keys import recognise
from apps.tasks.scopes import READ


def registry_of(collector: Collector) -> CollectorRegistry:
    """Without asking it what it would say: that would query the database while modules are imported."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(collector)
    return registry


def expose(request: HttpRequest, registry: CollectorRegistry) -> HttpResponse:
    scheme, _, text = request.headers.get("Authorization", "").partition(" ")
    key = recognise(text.strip()) if scheme.lower() == "api-key" else None
    if key is None or READ not in key.scopes:
        answer = HttpResponse("an API key with the scope read is needed\n", "text/plain; charset=utf-8", status=401 if key is None else 403)
        answer["WWW-Authenticate"] = "Api-Key"
        return answer
    return HttpResponse(generate_latest(registry), "text/plain; version=0.0.4; charset=utf-8")
