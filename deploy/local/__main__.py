"""`python -m deploy.local COMMAND`: the local stack, as the Makefile's targets run, up, down, status, logs, reset, demo use it.

`reference points slow --ms 500` tells a reference server what to do wrong.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sys
import time
from pathlib import Path
from types import FrameType

from deploy.local.answers import stats_of
from deploy.local.demo_users import FIRST_DEMO_USERS
from deploy.local.pieces import LocalStack, NotLocal
from deploy.local.reference import add_arguments, give_order
from deploy.local.server_process import ServerFailed
from deploy.local.start_up import StartFailed, bring_down, bring_up, only_one_at_a_time
from deploy.local.supervision import Supervisord, SupervisordFailed
from tasksys_site.configuration import ConfigurationError, load

STARTED, FAILED, NOT_RUNNING, WRONG_CONFIGURATION = 0, 1, 3, 78


class Interrupted(BaseException):
    """Ctrl-C, TERM or a closed terminal. Like KeyboardInterrupt no Exception, so that nothing swallows it."""


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m deploy.local", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("run", help="start everything and stay in the foreground; Ctrl-C stops it all")
    commands.add_parser("up", help="start everything in the background")
    commands.add_parser("down", help="stop everything")
    commands.add_parser("status", help="what runs")
    commands.add_parser("logs", help="follow all logs")
    reset = commands.add_parser("reset", help="stop everything and delete var/ with all data")
    reset.add_argument("--yes", action="store_true", help="do not ask")
    demo = commands.add_parser("demo", help="a minute of load, the replica stalled in the middle")
    demo.add_argument("--seconds", type=int, default=60)
    demo.add_argument("--stall", type=int, default=20, help="seconds for which the replica stands still")
    add_arguments(commands.add_parser("reference", help="tell a reference server to be slow, wrong, dead … or well"))
    chosen = parser.parse_args(arguments)
    try:
        stack = LocalStack(load())
        supervisord = Supervisord(stack)
        if chosen.command == "run":
            return run(stack, supervisord)
        if chosen.command == "up":
            return up(stack, supervisord)
        if chosen.command == "down":
            return down(stack, supervisord)
        if chosen.command == "status":
            return status(stack, supervisord)
        if chosen.command == "logs":
            return logs(stack)
        if chosen.command == "reset":
            return reset_everything(stack, supervisord, asks=not chosen.yes)
        if chosen.command == "reference":
            return give_order(stack, chosen)
        from deploy.local.demo import demonstrate

        return demonstrate(stack, supervisord, chosen.seconds, chosen.stall)
    except (ConfigurationError, NotLocal) as error:
        print(error, file=sys.stderr)
        return WRONG_CONFIGURATION
    except (StartFailed, ServerFailed, SupervisordFailed) as error:
        print(f"\n{error}", file=sys.stderr)
        return FAILED
    except (Interrupted, KeyboardInterrupt):
        print("\nStopped.")
        return 130


def run(stack: LocalStack, supervisord: Supervisord) -> int:
    if _says_that_it_runs(stack, supervisord):
        return STARTED
    _stop_on_signals()
    _end_with_make()
    try:
        with only_one_at_a_time(stack):
            began = time.monotonic()
            is_new = bring_up(stack, supervisord, dies_with_us=True)
        _welcome(stack, is_new, time.monotonic() - began)
        print("Ctrl-C stops everything.", flush=True)
        while supervisord.process is not None and supervisord.process.poll() is None:
            time.sleep(0.5)
        print("\nsupervisord has ended without being asked; its log is", supervisord.log, file=sys.stderr)
        return FAILED
    except (Interrupted, KeyboardInterrupt):
        print("\nStopping …", flush=True)
        bring_down(stack, supervisord)
        print("Stopped. The data is kept in", stack.var)
        return STARTED


def up(stack: LocalStack, supervisord: Supervisord) -> int:
    if _says_that_it_runs(stack, supervisord):
        return STARTED
    _stop_on_signals()
    with only_one_at_a_time(stack):
        began = time.monotonic()
        is_new = bring_up(stack, supervisord, dies_with_us=False)
    _welcome(stack, is_new, time.monotonic() - began)
    print("It runs in the background: make status, make logs, make down.")
    return STARTED


def down(stack: LocalStack, supervisord: Supervisord) -> int:
    if not stack.var.exists():
        print("It does not run.")
        return STARTED
    with only_one_at_a_time(stack):
        print("Stopped. The data is kept." if bring_down(stack, supervisord) else "It does not run.")
    return STARTED


def status(stack: LocalStack, supervisord: Supervisord) -> int:
    if supervisord.pid is None:
        print("It does not run. Start it: make run (in the foreground) or make up (in the background).")
        return NOT_RUNNING
    processes = supervisord.processes()
    for name, row in processes.items():
        since = f"for {int(row['now'] - row['start'])} s, pid {row['pid']}" if row["statename"] == "RUNNING" else row["description"]
        print(f"  {name:<22} {row['statename'].lower():<9} {since}")
    for name, instance in stack.configuration.dbsvr.instances.items():
        stats = stats_of(instance)
        if stats is None:
            print(f"  DBSvr {name}: does not answer on {instance.host}:{instance.port}")
            continue
        servers = {"master": stats["master"], **stats["replicas"]}  # type: ignore[dict-item]
        words = [f"{server} {view['state']}" for server, view in servers.items()]  # type: ignore[index]
        segments: dict[str, dict[str, object]] = stats.get("segments") or {}  # type: ignore[assignment]
        words += [f"segment {segment} {row['state']}" for segment, row in segments.items() if row["owner"] == name]
        print(f"  DBSvr {name}: {', '.join(words)}")
    print(f"  {stack.web_address}/")
    return STARTED if all(row["statename"] == "RUNNING" for row in processes.values()) else FAILED


def logs(stack: LocalStack) -> int:
    files = sorted((stack.var / "log").glob("*.log")) + sorted(stack.var.glob("*/*/server.log"))
    if not files:
        print("There are no logs yet.")
        return NOT_RUNNING
    os.execvp("tail", ["tail", "-n", "5", "-F", "--", *(str(file) for file in files)])


def reset_everything(stack: LocalStack, supervisord: Supervisord, asks: bool) -> int:
    if not stack.var.exists():
        print("There is nothing to delete.")
        return STARTED
    if asks:
        if not sys.stdin.isatty():
            print(
                "make reset asks before it deletes, and there is no terminal to ask on. To delete unasked: make reset YES=1",
                file=sys.stderr,
            )
            return FAILED
        print(f"This stops the local stack and deletes {stack.var}: all databases, logs and secrets in it.")
        if input("Type yes to delete: ").strip().lower() != "yes":
            print("Nothing was deleted.")
            return FAILED
    with only_one_at_a_time(stack):
        bring_down(stack, supervisord)
        shutil.rmtree(stack.var)
    print("Deleted. make run begins anew.")
    return STARTED


def _says_that_it_runs(stack: LocalStack, supervisord: Supervisord) -> bool:
    if supervisord.pid is None:
        return False
    print(f"Tasksys runs already (supervisord is process {supervisord.pid}).")
    _addresses(stack)
    print("make status says more; make down stops it.")
    return True


def _welcome(stack: LocalStack, is_new: bool, seconds: float) -> None:
    print(f"\nTasksys is ready, after {seconds:.1f} s.\n")
    _addresses(stack)
    if is_new:
        print(f"  log in      operator / {stack.operator_password_file.read_text().strip()}")
        print(f"              (said only once; kept in {_short(stack.operator_password_file)})")
    else:
        print(f"  log in      operator, the password is in {_short(stack.operator_password_file)}")
    print(f"  reviewer    approves what you change; the password is in {_short(stack.reviewer_password_file)}")
    print(f"  API key     in {_short(stack.demo_key_file)}")
    print("\nnext: make demo\n", flush=True)


def _addresses(stack: LocalStack) -> None:
    print(f"  home        {stack.web_address}/")
    print(f"  console     {stack.web_address}/console/")
    print(f"  admin       {stack.web_address}/admin/")
    print(f"  API         {stack.web_address}/api/docs/")
    for name, port in stack.references.items():
        print(f"  {name:<11} reference server on port {port}: .venv/bin/python -m deploy.local reference {name} show")
    for name, instance in stack.configuration.dbsvr.instances.items():
        users = [first + 42 for first in FIRST_DEMO_USERS if stack.configuration.dbsvr.home_of(first + 42) == name]
        print(f"  DBSvr {name}     redis-cli -p {instance.port} " + (f"TASK.GET {users[0]} node-1" if users else "TASK.STATS"))


def _short(path: Path) -> str:
    return os.path.relpath(path) if path.is_relative_to(Path.cwd()) else str(path)


def _stop_on_signals() -> None:
    """The first signal ends what we do, by Interrupted; the next ones would only end it untidily (make sends a second TERM)."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def interrupt(number: int, frame: FrameType | None) -> None:
        for each in numbers:
            signal.signal(each, signal.SIG_IGN)
        raise Interrupted

    for each in numbers:
        signal.signal(each, interrupt)


def _end_with_make() -> None:
    """When make is killed, TERM comes to us from the kernel. Not under any other parent: nohup and setsid must go on working."""
    if Path(f"/proc/{os.getppid()}/comm").read_text().strip() in ("make", "gmake"):
        import ctypes

        pr_set_pdeathsig = 1
        ctypes.CDLL(None).prctl(pr_set_pdeathsig, int(signal.SIGTERM))


if __name__ == "__main__":
    sys.exit(main())
