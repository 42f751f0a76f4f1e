"""The first middleware: it answers `/api/v1/` by itself, and lets everything else through to the pages' machinery.

A logic server has no session, no cookie, no page to be framed and no form to be forged, so none of the middleware after this one does
anything for it but take time. What it needs is done here: a request id, the language of sentences, compression, a line in the log.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import lru_cache
from importlib import import_module

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.request import split_domain_port, validate_host
from django.utils.translation import gettext as _

from apps.tasks.api.access_log import UNKNOWN, Access, access_log
from apps.tasks.api.addresses import Addresses
from apps.tasks.api.compression import compress_for
from apps.tasks.api.languages import language_of, speak
from apps.tasks.api.problems import Problem, answer_error
from apps.tasks.api.request_ids import HEADER as REQUEST_ID
from apps.tasks.api.request_ids import request_id_of
from apps.tasks.publishing.audit import asked_from
from tasksys_site.client_address import client_address
from tasksys_site.logs import request_id as id_in_logs

ROOT = "api/v1/"
Answer = Callable[[HttpRequest], HttpResponse]


class ApiEntrance:
    def __init__(self, get_response: Answer) -> None:
        self._get_response = get_response
        self._addresses = Addresses(import_module("apps.tasks.api.urls").urlpatterns)
        self._security = {"X-Content-Type-Options": "nosniff"}
        if settings.CONFIGURATION.web.hsts_days:
            self._security["Strict-Transport-Security"] = f"max-age={settings.SECURE_HSTS_SECONDS}"

    def __call__(self, request: HttpRequest) -> HttpResponse:
        request_id = request_id_of(request)
        token = id_in_logs.set(request_id)
        try:
            if request.path_info.startswith(ROOT, 1):
                response = self._answer_api(request, request_id)
            else:
                response = self._get_response(request)
            response.headers[REQUEST_ID] = request_id
            return response
        finally:
            id_in_logs.reset(token)

    def _answer_api(self, request: HttpRequest, request_id: str) -> HttpResponse:
        began_at = time.perf_counter()
        # Each time: the thread still has the language of its last request.
        speak(request, language_of(request.META.get("HTTP_ACCEPT_LANGUAGE", "")))
        route = UNKNOWN
        try:
            if not is_known_host(request.META.get("HTTP_HOST") or request.META.get("SERVER_NAME", "")):
                raise Problem("bad_request", _("This installation goes by another name."), "header/Host")
            address, arguments = self._addresses.find(request.path_info[len(ROOT) + 1 :])
            route = address.route
            if request.method in ("GET", "HEAD"):
                response = address.view(request, **arguments)
            else:
                with asked_from(client_address(request)):
                    response = address.view(request, **arguments)
        except Exception as error:  # noqa: BLE001  # whatever went wrong, a problem is answered
            response = answer_error(error, request)
        self._finish(request, response)
        if access_log.is_on:
            key = getattr(request, "user", None)
            ms = (time.perf_counter() - began_at) * 1000
            access_log.note(Access(time.time(), request.method or "", route, response.status_code, ms, key.name if key else "", request_id))
        return response

    def _finish(self, request: HttpRequest, response: HttpResponse) -> None:
        headers = response.headers
        headers["Content-Language"] = request.LANGUAGE_CODE  # a view may have chosen another
        for name, value in self._security.items():
            headers[name] = value
        compress_for(request.META.get("HTTP_ACCEPT_ENCODING", ""), response)
        if response.status_code not in (204, 304):
            headers["Content-Length"] = str(len(response.content))


@lru_cache(maxsize=1024)
def is_known_host(host: str) -> bool:
    """As HttpRequest.get_host has it."""
    domain, _port = split_domain_port(host)
    return bool(domain) and validate_host(domain, settings.ALLOWED_HOSTS)
