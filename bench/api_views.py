"""A view that answers a constant, and one of Django REST framework with a serializer for the same payload."""

from __future__ import annotations

import json
import os
from functools import lru_cache
from pathlib import Path
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import path
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.tasks.api.shapes import TaskSerializer
from bench.api_facts import PAYLOAD_VARIABLE


@lru_cache(maxsize=1)
def _payload() -> bytes:
    return Path(os.environ[PAYLOAD_VARIABLE]).read_bytes()


@lru_cache(maxsize=1)
def _value() -> Any:
    """As a view would have it from its models: moments are moments."""
    value = json.loads(_payload())
    field = serializers.DateTimeField()
    for task in value["tasks"]:
        for name in ("starts_at", "ends_at", "resets_at", "completed_at", "claimed_at", "claim_until"):
            task[name] = field.to_internal_value(task[name]) if task[name] else None
    return value


def bare(request: HttpRequest) -> HttpResponse:
    return HttpResponse(_payload(), content_type="application/json", headers={"Content-Length": str(len(_payload()))})


async def bare_async(request: HttpRequest) -> HttpResponse:
    return HttpResponse(_payload(), content_type="application/json", headers={"Content-Length": str(len(_payload()))})


class UserTasks(serializers.Serializer):  # type: ignore[type-arg]
    uid = serializers.IntegerField()
    generation = serializers.IntegerField()
    version = serializers.IntegerField()
    points = serializers.IntegerField()
    tasks = TaskSerializer(many=True)


class WithSerializer(APIView):
    authentication_classes = ()
    permission_classes = ()
    schema = None

    def get(self, request: Request) -> Response:
        return Response(UserTasks(_value()).data)


urlpatterns = [path("bare", bare), path("bare-async", bare_async), path("drf", WithSerializer.as_view())]
