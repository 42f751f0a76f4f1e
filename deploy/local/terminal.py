"""What `make run` says on the terminal: one line per step, and a bar for what takes longer. Plain lines where there is none."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator

BAR_CELLS = 30


@contextlib.contextmanager
def step(what: str) -> Iterator[None]:
    """Name a step before it runs, and say how long it took. A failed one is left to whoever catches the error."""
    began = time.monotonic()
    live = sys.stdout.isatty()
    if live:
        print(f"  … {what}", end="", flush=True)
    try:
        yield
    except BaseException:
        print(f"\r  ✗ {what}" if live else f"  ✗ {what}", flush=True)
        raise
    line = f"  ✓ {what:<58}{time.monotonic() - began:6.1f} s"
    print(f"\r{line}" if live else line, flush=True)


class ProgressBar:
    """`show(done)` as often as one likes: a terminal gets a moving bar, a file one line per tenth."""

    def __init__(self, what: str, total: int) -> None:
        self.what = what
        self.total = total
        self._began = time.monotonic()
        self._live = sys.stdout.isatty()
        self._tenths_said = -1

    def show(self, done: int) -> None:
        tenths = 10 * done // self.total
        if self._live:
            filled = BAR_CELLS * done // self.total
            print(f"\r  … {self.what} [{'█' * filled}{'░' * (BAR_CELLS - filled)}] {done:,}/{self.total:,}", end="", flush=True)
        elif tenths != self._tenths_said:
            print(f"  … {self.what} {10 * tenths} %", flush=True)
        self._tenths_said = tenths

    def end(self) -> None:
        line = f"  ✓ {f'{self.total:,} {self.what}':<58}{time.monotonic() - self._began:6.1f} s"
        print(f"\r{line}{' ' * BAR_CELLS}" if self._live else line, flush=True)
