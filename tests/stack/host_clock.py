"""The wall clock of a DBSvr's host, stepped at will: a small library in its processes stands before libc's clock.

(libfaketime would do, but its 0.9.10 breaks Python's sleep, which waits for a moment of CLOCK_MONOTONIC.)
"""

from __future__ import annotations

import shutil
import struct
import subprocess
from pathlib import Path

from deploy.local.private_stack import PrivateStack

SOURCE = Path(__file__).with_name("stepped_clock.c")


class HostClock:
    """Make it before the stack's processes are started: it is theirs from then on, and shows the right time until stepped."""

    def __init__(self, stack: PrivateStack) -> None:
        compiler = shutil.which("cc") or shutil.which("gcc")
        assert compiler, "a C compiler is missing: make setup-test installs one"
        library = stack.directory / "stepped_clock.so"
        subprocess.run([compiler, "-O2", "-Wall", "-Werror", "-shared", "-fPIC", "-o", str(library), str(SOURCE)], check=True)
        self._file = stack.directory / "clock"
        self._file.write_bytes(struct.pack("=q", 0))
        for process in stack.dbsvr_processes:
            process.command = ["/usr/bin/env", f"LD_PRELOAD={library}", f"STEPPED_CLOCK={self._file}", *process.command]

    def step(self, seconds: int) -> None:
        """From now on the clock is so many seconds off."""
        with open(self._file, "r+b", buffering=0) as file:
            file.write(struct.pack("=q", seconds))
