"""How much of the machine other programs took while something was measured.

The load average before a run says nothing of what came after it, and during the run it counts ourselves. So the processor time of the
whole machine, without ours. Interrupts are left out: those of loopback are ours, and the kernel does not say whose they are.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from deploy.local.private_stack import PrivateStack

TICKS_PER_S = os.sysconf("SC_CLK_TCK")


class Used(NamedTuple):
    """Seconds of processor time since the machine started, and at which moment."""

    at: float
    by_all: float
    by_us: float


def used(stack: PrivateStack, at: float) -> Used:
    servers = (stack.master, *stack.replicas.values(), stack.broker, *stack.nodes.values())
    pids = [server.pid for server in servers] + [process.pid for process in stack.dbsvr_processes]
    # What has ended and been waited for is in os.times() as children's, what still runs is not.
    ourselves = sum(os.times()[:4])
    return Used(at, busy_s(Path("/proc/stat").read_text()), ourselves + cpu_s_of(pids))


def others_share(before: Used, after: Used, cores: int) -> float:
    """Of all cores between the two moments, 0 to 1."""
    seconds = (after.at - before.at) * cores
    others = (after.by_all - before.by_all) - (after.by_us - before.by_us)
    return min(1.0, max(0.0, others / seconds)) if seconds else 0.0


def busy_s(proc_stat: str) -> float:
    """user, nice, system and steal (another guest of the same host) of the first line; see proc(5)."""
    fields = proc_stat.splitlines()[0].split()[1:]
    user, nice, system, steal = (int(fields[place]) for place in (0, 1, 2, 7))
    return (user + nice + system + steal) / TICKS_PER_S


def cpu_s(pid: int) -> float:
    """Of all threads of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_S


def cpu_s_of(pids: Iterable[int | None]) -> float:
    return sum(cpu_s(pid) for pid in pids if pid is not None)
