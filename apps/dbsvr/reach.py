"""Whether one DBSvr can be reached: a breaker, and a prober while it is open.

The breaker never makes a request fail: while it is open the others are asked first. So that no request has to find out whether the DBSvr
is back, one thread of the process asks PING meanwhile, ever less often, until it was answered a few times in a row; then it ends.
"""

from __future__ import annotations

import logging
import random
import time

from apps.dbsvr.breaker import Breaker
from apps.dbsvr.connections import Connections, NoAnswer, NoConnection
from apps.dbsvr.prober import Prober
from workers.protocol import DBSvrError, Unreachable

log = logging.getLogger(__name__)

GOOD_TRIES = 3
"""Answers in a row before requests come back: a DBSvr that comes and goes is left alone until it stays."""
PROBE_WITHIN_S = 0.5


class Reach:
    """Shared by threads; not by processes."""

    def __init__(self, name: str, connections: Connections) -> None:
        self._name = name
        self._connections = connections
        self._breaker = Breaker(GOOD_TRIES, spread=lambda rest_s: rest_s * random.uniform(0.75, 1.25))
        self._prober = Prober(f"prober of DBSvr {name}", self._breaker, self._probe)

    @property
    def is_good(self) -> bool:
        """Nothing speaks against asking it."""
        return not self._breaker.is_open

    def note(self, error: DBSvrError | None) -> None:
        """What a request has met. An error that the DBSvr itself has answered is an answer."""
        if isinstance(error, NoConnection):
            return
        was_open = self._breaker.is_open
        if not isinstance(error, (Unreachable, NoAnswer)):
            self._breaker.note_success()
            if was_open and not self._breaker.is_open:
                log.warning("DBSvr %s is asked again", self._name)
            return
        self._breaker.note_failure(time.monotonic())
        if self._breaker.is_open:
            if not was_open:
                log.warning("DBSvr %s is left alone until it answers PING: %s", self._name, error)
            self._prober.start()

    def close(self) -> None:
        """The prober ends by itself, at the latest after PROBE_WITHIN_S; nobody waits for it."""
        self._prober.end()

    def _probe(self) -> None:
        try:
            self._connections.ask("PING", until=time.monotonic() + PROBE_WITHIN_S)
            self.note(None)
        except DBSvrError as error:
            self.note(error)
