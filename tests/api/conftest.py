"""Callers of the API: in this process for the many small cases, over HTTP for what only a server does."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.test import Client

from deploy.local.private_stack import PrivateStack
from tests.stack import published
from tests.stack.waiting import eventually

_numbers = itertools.count(random.randrange(10**9, 10**10) * 1000, 1_000)


@dataclass
class Caller:
    """A logic server with one API key. Every answer must be JSON, and no answer may be a 500."""

    key: str | None
    client: Client = field(default_factory=lambda: Client(raise_request_exception=False))

    def call(self, method: str, path: str, body: Any = None, **more: Any) -> tuple[int, dict[str, Any]]:
        headers = dict(more.pop("headers", {}))
        if self.key is not None:
            headers.setdefault("Authorization", f"Api-Key {self.key}")
        data = body if isinstance(body, str | bytes) else b"" if body is None else json.dumps(body)
        more.setdefault("content_type", "application/json")
        answer = self.client.generic(method, path, data, headers=headers, **more)
        assert answer.status_code != 500, answer.content
        expected = "application/json" if answer.status_code == 200 else "application/problem+json"
        assert answer.headers["Content-Type"] == expected, answer.content
        self.headers = answer.headers
        return answer.status_code, json.loads(answer.content)

    def tasks(self, uid: Any, query: str = "") -> tuple[int, dict[str, Any]]:
        return self.call("GET", f"/api/v1/users/{uid}/tasks{query}")

    def complete(self, uid: Any, code: str, event_id: str, **more: Any) -> tuple[int, dict[str, Any]]:
        return self.call("POST", f"/api/v1/users/{uid}/tasks/{code}/complete", {"event_id": event_id, **more})

    def forget(self, uid: Any, event_id: str | None = None) -> tuple[int, dict[str, Any]]:
        return self.call("DELETE", f"/api/v1/users/{uid}", headers={"Idempotency-Key": event_id} if event_id else {})


@pytest.fixture(scope="session")
def keys(django_on_stack: PrivateStack) -> dict[str, str]:
    """One key for each scope, and one with all."""
    from apps.tasks.keys import create_api_key, recognise
    from apps.tasks.scopes import SCOPES

    made = {scope: create_api_key(f"test {scope}", [scope])[1] for scope in SCOPES}
    made["all"] = create_api_key("test all", SCOPES)[1]
    eventually(lambda: all(recognise(key) for key in made.values()))
    return made


@pytest.fixture
def api(keys: dict[str, str], stack: PrivateStack) -> Caller:
    return Caller(keys["all"])


@pytest.fixture
def uid() -> int:
    """A user whom nobody else asks for; nor for the thousand after him, whom a batch may take."""
    return next(_numbers)


@pytest.fixture
def make_task(django_on_stack: PrivateStack) -> Callable[..., Any]:
    """A valid task, published, and known to this process when it is handed out. Fields are those of a task document."""
    from apps.tasks.live_bundle import live
    from apps.tasks.models import Task

    def make(**fields: Any) -> Task:
        document = published.task(**fields)
        published.publish_tasks(document)
        eventually(lambda: document.code in live().bundle.by_code)
        return Task.objects.get(code=document.code)

    return make
