"""`python -m workers PROCESS`: the DBSvr's processes, each startable alone, and what an operator may tell them."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from tasksys_site.configuration import Configuration, ConfigurationError, load
from workers.process import Exit, StopFlag, ignore_stop_signals, start_log

if TYPE_CHECKING:
    from workers.lives import WorkerProcess


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m workers", description=__doc__)
    processes = parser.add_subparsers(dest="process", required=True)
    for name, help_text in (
        ("front", "what clients connect to"),
        ("master_db_svr", "the master's worker: writes, deletions, and reads that only the master may answer"),
        ("slave_db_svr", "a replica's worker: reads that the replica has caught up with"),
    ):
        process = processes.add_parser(name, help=help_text)
        process.add_argument("--instance", required=True, help="which DBSvr, as named in dbsvr.instances")
        if name == "slave_db_svr":
            process.add_argument("--replica", required=True, help="which replica, as named in databases.replicas")
    processes.add_parser("check", help="test configuration, databases, replication and kernel limits; starts nothing")
    adopting = processes.add_parser(
        "adopt", help="make a restored or former master the master of a new generation; what it lacks is given up"
    )
    adopting.add_argument("endpoint", help="host:port of a database that takes writes")
    rebuilding = processes.add_parser("rebuilt", help="say that a replica, refused for what it holds, was rebuilt from the master")
    rebuilding.add_argument("replica", help="which replica, as named in databases.replicas")
    rebuilding.add_argument("--instance", required=True, help="which DBSvr, as named in dbsvr.instances")
    holding = processes.add_parser("hold", help="let no DBSvr use a replica until it is released")
    holding.add_argument("replica", help="which replica, as named in databases.replicas")
    holding.add_argument("reason", help="why: operators see it on every page about the replica")
    releasing = processes.add_parser("release", help="let the DBSvrs use a held replica again")
    releasing.add_argument("replica", help="which replica, as named in databases.replicas")
    for each in (holding, releasing):
        each.add_argument("--by", default="", help="who says so; you, unless told otherwise")
    segments = processes.add_parser("segments", help="show who owns which users; `segments apply` makes it as configured")
    segments.add_argument("apply", nargs="?", choices=["apply"])
    moving = processes.add_parser("move", help="let another DBSvr own a segment")
    moving.add_argument("segment", help="as `segments` shows it")
    moving.add_argument("to", help="the DBSvr, as named in dbsvr.instances")
    chosen = parser.parse_args(arguments)
    try:
        configuration = load()
        if chosen.process in ("adopt", "rebuilt", "hold", "release", "segments", "move"):
            return _operate(chosen, configuration)
        if chosen.process == "check":
            from workers.check import check

            return check(configuration, sys.stdout)
        configuration.instance(chosen.instance)
        return _run(chosen, configuration)
    except ConfigurationError as error:
        print(error, file=sys.stderr)
        return Exit.WRONG_CONFIGURATION


def _operate(chosen: argparse.Namespace, configuration: Configuration) -> Exit:
    import getpass

    from workers import operate

    if chosen.process == "adopt":
        return operate.adopt(configuration, chosen.endpoint, sys.stdout)
    if chosen.process == "rebuilt":
        return operate.rebuilt(configuration, chosen.instance, chosen.replica, sys.stdout)
    if chosen.process == "hold":
        return operate.hold(configuration, chosen.replica, chosen.by or getpass.getuser(), chosen.reason, sys.stdout)
    if chosen.process == "release":
        return operate.release(configuration, chosen.replica, chosen.by or getpass.getuser(), sys.stdout)
    if chosen.process == "move":
        return operate.move(configuration, chosen.segment, chosen.to, sys.stdout)
    return operate.apply_segments(configuration, sys.stdout) if chosen.apply else operate.show_segments(configuration, sys.stdout)


def _run(chosen: argparse.Namespace, configuration: Configuration) -> Exit:
    # Each process imports only what it runs.
    if chosen.process == "front":
        from workers.front import run_front

        return run_front(configuration, chosen.instance, start_log(f"front-{chosen.instance}"))
    stop = StopFlag().listen()
    if chosen.process == "master_db_svr":
        from workers.master_db_svr import master_db_svr

        return _to_its_end(master_db_svr(configuration, chosen.instance, stop, start_log(f"master_db_svr-{chosen.instance}")))
    from workers.slave_db_svr import slave_db_svr

    replicas = {replica.name: replica for replica in configuration.databases.replicas}
    if chosen.replica not in replicas:
        known = ", ".join(replicas) or "none"
        raise ConfigurationError(f"no replica named {chosen.replica!r} in databases.replicas (there are: {known})")
    log = start_log(f"slave_db_svr-{chosen.instance}-{chosen.replica}")
    return _to_its_end(slave_db_svr(configuration, chosen.instance, replicas[chosen.replica], stop, log))


def _to_its_end(worker: WorkerProcess) -> Exit:
    ended = worker.run()
    ignore_stop_signals()
    return ended


if __name__ == "__main__":
    sys.exit(main())
