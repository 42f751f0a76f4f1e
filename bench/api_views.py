"""A view that answers a constant, and one of Django REST framework with a serializer for the same payload."""

from __future__ import annotations

import json
import os
import time
import uuid
from functools import lru_cache
from pathlib import Path
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import path
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.dbsvr.db_interface import db_interface
from apps.tasks.api.shapes import TaskSerializer
from bench.api_facts import FIRST_UID, PAYLOAD_VARIABLE, THREADS_ALONE, USERS
from bench.together import run_together
from workers.protocol import Change


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


def process(request: HttpRequest) -> HttpResponse:
    """Which of the server's processes answers."""
    return HttpResponse(str(os.getpid()), content_type="text/plain")


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


def alone(request: HttpRequest) -> HttpResponse:
    """What DbInterface alone does from this very process: writes a second by THREADS_ALONE threads, in `for_s` seconds.

    To users of its own, who have as many records: writes past the cache would take the others' copies away."""
    for_s = float(request.GET["for_s"])
    written = [0] * THREADS_ALONE

    def write(place: int) -> None:
        until = time.monotonic() + for_s
        change = Change(task=int(request.GET["task"]), period="once", op="add", value=1, target=10**6, points=0, revision=1)
        while time.monotonic() < until:
            db_interface().finish(FIRST_UID + USERS + place, "none", uuid.uuid4().hex, [change])
            written[place] += 1

    began = time.monotonic()
    run_together(write, THREADS_ALONE)
    return HttpResponse(f"{sum(written) / (time.monotonic() - began):.1f}", headers={"Content-Type": "text/plain"})


urlpatterns = [
    path("alone", alone),
    path("bare", bare),
    path("bare-async", bare_async),
    path("drf", WithSerializer.as_view()),
    path("process", process),
]
