"""Waiting in tests: for a condition, with a deadline. A sleep is a guess."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def eventually(condition: Callable[[], T], within_s: float = 10.0, every_s: float = 0.01) -> T:
    """The first true value of `condition`; AssertionError after the time. An AssertionError inside counts as not yet."""
    until = time.monotonic() + within_s
    while True:
        try:
            value = condition()
        except AssertionError as error:
            if time.monotonic() >= until:
                raise AssertionError(f"not within {within_s:g} s: {error}") from error
        else:
            if value:
                return value
            assert time.monotonic() < until, f"not within {within_s:g} s, last value: {value!r}"
        time.sleep(every_s)
