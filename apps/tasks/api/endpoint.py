"""How an endpoint is called: the key, its scope, its limit, the method; every fault a problem.

drf-spectacular describes an ApiView as it describes every view of Django REST framework, but nothing of that framework runs in a request:
it would cost more than evaluating the user does (docs/decisions/0013-the-hot-read-path.md). One instance serves all requests, so a
view keeps nothing in `self`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar

from django.db import close_old_connections
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from rest_framework.views import APIView

from apps.tasks.api.authentication import key_of
from apps.tasks.api.problems import Problem, answer_error
from apps.tasks.keys import KnownKey
from apps.tasks.limits import limits

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")

Handler = Callable[..., HttpResponse]


class ApiRequest(HttpRequest):
    """What a view is given, after its key was recognised. For type checkers: it is the server's own request."""

    user: KnownKey  # type: ignore[assignment]


class ApiView(APIView):
    """`scopes`: what each method needs; a method without one is open to every key."""

    scopes: ClassVar[dict[str, str]] = {}
    asks_django: ClassVar[bool] = True
    """Whether it queries a database by Django, so that a connection which has become too old or broken is closed before."""

    def __init__(self, **initial: Any) -> None:
        super().__init__(**initial)
        self._handlers: dict[str, Handler] = {name: getattr(self, name.lower()) for name in METHODS if hasattr(self, name.lower())}
        if "GET" in self._handlers:
            self._handlers["HEAD"] = self._handlers["GET"]  # the server leaves the body out
        self._allowed = ", ".join([*self._handlers, "OPTIONS"])

    @classmethod
    def as_view(cls, **initial: Any) -> Handler:  # type: ignore[override]
        """The function that Django calls, with the marks by which the schema finds the class."""
        described = super().as_view(**initial)
        endpoint = cls(**initial)

        def view(request: ApiRequest, **arguments: str) -> HttpResponse:
            return endpoint.answer(request, **arguments)

        vars(view).update(vars(described))
        return view

    def answer(self, request: ApiRequest, **arguments: str) -> HttpResponse:
        try:
            if self.asks_django:
                close_old_connections()
            return self._handler(request)(request, **arguments)
        except Exception as error:  # noqa: BLE001  # whatever went wrong, a problem is answered
            return answer_error(error, request)

    def _handler(self, request: ApiRequest) -> Handler:
        """What is to answer this request. Raises Problem when its key may not ask for it."""
        method = request.method or ""
        if method == "OPTIONS":
            return self._say_methods
        key = request.user = key_of(request)
        handler = self._handlers.get(method)
        if handler is None:
            sentence = _("This address answers to: %(methods)s.") % {"methods": self._allowed}
            raise Problem("method_not_allowed", sentence, headers={"Allow": self._allowed})
        scope = self.scopes.get(method)
        if scope is not None and scope not in key.scopes:
            raise Problem("scope_missing", _("This API key lacks the scope “%(scope)s”.") % {"scope": scope})
        if key.limit is not None and (wait_s := limits.take(key.number, key.limit)):
            raise Problem(
                "rate_limited",
                _("This API key may make %(count)d requests a second.") % {"count": key.limit.per_s},
                headers={"Retry-After": str(math.ceil(wait_s))},
            )
        return handler

    def _say_methods(self, request: ApiRequest, **arguments: str) -> HttpResponse:
        """Of OPTIONS: nothing is done, so no key is needed."""
        response = HttpResponse(status=204, headers={"Allow": self._allowed})
        del response.headers["Content-Type"]
        return response
