"""What a DBSvr costs when it does nothing, and what its front remembers of a million users."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from bench.full_front import MILLION
from bench.measures import Measure
from bench.neighbours import cpu_s_of
from bench.progress import say
from deploy.local.private_stack import PrivateStack
from deploy.local.server_process import ServerFailed, wait_until
from deploy.local.stack_process import StackProcess

IDLE_S = 10.0


def measure(stack: PrivateStack) -> Iterator[Measure]:
    say(f"footprint: the DBSvr does nothing for {IDLE_S:g} s")
    before = _cpu_s(stack)
    time.sleep(IDLE_S)
    yield Measure(
        "idle DBSvr (front and two workers)", 100 * (_cpu_s(stack) - before) / IDLE_S, "% of a core", bar=2, aim=0.5, at_most=True
    )

    say("footprint: a front with a million users")
    empty_mb = _resident_mb(stack.front)
    stack.front.stop()
    full = stack.another("front")
    full.command = [sys.executable, "-m", "bench.full_front"]
    full.start()
    try:
        if not wait_until(lambda: (stack.stats() or {}).get("users", {}).get("stamps") == MILLION, 60.0):  # type: ignore[attr-defined]
            raise ServerFailed(f"the full front does not serve:\n{full.last_log_lines()}")
        stack.wait_until_serving()
        full_mb = _resident_mb(full)
    finally:
        full.stop()
        stack.front.start()
        stack.wait_until_serving()
    yield Measure("front with stamp and trail of 1 million users, resident", full_mb, "MB", bar=250, aim=120, at_most=True)
    yield Measure("of which the users", full_mb - empty_mb, "MB")


def _cpu_s(stack: PrivateStack) -> float:
    return cpu_s_of(process.pid for process in stack.dbsvr_processes)


def _resident_mb(process: StackProcess) -> float:
    found = re.search(r"^VmRSS:\s+(\d+) kB$", Path(f"/proc/{process.pid}/status").read_text(), re.MULTILINE)
    if found is None:
        raise RuntimeError(f"the kernel does not say how much memory {process.name} has")
    return int(found[1]) / 1024
