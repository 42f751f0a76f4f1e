"""`python -m tests.consistency --minutes 5 --faults pipeline --seed 7`: the checker as a tool, on a stack of its own.

Prints the seed, how it goes, what was done, how long requests waited, and the shortest violating history if there is one.
Exit code 1 on any violation.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

from deploy.local.private_stack import PrivateStack
from tests.consistency.cache_doubles import DOUBLES as CACHE_DOUBLES
from tests.consistency.cache_faults import CACHE, CACHE_FAULTS
from tests.consistency.check import check
from tests.consistency.check_copies import check_copies
from tests.consistency.clients import API, CLIENT, HTTP, INTERFACE, RESP, Load
from tests.consistency.doubles import DOUBLES, break_on_purpose
from tests.consistency.faults import CHOICES, PIPELINE
from tests.consistency.pair_faults import PAIR
from tests.stack.api_stack import ApiStack, PairApiStack
from tests.stack.pair_stack import PairStack
from tests.stack.web_process import APPLICATION

SETTINGS = {"deadline_ms": 4_000, "clear_age_limit_ms": 1_000}
"""Deletions get their turn soon, or a run would see few of them."""
PAIR_SETTINGS = {**SETTINGS, "deadline_ms": 2_000, "lease_ms": 1_000, "hold_ms": 1_000, "give_back_after_ms": 1_000}
"""Segments change their owner often, or a run would see few takeovers."""
PAIR_FAULTS = {"pair": PAIR, "all": (*PIPELINE, *PAIR)}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.consistency", description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--faults", choices=sorted({*CHOICES, *PAIR_FAULTS, *CACHE_FAULTS}), default="pipeline")
    parser.add_argument(
        "--via",
        choices=[RESP, INTERFACE, API, CLIENT],
        default=RESP,
        help="what the clients speak: the wire, DbInterface, REST with tries of their own, or REST by the Python client alone",
    )
    parser.add_argument("--replicas", type=int, default=2)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--users", type=int, default=200)
    parser.add_argument("--write-share", type=float, default=0.3)
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    parser.add_argument("--wait-bound-ms", type=int, default=2_200, help="how long a read may wait that some server can serve")
    parser.add_argument(
        "--double", default="", help=f"break it on purpose, to see the checker at work: {', '.join([*DOUBLES, *CACHE_DOUBLES])}"
    )
    chosen = parser.parse_args()
    if chosen.faults in CACHE_FAULTS and chosen.via not in HTTP:
        parser.error(f"--faults {' and '.join(CACHE_FAULTS)} go with --via {' or '.join(HTTP)}, and with nothing else")
    print(f"seed {chosen.seed}, faults {chosen.faults}, via {chosen.via}, {chosen.minutes:g} min", flush=True)
    with tempfile.TemporaryDirectory(prefix="tasksys-check-") as directory:
        if chosen.via in HTTP:
            return _check_copies(Path(directory), chosen)
        is_pair = chosen.faults in PAIR_FAULTS
        stack = (
            PairStack(Path(directory), replicas=chosen.replicas, settings=PAIR_SETTINGS)
            if is_pair
            else PrivateStack(Path(directory), replicas=chosen.replicas, settings=SETTINGS)
        )
        break_on_purpose(stack, chosen.double)
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
                timeout_s=3.0 if is_pair else 6.0,
                via=chosen.via,
            )
            # With two DBSvrs a read waits for whoever takes its user over.
            wait_bound_s = None if is_pair else chosen.wait_bound_ms / 1000
            faults = PAIR_FAULTS.get(chosen.faults) or CHOICES[chosen.faults]
            verdict = check(stack, load, faults, wait_bound_s, lambda line: print(line, flush=True))
        finally:
            stack.stop()
    print(verdict)
    return 1 if verdict.violations else 0


def _check_copies(directory: Path, chosen: argparse.Namespace) -> int:
    application = CACHE_DOUBLES[chosen.double] if chosen.double else APPLICATION
    is_pair = chosen.faults in PAIR_FAULTS
    kind, settings = (PairApiStack, PAIR_SETTINGS) if is_pair else (ApiStack, SETTINGS)
    stack = kind(directory, replicas=chosen.replicas, settings=settings, application=application)
    faults = CACHE_FAULTS.get(chosen.faults) or PAIR_FAULTS.get(chosen.faults) or CHOICES[chosen.faults]
    if chosen.faults == "all":
        faults = (*faults, *CACHE)
    try:
        stack.start()
        load = Load(
            clients=chosen.clients,
            users=chosen.users,
            write_share=chosen.write_share,
            operations=sys.maxsize,
            until=time.monotonic() + 60 * chosen.minutes,
            seed=chosen.seed,
            via=chosen.via,
        )
        verdict = check_copies(stack, load, faults, lambda line: print(line, flush=True))
    finally:
        stack.stop()
    print(verdict)
    return 1 if verdict.violations else 0


if __name__ == "__main__":
    sys.exit(main())
