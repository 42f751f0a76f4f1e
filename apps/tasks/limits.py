"""How often a key may ask: a token bucket for each key, shared by all processes, at no round trip for most requests.

The bucket lies in the broker's Redis, where one script fills it and takes out of it. A process does not take single tokens there but
portions: the first has one token, and each that is used up within its second is followed by one twice as large, up to those of
PORTION_S. So a busy process asks ten times a second, whatever it serves, and one that is asked now and then holds hardly anything back
from the others. All together never let through more than the bucket gives. Who was refused is refused without a round trip until the
bucket has a token.

While the broker does not answer, each process goes by a bucket of its own, with its share of what one host may. A batch is one request.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple, Protocol

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from tasksys_site.configuration import load

log = logging.getLogger(__name__)

PORTION_S = 0.1
LASTS_S = 1.0
"""A portion that is not used by then is gone."""
BROKER_TIMEOUT_S = 0.1
LEFT_ALONE_S = 1.0
"""After a broker that did not answer."""

TAKE = """
local rate, burst, want = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local saved = redis.call('HMGET', KEYS[1], 'tokens', 'at')
local tokens = burst
if saved[1] then tokens = math.min(burst, saved[1] + math.max(0, now - saved[2]) * rate / 1000000) end
local given = math.min(want, math.floor(tokens))
tokens = tokens - given
redis.call('HSET', KEYS[1], 'tokens', tostring(tokens), 'at', string.format('%.0f', now))
redis.call('PEXPIRE', KEYS[1], math.ceil(burst / rate * 1000) + 10000)
if given > 0 then return {given, 0} end
return {0, math.ceil((1 - tokens) / rate * 1000)}
"""
"""ARGV: tokens a second, tokens at most, tokens wanted. The tokens given, at least one, or 0 and in how many ms there will be one."""


class Limit(NamedTuple):
    per_s: int
    burst: int
    """So many at once after a pause."""


class Allowance(Protocol):
    def take(self, number: int, limit: Limit, want: int) -> tuple[int, float]:
        """Tokens given out of the key's bucket; when it is none, in how many seconds there will be one."""


class BrokerFailed(Exception):
    """The broker did not answer."""


class SharedAllowance:
    """The bucket that all processes share."""

    def __init__(self, url: str) -> None:
        """Raises BrokerFailed for a broker that is no Redis."""
        if not url.startswith(("redis://", "rediss://")):
            raise BrokerFailed("the broker is no Redis")
        self._client = redis.Redis.from_url(
            url, socket_timeout=BROKER_TIMEOUT_S, socket_connect_timeout=BROKER_TIMEOUT_S, retry=Retry(NoBackoff(), 0)
        )
        self._take = self._client.register_script(TAKE)

    def take(self, number: int, limit: Limit, want: int) -> tuple[int, float]:
        try:
            given, wait_ms = self._take(keys=[f"tasksys:limit:{number}"], args=[limit.per_s, limit.burst, want])
        except (redis.RedisError, OSError) as error:
            raise BrokerFailed(str(error)) from error
        return int(given), int(wait_ms) / 1000


class OwnAllowance:
    """One process's own, without a broker: it gets its share of the limit. `processes`: of a host."""

    def __init__(self, processes: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._processes = processes
        self._clock = clock
        self._filled: dict[int, tuple[float, float]] = {}

    def take(self, number: int, limit: Limit, want: int) -> tuple[int, float]:
        rate, most = limit.per_s / self._processes, max(1.0, limit.burst / self._processes)
        now = self._clock()
        tokens, at = self._filled.get(number, (most, now))
        tokens = min(most, tokens + (now - at) * rate)
        given = min(want, int(tokens))
        self._filled[number] = (tokens - given, now)
        return given, 0.0 if given else (1 - tokens) / rate


class _Portion:
    """What this process may let through of one key, and until when; or until when nothing."""

    def __init__(self, limit: Limit) -> None:
        self.lock = threading.Lock()
        self.begin(limit)

    def begin(self, limit: Limit) -> None:
        self.limit = limit
        self.tokens = 0
        self.size = 0
        self.until = 0.0
        self.refused_until = 0.0


class Limits:
    """Shared by threads."""

    def __init__(self, shared: Callable[[], Allowance], own: Allowance, clock: Callable[[], float] = time.monotonic) -> None:
        """`shared` makes, or has, the bucket of all processes; it or its bucket may raise BrokerFailed."""
        self._shared = shared
        self._own = own
        self._clock = clock
        self._portions: dict[int, _Portion] = {}
        self._left_alone_until = 0.0
        self._is_failing = False

    def take(self, number: int, limit: Limit) -> float:
        """0: key `number` may have one more request answered. Else in how many seconds it is worth trying again."""
        portion = self._portions.get(number)
        if portion is None:
            portion = self._portions.setdefault(number, _Portion(limit))
        with portion.lock:
            now = self._clock()
            if portion.limit != limit:
                portion.begin(limit)  # changed: what is held counts no more
            if portion.tokens and now < portion.until:
                portion.tokens -= 1
                return 0.0
            if now < portion.refused_until:
                return portion.refused_until - now
            # Used up in time: the next may be larger. Not used: begin anew.
            most = max(1, int(limit.per_s * PORTION_S))
            portion.size = min(most, 2 * portion.size) if portion.size and now < portion.until else 1
            given, wait_s = self._take(number, limit, portion.size)
            if not given:
                portion.tokens, portion.refused_until = 0, now + wait_s
                return max(wait_s, 0.001)
            portion.tokens, portion.until = given - 1, now + LASTS_S
            return 0.0

    def _take(self, number: int, limit: Limit, want: int) -> tuple[int, float]:
        if self._clock() >= self._left_alone_until:
            try:
                taken = self._shared().take(number, limit, want)
            except BrokerFailed as failed:
                self._left_alone_until = self._clock() + LEFT_ALONE_S
                if not self._is_failing:
                    log.warning(
                        "limits of API keys are kept by each process for itself: the broker does not answer", extra={"error": failed}
                    )
                self._is_failing = True
            else:
                if self._is_failing:
                    log.info("limits of API keys are shared by all processes again")
                self._is_failing = False
                return taken
        return self._own.take(number, limit, 1)


@lru_cache(maxsize=1)
def _shared_allowance() -> SharedAllowance:
    return SharedAllowance(load().broker.url)


limits = Limits(_shared_allowance, OwnAllowance(load().web.workers))
