"""One read for all threads of this process that miss the same user at once.

A thread takes only an answer whose read began after the thread had come: an earlier one may be older than a write that was
acknowledged in between. So a crowd costs two reads: the one under way when it came, and one more for all of it (which finds
the copy that the first has stored). Leans on locks only; knows neither nodes nor the DBSvr.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from workers.protocol import Snapshot, TimedOut


class _Crowd:
    """Those who want one user now. The lock is held by the one who reads for all."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.members = 0
        self.reads_begun = 0
        self.answered_read = 0
        self.answer: Snapshot | None = None


class SharedReads:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._crowds: dict[int, _Crowd] = {}

    def read(self, uid: int, until: float, ask: Callable[[], Snapshot]) -> Snapshot:
        """What `ask` answers, or answered to another thread since this one came.

        `until` is a moment of time.monotonic(). Raises what `ask` raises, to its own caller only, and TimedOut when the deadline
        passes in the crowd.
        """
        with self._lock:
            crowd = self._crowds.setdefault(uid, _Crowd())
            crowd.members += 1
            begun_before_us = crowd.reads_begun
        try:
            if not crowd.lock.acquire(timeout=max(0.0, until - time.monotonic())):
                raise TimedOut("another read of the same user took until the deadline")
            try:
                if crowd.answer is not None and crowd.answered_read > begun_before_us:
                    return crowd.answer
                with self._lock:
                    crowd.reads_begun += 1
                crowd.answer = ask()
                crowd.answered_read = crowd.reads_begun
                return crowd.answer
            finally:
                crowd.lock.release()
        finally:
            with self._lock:
                crowd.members -= 1
                if not crowd.members:
                    del self._crowds[uid]
