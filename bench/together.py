"""Threads that do the same thing together. A fault in one of them is the caller's: a bench that loses its errors measures nothing."""

from __future__ import annotations

import threading
from collections.abc import Callable


def run_together(work: Callable[[int], None], threads: int) -> None:
    """`work(number)` in each thread, until all have ended; raises the first fault."""
    faults: list[BaseException] = []

    def guarded(number: int) -> None:
        try:
            work(number)
        except BaseException as fault:  # noqa: BLE001  # raised below
            faults.append(fault)

    running = [threading.Thread(target=guarded, args=(number,), daemon=True) for number in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    if faults:
        raise faults[0]
