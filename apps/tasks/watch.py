"""What this process holds of API keys, and how it learns that it has changed.

Requests must not query for what hardly ever changes. So one thread per process looks at the change counters twice a second, with one
small query, and reloads only what has risen; a request takes what is there. A change is seen within `LOOK_S` plus one query.
While the database cannot be asked, the last known stands: nobody can commit a change there either. `age_s` tells how old it is.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

from django.db import Error, close_old_connections, connection

log = logging.getLogger(__name__)

T = TypeVar("T")

LOOK_S = 0.5
RELOAD_ALL_S = 30.0
"""For changes that raised no counter."""
FIRST_WAIT_S = 3.0


class NotKnownYet(Exception):
    """The database could not be asked since this process started."""


class Held(Generic[T]):
    """One value that is loaded from the database when the counter `name` rises."""

    def __init__(self, name: str, load: Callable[[], T]) -> None:
        self.name = name
        self._load = load
        self._value: T | None = None
        self._counter: int | None = None
        self._loaded_at = 0.0
        self._seen_at = 0.0
        self._known = threading.Event()

    def get(self) -> T:
        """The value as last seen. Waits only while nothing is known yet; then raises NotKnownYet."""
        if not self._known.is_set():
            watch.start()
            if not self._known.wait(FIRST_WAIT_S):
                raise NotKnownYet(f"{self.name}: the database has not answered yet")
        elif watch.pid != _pid():
            watch.start()
        value = self._value
        assert value is not None
        return value

    def age_s(self) -> float:
        """Seconds since the value was last known to be true."""
        return time.monotonic() - self._seen_at

    def refresh(self, counter: int) -> None:
        """Called by the watch after each look, with the counter that it saw before."""
        looked_at = time.monotonic()
        if counter != self._counter or looked_at - self._loaded_at > RELOAD_ALL_S:
            self._value = self._load()
            self._counter = counter
            self._loaded_at = looked_at
        self._seen_at = looked_at
        self._known.set()


class Watch:
    """The one thread of a process that looks at the counters, for every Held value that was registered."""

    def __init__(self) -> None:
        self.pid = 0
        self._held: list[Held[object]] = []
        self._chores: list[Callable[[], None]] = []
        self._starting = threading.Lock()
        self._stopping = threading.Event()
        self._waking = threading.Event()
        self._thread: threading.Thread | None = None
        self._failing = False

    def register(self, held: Held[T]) -> Held[T]:
        self._held.append(held)  # type: ignore[arg-type]
        return held

    def register_chore(self, chore: Callable[[], None]) -> None:
        """Something small to be done after each look, such as writing down which keys were used."""
        self._chores.append(chore)

    def start(self) -> None:
        """Starts the thread unless it runs in this process already: a forked process has none."""
        with self._starting:
            if self.pid != _pid():
                self.pid = _pid()
                self._stopping.clear()
                self._thread = threading.Thread(target=self._run, name="watch", daemon=True)
                self._thread.start()

    def wake(self) -> None:
        """Look now: something was changed by this very process."""
        self._waking.set()

    def stop(self) -> None:
        """For whoever takes the database away on purpose. A process that ends needs it not: the thread is a daemon."""
        self._stopping.set()
        self._waking.set()
        if self._thread is not None:
            self._thread.join(LOOK_S * 4)
        self.pid = 0

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._waking.clear()
            self._look_and_report()
            self._waking.wait(LOOK_S)
        connection.close()

    def _look_and_report(self) -> None:
        try:
            close_old_connections()
            counters = _read_counters()
            for held in self._held:
                held.refresh(counters.get(held.name, 0))
            for chore in self._chores:
                chore()
        except Error as error:
            if not self._failing:
                log.warning("API keys cannot be read; the last known stand", extra={"error": error})
            self._failing = True
        except Exception:
            # The thread must outlive any fault in one row, else a revoked key would live for ever.
            log.exception("API keys could not be loaded; the last known stand")
        else:
            if self._failing:
                log.info("API keys can be read again")
            self._failing = False


def _read_counters() -> Mapping[str, int]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT name, value FROM tasks_changecounter")
        return dict(cursor.fetchall())


def _pid() -> int:
    return os.getpid()


watch = Watch()
