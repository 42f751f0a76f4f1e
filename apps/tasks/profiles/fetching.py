"""Who is asked for at the profile system, once for all who want him, many in one question.

A caller leaves his user here and waits, no longer than his deadline. Threads of this process take all that are waiting and ask for them
together: at low load a question is about one user, and under load they become batches by themselves. A caller whose user is under way
already waits for that answer. What comes after a caller's deadline is kept all the same, for the next one.

While the system fails (the breaker is open) nobody waits for it: one prober asks again what has failed last, until it has been answered
several times in a row.
"""

from __future__ import annotations

import contextlib
import logging
import random
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from apps.dbsvr.breaker import Breaker
from apps.dbsvr.prober import Prober
from apps.tasks.profiles.source import Said, SourceFailed

log = logging.getLogger(__name__)

THREADS = 4
MOST_WAITING = 10_000
GOOD_TRIES = 3


class Source(Protocol):
    def ask(self, uids: Sequence[int], names: Sequence[str]) -> Said: ...


class Flight:
    """One user under way. `said`: what the system said of him; None: nothing, or not yet."""

    def __init__(self, uid: int, names: frozenset[str]) -> None:
        self.uid = uid
        self.names = names
        self.said: dict[str, object] | None = None
        self.asked_ms = 0
        self.landed = threading.Event()

    def wait(self, until: float) -> bool:
        """Whether an answer about him came by `until`, a moment of time.monotonic()."""
        return self.landed.wait(max(0.0, until - time.monotonic())) and self.said is not None


Keep = Callable[[Sequence[Flight]], None]


class Fetching:
    """Shared by threads; a forked child makes its own. The threads are daemons, and end after a while without work."""

    IDLE_S = 60.0

    def __init__(self, source: Source, batch: int, keep: Keep) -> None:
        """`keep` is called with what has landed, and raises nothing."""
        self._source = source
        self._batch = batch
        self._keep = keep
        self._flights: dict[int, Flight] = {}
        self._waiting: dict[int, Flight] = {}
        """Those of the flights that nobody has asked for yet, oldest first."""
        self._work = threading.Condition()
        self._threads = self._idle = 0
        self._breaker = Breaker(GOOD_TRIES, spread=lambda rest_s: rest_s * random.uniform(0.75, 1.25))
        self._prober = Prober("prober of the profile system", self._breaker, self._probe)
        self._failed_last: tuple[Sequence[int], Sequence[str]] = ((), ())
        self.trouble = ""
        """Why the system is being left alone; empty while it is not."""

    def start(self, uid: int, names: Iterable[str]) -> Flight | None:
        """The flight that brings these attributes of the user; None while the system is left alone, or too much waits for it."""
        if self._breaker.is_open:
            return None
        wanted = frozenset(names)
        with self._work:
            flight = self._flights.get(uid)
            if flight is not None and wanted <= flight.names:
                return flight
            if flight is not None and uid in self._waiting:
                flight.names |= wanted
                return flight
            if len(self._waiting) >= MOST_WAITING:
                return None
            flight = self._flights[uid] = self._waiting[uid] = Flight(uid, wanted)
            if self._idle:
                self._work.notify()
            elif self._threads < THREADS:
                self._threads += 1
                threading.Thread(target=self._run, name=f"profiles {self._threads}", daemon=True).start()
        return flight

    def close(self) -> None:
        self._prober.end()

    def _run(self) -> None:
        while flights := self._next():
            try:
                self._fetch(flights)
            except Exception:
                # The thread must outlive any fault, else its callers would wait for nobody.
                log.exception("profiles could not be fetched")
            finally:
                self._land(flights)

    def _next(self) -> list[Flight]:
        """Those who wait, as many as fit into one question; nobody after a while without any."""
        with self._work:
            self._idle += 1
            self._work.wait_for(lambda: self._waiting, self.IDLE_S)
            self._idle -= 1
            taken = [self._waiting.pop(uid) for uid in list(self._waiting)[: self._batch]]
            if not taken:
                self._threads -= 1
            return taken

    def _fetch(self, flights: Sequence[Flight]) -> None:
        if self._breaker.is_open:
            return  # it has failed while they waited
        uids = [flight.uid for flight in flights]
        names = sorted(frozenset().union(*(flight.names for flight in flights)))
        with contextlib.suppress(SourceFailed):
            said = self._ask(uids, names)
            now_ms = time.time_ns() // 1_000_000
            for flight in flights:
                flight.asked_ms = now_ms
                # Of whom nothing was said an empty word is kept: he is asked for again after a while, not with every request.
                flight.said = dict(said.get(flight.uid, {}))
                flight.landed.set()
            self._keep(flights)

    def _land(self, flights: Sequence[Flight]) -> None:
        """Only now: until what was said is kept, who comes for the user finds it here."""
        with self._work:
            for flight in flights:
                flight.landed.set()
                if self._flights.get(flight.uid) is flight:
                    del self._flights[flight.uid]

    def _ask(self, uids: Sequence[int], names: Sequence[str]) -> Said:
        try:
            said = self._source.ask(uids, names)
        except SourceFailed as error:
            self._failed_last = (uids[:1], names)
            self._breaker.note_failure(time.monotonic())
            if self._breaker.is_open:
                if not self.trouble:
                    log.warning("the profile system fails; older values are used, within their limit", extra={"error": repr(error)})
                self.trouble = str(error)
                self._prober.start()
            raise
        self._breaker.note_success()
        if self.trouble and not self._breaker.is_open:
            log.info("the profile system answers again")
            self.trouble = ""
        return said

    def _probe(self) -> None:
        with contextlib.suppress(SourceFailed):  # the breaker knows
            self._ask(*self._failed_last)
