"""One name for one request, in its answer and in every log line that it causes.

The caller's own, if it is harmless in logs and headers; else one that is made here. It authorizes nothing, so it need not be secret.
"""

from __future__ import annotations

import random
import re

from django.http import HttpRequest

HEADER = "X-Request-Id"
_HARMLESS = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@/+=-]{0,63}")
_draw = random.Random().getrandbits  # of its own: nobody seeds it


def request_id_of(request: HttpRequest) -> str:
    given: str | None = request.META.get("HTTP_X_REQUEST_ID")
    if given is not None and _HARMLESS.fullmatch(given):
        return given
    return f"{_draw(64):016x}"
