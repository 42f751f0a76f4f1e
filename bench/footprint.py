"""What a DBSvr costs when it does nothing, and what it remembers of a million users."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from bench.measures import Measure
from deploy.local.private_stack import PrivateStack
from tasksys_site.configuration import PROJECT

IDLE_S = 5.0
MILLION_STAMPS = """
import resource
from workers.user_info import UserInfo
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
users = UserInfo(2_000_000)
for number in range(1_000_000):
    users.raise_stamp(10**12 + number, 10**6 + number)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""


def measure(stack: PrivateStack) -> Iterator[Measure]:
    before = _cpu_s(stack)
    time.sleep(IDLE_S)
    yield Measure("idle DBSvr (front and two workers)", 100 * (_cpu_s(stack) - before) / IDLE_S, "% of a core")
    said = subprocess.run([sys.executable, "-c", MILLION_STAMPS], cwd=PROJECT, capture_output=True, text=True, check=True)
    yield Measure("user_info of 1 million stamps", float(said.stdout), "MB")


def _cpu_s(stack: PrivateStack) -> float:
    ticks = 0
    for process in stack.dbsvr_processes:
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")
