"""What this web process knows of the database's absence.

A database that hangs would hold every poll for seconds, and with them all threads. So, once it was found away, only one request
every few seconds tries it; the others are told at once.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

TRY_EVERY_S = 3.0


class Outage:
    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._away = False
        self._try_at = 0.0

    def is_so(self) -> bool:
        """The database is away; the asker must do without it."""
        return self._away

    def may_try(self) -> bool:
        """True while all is well, and for one asker every few seconds while it is not."""
        if not self._away:
            return True
        with self._lock:
            if self._clock() < self._try_at:
                return False
            self._try_at = self._clock() + TRY_EVERY_S
            return True

    def began(self) -> None:
        with self._lock:
            self._away, self._try_at = True, self._clock() + TRY_EVERY_S

    def ended(self) -> None:
        self._away = False


outage = Outage()
