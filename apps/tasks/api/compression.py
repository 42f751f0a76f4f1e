"""Which answers travel as gzip: those that are worth it, to who takes it."""

from __future__ import annotations

import gzip
from functools import lru_cache

from django.http import HttpResponse

SMALLEST_BYTES = 1024
"""Below it headers are most of the answer, and compressing costs more time than it saves."""
LEVEL = 1
"""Lists of tasks repeat themselves so much that the highest levels gain little for several times the work."""


def compress_for(accept_encoding: str, response: HttpResponse) -> None:
    """Compresses the answer in place, unless it is small or compressed already. Says on what it depends."""
    headers = response.headers
    vary = headers.get("Vary")
    if len(response.content) < SMALLEST_BYTES:
        headers["Vary"] = f"{vary}, Accept-Language" if vary else "Accept-Language"
        return
    if not vary:
        headers["Vary"] = "Accept-Language, Accept-Encoding"
    if "Content-Encoding" not in headers and takes_gzip(accept_encoding):
        response.content = gzip.compress(response.content, LEVEL, mtime=0)
        headers["Content-Encoding"] = "gzip"


@lru_cache(maxsize=256)
def takes_gzip(accept_encoding: str) -> bool:
    for offer in accept_encoding.lower().split(","):
        name, _semicolon, weight = offer.partition(";")
        if name.strip() in ("gzip", "*"):
            return weight.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return False
