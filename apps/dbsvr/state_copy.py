"""A copy of the state row beside the database, in the broker's Redis: when the master is away, the console must be able to say so.

Best effort on both sides: a broker that does not answer costs half a second and leaves the page as blind as it would be without the
copy. Nothing is decided by it; it is shown, and it is forgotten after a minute.
"""

from __future__ import annotations

import functools
import logging
import threading

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from tasksys_site.configuration import load

log = logging.getLogger(__name__)

KEY = "tasksys:console_state"
KEPT_S = 60
TIMEOUT_S = 0.5


@functools.cache
def _client() -> redis.Redis | None:
    """None when the broker is no Redis."""
    url = load().broker.url
    if not url.startswith(("redis://", "rediss://")):
        return None
    return redis.Redis.from_url(url, socket_timeout=TIMEOUT_S, socket_connect_timeout=TIMEOUT_S, retry=Retry(NoBackoff(), 0), protocol=2)


def get() -> bytes | None:
    """The copied document, or None when there is none to be had."""
    client = _client()
    try:
        found = client.get(KEY) if client else None
    except redis.RedisError:
        return None
    return found if isinstance(found, bytes) else None


class Copier:
    """Copies the newest state in a thread of its own: a broker that hangs must not hold up the sampler."""

    def __init__(self) -> None:
        self._newest: bytes | None = None
        self._work = threading.Event()
        self._fails = False
        threading.Thread(target=self._run, name="copier", daemon=True).start()

    def put(self, document: bytes) -> None:
        self._newest = document
        self._work.set()

    def _run(self) -> None:
        client = _client()
        while client is not None:
            self._work.wait()
            self._work.clear()
            if self._newest is None:
                continue
            try:
                client.set(KEY, self._newest, ex=KEPT_S)
            except redis.RedisError as error:
                if not self._fails:
                    log.warning("the state cannot be copied to the broker: %s", error)
                self._fails = True
            else:
                self._fails = False
