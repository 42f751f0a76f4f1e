"""The one thread of a process that asks a server whether it is back, while its breaker is open.

So no request has to find that out. It asks ever less often, until it was answered often enough for the breaker to close; then it ends.
Leans on a breaker; knows not what it asks.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from apps.dbsvr.breaker import Breaker


class Prober:
    def __init__(self, name: str, breaker: Breaker, ask: Callable[[], None]) -> None:
        """`ask` asks once, bounded in time, tells the breaker what it found, and raises nothing."""
        self._name = name
        self._breaker = breaker
        self._ask = ask
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._ended = threading.Event()

    def start(self) -> None:
        """Unless it runs already. Call it after a failure that has opened the breaker."""
        with self._lock:
            if self._thread is None and not self._ended.is_set():
                self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                self._thread.start()

    def end(self) -> None:
        """It ends by itself, after the question under way; nobody waits for it."""
        self._ended.set()

    def _run(self) -> None:
        while not self._ended.wait(self._breaker.rests_for(time.monotonic())):
            if self._breaker.may_try(time.monotonic()):
                self._ask()
            # Under the lock, so that whoever opens the breaker again while this thread ends starts another.
            with self._lock:
                if not self._breaker.is_open:
                    self._thread = None
                    return
