"""Who uses a DBSvr's message queues? Two stacks with one key on one machine would take each other's messages.

The kernel's own list is read (/proc/sysvipc/msg); a queue that only dead processes have used is a leftover and harmless.
"""

from __future__ import annotations

from pathlib import Path

from tasksys_site.configuration import QUEUES_PER_INSTANCE


def queues_in_use(queue_key: int) -> list[int]:
    """Pids of living processes that last sent to or received from the instance's queues."""
    try:
        lines = Path("/proc/sysvipc/msg").read_text().splitlines()
    except OSError:
        return []  # no such list on this kernel: the front finds out by itself
    if not lines:
        return []
    columns = lines[0].split()
    pids = set()
    for line in lines[1:]:
        row = dict(zip(columns, map(int, line.split()), strict=False))
        if 0 <= row["key"] - queue_key < QUEUES_PER_INSTANCE:
            pids |= {pid for pid in (row["lspid"], row["lrpid"]) if pid and Path(f"/proc/{pid}").exists()}
    return sorted(pids)
