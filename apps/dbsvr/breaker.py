"""When to leave a failing server alone, and when to try it again.

Pure but for its lock: moments are passed in. After a few failures in a row the server is left alone for a while that grows with
each failed try; then one caller tries it while the others still pass it by. Cache nodes and DBSvrs have one each.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

FAILURES = 3
FIRST_REST_S = 0.5
LONGEST_REST_S = 5.0


class Breaker:
    def __init__(self, good_tries: int = 1, spread: Callable[[float], float] = lambda rest_s: rest_s) -> None:
        """It closes after so many `good_tries` in a row. `spread` makes a rest longer or shorter, so that not all processes try at once."""
        self._lock = threading.Lock()
        self._good_tries = good_tries
        self._spread = spread
        self._failures = 0
        self._successes = 0
        self._rest_s = FIRST_REST_S
        self._closed_until = 0.0

    @property
    def is_open(self) -> bool:
        """The server is being left alone."""
        return self._failures >= FAILURES

    def may_try(self, now: float) -> bool:
        with self._lock:
            if self._failures < FAILURES:
                return True
            if now < self._closed_until:
                return False
            # This caller tries, and the others wait for what he finds. Not for the rest that has grown: that follows a failure alone,
            # and after a success the next try comes soon.
            self._closed_until = now + self._spread(FIRST_REST_S)
            return True

    def rests_for(self, now: float) -> float:
        """Seconds until it may be tried."""
        return max(0.0, self._closed_until - now) if self.is_open else 0.0

    def note_success(self) -> None:
        with self._lock:
            self._successes += 1
            if self._failures < FAILURES or self._successes >= self._good_tries:
                self._failures = 0
            self._rest_s = FIRST_REST_S

    def note_failure(self, now: float) -> None:
        with self._lock:
            self._failures += 1
            self._successes = 0
            if self._failures > FAILURES:
                self._rest_s = min(2 * self._rest_s, LONGEST_REST_S)
            if self._failures >= FAILURES:
                self._closed_until = now + self._spread(self._rest_s)
