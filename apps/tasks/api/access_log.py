"""One line in the log for every request of the API: what was asked, by which key, what became of it, how long it took.

    2026-11-30T04:23:25.123Z info apps.tasks.api.access "GET /api/v1/users/{uid}/tasks" status=200 ms=1.3 key="game server" request_id=…

Addresses stand as their templates: a uid in a log is personal data, and a line per user adds up to nothing. A request only notes its
facts; a thread writes the lines five times a second, because a log record of its own would cost a request as much as reading the cache.
Whoever is killed loses the last fifth of a second of them.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections import deque
from functools import lru_cache
from typing import NamedTuple, TextIO

from tasksys_site.logs import moment_text, quoted, value_text

log = logging.getLogger("apps.tasks.api.access")

UNKNOWN = "unknown"
"""The route of an address that there is none of."""
EVERY_S = 0.2
MOST_WAITING = 100_000
"""Of lines that nobody has written yet; the oldest go. Only a thread that hangs lets so many gather."""


class Access(NamedTuple):
    at: float
    """When it was answered, in seconds since 1970."""
    method: str
    route: str
    status: int
    ms: float
    key: str
    request_id: str


class AccessLog:
    def __init__(self, out: TextIO | None = None, every_s: float = EVERY_S) -> None:
        """`out`: standard error without it, as it is when lines are written."""
        self._out = out
        self._every_s = every_s
        self._waiting: deque[Access] = deque(maxlen=MOST_WAITING)
        self._starting = threading.Lock()
        self._pid = 0

    @property
    def is_on(self) -> bool:
        return log.isEnabledFor(logging.INFO)

    def note(self, access: Access) -> None:
        self._waiting.append(access)
        if self._pid != os.getpid():
            self._start()

    def write(self) -> None:
        """What waits, in the calling thread."""
        lines = []
        while self._waiting:
            lines.append(text_of(self._waiting.popleft()))
        if lines:
            out = self._out or sys.stderr
            out.write("\n".join(lines) + "\n")
            out.flush()

    def _start(self) -> None:
        """A forked process has no thread."""
        with self._starting:
            if self._pid != os.getpid():
                self._pid = os.getpid()
                threading.Thread(target=self._run, name="access log", daemon=True).start()

    def _run(self) -> None:
        pause = threading.Event()
        while True:
            pause.wait(self._every_s)
            try:
                self.write()
            except Exception:  # the thread must outlive whatever has happened to the log's other end
                log.exception("access lines could not be written")


def text_of(access: Access) -> str:
    """As `line_of` writes it. What repeats is kept: a line for every request is a twentieth of the request."""
    said, key = _said(access.method, access.route, access.status), _key_said(access.key)
    return f"{moment_text(access.at)} {said} ms={access.ms:.1f} {key} request_id={value_text(access.request_id)}"


@lru_cache(maxsize=1024)
def _said(method: str, route: str, status: int) -> str:
    return f"info {log.name} {quoted(f'{method} {template_of(route)}')} status={status}"


@lru_cache(maxsize=256)
def _key_said(name: str) -> str:
    return f"key={value_text(name or 'none')}"


@lru_cache(maxsize=256)
def template_of(route: str) -> str:
    """`users/<str:uid>/tasks` as the schema says it: /api/v1/users/{uid}/tasks."""
    return UNKNOWN if route == UNKNOWN else "/api/v1/" + route.replace("<str:", "{").replace(">", "}")


access_log = AccessLog()
