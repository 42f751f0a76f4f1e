"""`python -m bench [PART …]`: measures a stack of its own, prints the table, writes var/bench/latest.json.

Every figure stands beside something real that was measured in the same run. Ends by itself within a few minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from bench import cache_hits, footprint, lag, reads, writes
from bench.foreign_clients import FIRST_UID, USERS
from bench.measures import Measure, print_table, write_json
from deploy.local.private_stack import PrivateStack
from tasksys_site.configuration import PROJECT

PARTS: dict[str, Callable[[PrivateStack], Iterator[Measure]]] = {
    "footprint": footprint.measure,
    "reads": reads.measure,
    "writes": writes.measure,
    "lag": lag.measure,
    "cache": cache_hits.measure,
}
CHUNK = 500


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"one or more of: {', '.join(PARTS)}; all without")
    chosen = parser.parse_args()
    unknown = set(chosen.parts) - set(PARTS)
    if unknown:
        parser.error(f"no such part: {', '.join(sorted(unknown))} (there are: {', '.join(PARTS)})")
    print(f"{time.strftime('%Y-%m-%d %H:%M')}, {os.cpu_count()} cores, {platform.platform()}, Python {platform.python_version()}")
    measures: list[Measure] = []
    with tempfile.TemporaryDirectory(prefix="tasksys-bench-") as directory:
        stack = PrivateStack(Path(directory))
        try:
            stack.start_databases()
            stack.create_user_tables()
            stack.start_dbsvr()
            _load_users(stack)
            for part in chosen.parts or PARTS:
                print(f"measuring {part} …", file=sys.stderr, flush=True)
                measures += PARTS[part](stack)
        finally:
            stack.stop()
    print_table(measures)
    write_json(measures, PROJECT / "var" / "bench" / "latest.json")
    short = [measure.name for measure in measures if measure.ok is False]
    if short:
        print(f"below the bar: {', '.join(short)}")
    return 1 if short else 0


def _load_users(stack: PrivateStack) -> None:
    """USERS users with three tasks each."""
    changes = json.dumps([{"task": task, "period": "once", "op": "add", "value": task} for task in (1, 2, 3)])
    with stack.client(timeout_s=60) as client:
        for first in range(0, USERS, CHUNK):
            pipe = client.pipeline(transaction=False)
            for number in range(first, first + CHUNK):
                pipe.execute_command("TASK.FINISH", FIRST_UID + number, "node-1", "bench-load", changes)
            pipe.execute()


if __name__ == "__main__":
    sys.exit(main())
