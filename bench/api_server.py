"""What the servers of part `api` serve: Tasksys's API, and beside it a bare view and one of Django REST framework.

The two answer as many bytes as the API does for a user with TASKS tasks, and go through no middleware at all. The API is served as
`tasksys_site.wsgi` serves it.
`application` is for WSGI servers, `asynchronous` for ASGI ones (there the bare view is an async one).
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from typing import Any

import django

os.environ["DJANGO_SETTINGS_MODULE"] = "bench.api_settings"

django.setup()

from django.core.handlers.asgi import ASGIHandler  # noqa: E402
from django.core.handlers.wsgi import WSGIHandler  # noqa: E402
from django.test.utils import override_settings  # noqa: E402

from tasksys_site.wsgi import application as tasksys  # noqa: E402

Scope = dict[str, Any]

with override_settings(MIDDLEWARE=[]):
    _plain, _plain_async = WSGIHandler(), ASGIHandler()
_tasksys_async = ASGIHandler()


def application(environ: Scope, start_response: Any) -> Any:
    handler = tasksys if environ["PATH_INFO"].startswith("/api/") else _plain
    return handler(environ, start_response)


async def asynchronous(scope: Scope, receive: Callable[[], Awaitable[Any]], send: Callable[[Any], Awaitable[None]]) -> None:
    handler = _tasksys_async if scope["path"].startswith("/api/") else _plain_async
    await handler(scope, receive, send)  # type: ignore[arg-type]
