"""When to leave a failing cache node alone, and when to try it again.

Pure but for its lock: moments are passed in. After a few failures in a row the node is left alone for a while that grows with
each failed try; then one caller tries it while the others still pass it by.
"""

from __future__ import annotations

import threading

FAILURES = 3
FIRST_REST_S = 0.5
LONGEST_REST_S = 5.0


class Breaker:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._failures = 0
        self._rest_s = FIRST_REST_S
        self._closed_until = 0.0

    @property
    def is_open(self) -> bool:
        """The node is being left alone."""
        return self._failures >= FAILURES

    def may_try(self, now: float) -> bool:
        with self._lock:
            if self._failures < FAILURES:
                return True
            if now < self._closed_until:
                return False
            self._closed_until = now + self._rest_s  # this caller tries; the others wait for what he finds
            return True

    def note_success(self) -> None:
        with self._lock:
            self._failures, self._rest_s = 0, FIRST_REST_S

    def note_failure(self, now: float) -> None:
        with self._lock:
            self._failures += 1
            if self._failures > FAILURES:
                self._rest_s = min(2 * self._rest_s, LONGEST_REST_S)
            if self._failures >= FAILURES:
                self._closed_until = now + self._rest_s
