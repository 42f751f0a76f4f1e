"""`python -m tests.consistency --minutes 5 --faults pipeline --seed 7`: the checker as a tool, on a stack of its own.

Prints the seed, what was done, and the shortest violating history if there is one. Exit code 1 on any violation.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

from deploy.local.private_stack import PrivateStack
from tests.consistency.check import check
from tests.consistency.clients import Load
from tests.consistency.faults import CHOICES


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.consistency", description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--faults", choices=sorted(CHOICES), default="pipeline")
    parser.add_argument("--via", choices=["resp"], default="resp", help="what the clients speak")
    parser.add_argument("--replicas", type=int, default=1)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--users", type=int, default=200)
    parser.add_argument("--write-share", type=float, default=0.3)
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    chosen = parser.parse_args()
    print(f"seed {chosen.seed}, faults {chosen.faults}, {chosen.minutes:g} min", flush=True)
    with tempfile.TemporaryDirectory(prefix="tasksys-check-") as directory:
        stack = PrivateStack(Path(directory), replicas=chosen.replicas)
        try:
            stack.start_databases()
            stack.create_user_tables()
            stack.start_dbsvr()
            load = Load(
                clients=chosen.clients,
                users=chosen.users,
                write_share=chosen.write_share,
                operations=sys.maxsize,
                until=time.monotonic() + 60 * chosen.minutes,
                seed=chosen.seed,
            )
            verdict = check(stack, load, CHOICES[chosen.faults])
        finally:
            stack.stop()
    print(verdict)
    return 1 if verdict.violations else 0


if __name__ == "__main__":
    sys.exit(main())
