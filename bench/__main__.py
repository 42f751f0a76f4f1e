"""`python -m bench [PART …]`: measures a stack of its own, prints the tables, writes var/bench/.

Every figure stands beside something real that was measured in the same run. Ends by itself within about five minutes, and asks nobody
but its own servers on loopback (and the peers it was told of). Exit codes: 0 every bar kept, 1 a bar missed, 69 a program is missing.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from bench import api, cache_hits, compare, diff, evaluate, footprint, lag, priority, reads, record, writes
from bench.direct import FIRST_UID, USERS
from bench.measures import HEADINGS, Measure, print_table
from bench.neighbours import others_share, used
from bench.progress import say
from bench.record import FOLDER, LATEST, Circumstances
from bench.ways import Peer, ways_with
from deploy.local.private_stack import PrivateStack
from deploy.local.server_process import ServerFailed, find_program, wait_until

PARTS: dict[str, Callable[[PrivateStack], Iterator[Measure]]] = {
    "footprint": footprint.measure,
    "reads": reads.measure,
    "writes": writes.measure,
    "priority": priority.measure,
    "lag": lag.measure,
    "cache": cache_hits.measure,
    "evaluate": evaluate.measure,
    "api": api.measure,
    "diff": diff.measure,
}
COMPARE = "compare"
NAMES = (*PARTS, COMPARE)
PROGRAMS = ("mariadbd", "mariadb-install-db", "mariadb-slap", "redis-server", "redis-benchmark")
CHUNK = 500
ENDS_WITHIN_S = 900
PEERS_WITHIN_S = 120.0


def main() -> int:
    chosen = _arguments()
    missing = [line for line in map(_complaint, PROGRAMS) if line]
    try:
        from bench import picture
    except ImportError as error:
        missing.append(f"{error.name} is not installed: deploy/setup.sh test installs it")
    if missing:
        print("\n".join(missing), file=sys.stderr)
        return 69
    run = Circumstances(datetime.now(UTC).isoformat(timespec="seconds"), os.getloadavg()[0], os.cpu_count() or 1)
    print(f"{run.at}, {run.cores} cores, load {run.load:.2f}, {platform.platform()}, Python {platform.python_version()}")
    if run.is_busy:
        print(f"Other programs are at work here (load {run.load:.2f} before anything was started): take no figure of this run for granted.")
    signal.signal(signal.SIGALRM, _out_of_time)
    signal.alarm(ENDS_WITHIN_S)
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))  # through the clean-up below
    began_at = time.monotonic()

    measures: list[Measure] = []
    taken: dict[str, float] = {}
    cells: list[compare.Cell] = []
    with tempfile.TemporaryDirectory(prefix="tasksys-bench-") as directory:
        stack = PrivateStack(Path(directory))
        try:
            say("starting the databases and a DBSvr")
            stack.start_databases()
            stack.create_user_tables()
            stack.start_dbsvr()
            _load_users(stack)
            for part in chosen.parts or NAMES:
                before = used(stack, time.monotonic())
                if part == COMPARE:
                    ways = ways_with(_wait_for_peers(stack, chosen.peers))
                    cells = list(compare.run_cells(stack, ways))
                    found = list(compare.measures(cells))
                else:
                    found = list(PARTS[part](stack))
                measures += found
                taken[part] = others_share(before, used(stack, time.monotonic()), run.cores)
                # After each part: what was measured stays, however the run goes on.
                seen = replace(run, others=taken[part])
                record.write(LATEST, record.merge(record.read(LATEST), part, found, cells if part == COMPARE else (), seen, NAMES))
        finally:
            say("stopping")
            stack.stop()
    if cells:
        print_table(compare.rows(cells))
        path = FOLDER / "comparison.png"
        picture.draw(record.read(LATEST)["comparison"], path)
        print(f"drawn: {path}\n")
    print_table([HEADINGS, *(measure.row() for measure in measures)])
    print(
        f"{time.monotonic() - began_at:.0f} s; other programs took of the machine meanwhile: "
        + ", ".join(f"{part} {share:.0%}" for part, share in taken.items())
    )
    short = [measure.name for measure in measures if measure.ok is False]
    if short:
        print(f"below the bar: {', '.join(short)}")
    return 1 if short else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"one or more of: {', '.join(NAMES)}; all without")
    parser.add_argument(
        "--peer",
        dest="peers",
        action="append",
        default=[],
        type=_peer,
        metavar="NAME=HOST:PORT",
        help=f"a MySQL proxy that takes part in {COMPARE}; it is waited for, with the databases' addresses in {FOLDER}/databases.json",
    )
    chosen = parser.parse_args()
    unknown = set(chosen.parts) - set(NAMES)
    if unknown:
        parser.error(f"no such part: {', '.join(sorted(unknown))} (there are: {', '.join(NAMES)})")
    return chosen


def _peer(text: str) -> Peer:
    try:
        return Peer.parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _complaint(program: str) -> str | None:
    try:
        find_program(program)
    except ServerFailed as missing:
        return str(missing)
    return None


def _out_of_time(number: int, frame: object) -> None:
    raise TimeoutError(f"not done after {ENDS_WITHIN_S} s: something hangs")


def _load_users(stack: PrivateStack) -> None:
    """USERS users with three tasks each."""
    changes = json.dumps([{"task": task, "period": "once", "op": "add", "value": task} for task in (1, 2, 3)])
    with stack.client(timeout_s=60) as client:
        for first in range(0, USERS, CHUNK):
            pipe = client.pipeline(transaction=False)
            for number in range(first, first + CHUNK):
                pipe.execute_command("TASK.FINISH", FIRST_UID + number, "node-1", "bench-load", changes)
            pipe.execute()
    # A DBSvr that has just started knows of no copies, so each of these writes left a purge for every node. Nothing works them off here;
    # in a running system the cache sync center has, long since.
    stack.master.execute("DELETE FROM cache_purge", "tasksys_user")


def _wait_for_peers(stack: PrivateStack, peers: list[Peer]) -> list[Peer]:
    """A proxy must know the databases, whose ports are new in every run: say them, and wait until it answers."""
    if not peers:
        return peers
    account = stack.configuration().databases.accounts.workers
    path = FOLDER / "databases.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o600)
    addresses = {"master": f"127.0.0.1:{stack.master.port}", "replica": f"127.0.0.1:{stack.replica.port}"}
    path.write_text(json.dumps({**addresses, "user": account.user, "password": account.password}) + "\n")
    try:
        for peer in peers:
            say(f"compare: waiting for {peer.name} on {peer.host}:{peer.port} to answer for the databases in {path}")
            if not wait_until(lambda: peer.answers(stack), PEERS_WITHIN_S, every_s=0.5):  # noqa: B023  # at once
                raise ServerFailed(f"{peer.name} on {peer.host}:{peer.port} did not answer within {PEERS_WITHIN_S:g} s")
    finally:
        path.unlink()
    return peers


if __name__ == "__main__":
    sys.exit(main())
