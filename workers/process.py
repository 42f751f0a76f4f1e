"""How a process of the DBSvr lives: exit codes that are words, and signals that only set a flag."""

from __future__ import annotations

import enum
import logging
import signal
import sys
import time
from types import FrameType


class Exit(enum.IntEnum):
    """What the supervisor is to do next."""

    STOPPED = 0
    """Stopped as asked."""
    SUPERSEDED = 3
    """Another process has taken over; do not start this one again."""
    START_AGAIN = 75
    """Something went wrong that a new start may mend."""
    WRONG_CONFIGURATION = 78
    """Do not start again before somebody has changed the configuration."""


class StopFlag:
    """Set by TERM and INT, any number of times; looked at between short steps."""

    def __init__(self) -> None:
        self._stopping = False

    def __bool__(self) -> bool:
        return self._stopping

    def set(self) -> None:
        self._stopping = True

    def listen(self) -> StopFlag:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._handle)
        return self

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self._stopping = True

    def wait(self, seconds: float) -> None:
        """Wait so long, or until asked to stop."""
        until = time.monotonic() + seconds
        while not self._stopping and (left := until - time.monotonic()) > 0:
            time.sleep(min(left, 0.05))


def start_log(process: str) -> logging.Logger:
    """One line per event worth waking for, none per request: `time level process: sentence key=value`."""
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format=f"%(asctime)s %(levelname)s {process}: %(message)s", force=True)
    return logging.getLogger(process)


def now_ms() -> int:
    """CLOCK_MONOTONIC in milliseconds, the same for all processes of this host; tickets expire by it."""
    return time.monotonic_ns() // 1_000_000


def ignore_stop_signals() -> None:
    """For a process that has stopped, or is about to: an interpreter at its end takes its handlers away, and a TERM would kill it."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
