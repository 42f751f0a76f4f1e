"""The order in which the local stack comes up, and how it goes down.

Ports and queue keys are looked at first, so that nothing is half started when one is taken. Databases and Redis, then replication,
accounts, tables and demo data, then our own programs; at last everything is asked whether it answers.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import fcntl
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from deploy.local.answers import EVERYTHING_WITHIN_S, questions
from deploy.local.mariadb import create_schemas_and_accounts, grant_on_tables, replicate
from deploy.local.pieces import DBSVR, TASKSYS, LocalStack, python, servers_of
from deploy.local.ports import is_free
from deploy.local.queue_keys import queues_in_use
from deploy.local.secret_files import ensure_secret
from deploy.local.server_process import ServerFailed
from deploy.local.supervision import Supervisord, SupervisordFailed
from deploy.local.terminal import step
from tasksys_site.configuration import PROJECT


class StartFailed(Exception):
    """The stack is not up; the message says what to do."""


@contextlib.contextmanager
def only_one_at_a_time(stack: LocalStack) -> Iterator[None]:
    """Two starts, or a start and a reset, beside each other would work in one folder."""
    stack.var.mkdir(parents=True, exist_ok=True, mode=0o700)
    folder = os.open(stack.var, os.O_RDONLY)  # the lock is the folder itself: no file to leave over
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise StartFailed(f"another start, stop or reset is at work in {stack.var}; wait for it to end") from None
    finally:
        os.close(folder)


def bring_up(stack: LocalStack, supervisord: Supervisord, dies_with_us: bool) -> bool:
    """Start everything; True when the operator's account was made now. On failure nothing is left running."""
    refuse_what_is_taken(stack)
    for file in stack.secret_files:
        ensure_secret(file)
    had_operator = stack.operator_password_file.exists()
    (stack.var / "run").mkdir(exist_ok=True, mode=0o700)
    try:
        _start(stack, supervisord, dies_with_us)
    except BaseException as error:
        logs = _logs_of_the_failed(stack, supervisord) if isinstance(error, ServerFailed) else []
        supervisord.stop()
        if logs:
            raise StartFailed("\n".join([str(error), *logs])) from error
        raise
    return not had_operator


def _start(stack: LocalStack, supervisord: Supervisord, dies_with_us: bool) -> None:
    with step("data directories"), concurrent.futures.ThreadPoolExecutor() as pool:
        list(pool.map(lambda server: server.install(), servers_of(stack)))
    with step("MariaDB master and replica, Redis broker and cache nodes"):
        supervisord.start(dies_with_us)
        for server in servers_of(stack):
            server.wait_until_ready(30)
    with step("replication, schemas and accounts"):
        settings = stack.configuration.databases
        create_schemas_and_accounts(stack.master, settings.accounts, settings.configuration_schema, settings.user_schema)
        for replica in stack.replicas.values():
            replicate(stack.master, replica)
    with step("tables, operator, demo tasks, static files"):
        _run_python("deploy.local.prepare")
        grant_on_tables(stack.master, settings.accounts, settings.user_schema)
    with step("DBSvr"):
        supervisord.start_group(DBSVR)
        _ask(stack, supervisord, "DBSvr")
    supervisord.start_group(TASKSYS)  # they start while the demo users are loaded
    _run_python("deploy.local.demo_users", shown=True)
    with step("everything answers"):
        _ask(stack, supervisord, "")


def _ask(stack: LocalStack, supervisord: Supervisord, beginning: str) -> None:
    faults = []
    until = time.monotonic() + EVERYTHING_WITHIN_S
    for question in questions(stack, supervisord):
        if question.what.startswith(beginning):
            fault = question.wait_for_answer(max(0.0, until - time.monotonic()))
            if fault is not None:
                faults.append(f"{question.what}: {fault}")
    if faults:
        raise StartFailed(
            "\n".join(["These do not answer:", *(f"  - {fault}" for fault in faults), *_logs_of_the_failed(stack, supervisord)])
        )


def _logs_of_the_failed(stack: LocalStack, supervisord: Supervisord) -> list[str]:
    """The last lines of every program that is not running, or, when all are, where the logs are."""
    with contextlib.suppress(SupervisordFailed):
        processes = supervisord.processes()
        failed = [program for program in stack.programs if processes[program.full_name]["statename"] not in ("RUNNING", "STOPPED")]
        if failed:
            return [line for program in failed for line in (f"--- {stack.log_of(program)}", *_last_lines(stack.log_of(program)))]
    return [f"The logs are in {stack.var / 'log'}."]


def _last_lines(file: Path, count: int = 15) -> list[str]:
    try:
        return file.read_text(errors="replace").splitlines()[-count:]
    except OSError:
        return ["(no log)"]


def _run_python(module: str, shown: bool = False) -> None:
    result = subprocess.run(
        [python(), "-W", "ignore", "-m", module],
        cwd=PROJECT,
        check=False,
        text=True,
        stdout=None if shown else subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    if result.returncode != 0:
        raise StartFailed(f"{module} failed:\n{(result.stdout or '')[-4000:]}".rstrip())


def refuse_what_is_taken(stack: LocalStack) -> None:
    """StartFailed that names every taken port and queue key at once, with the setting to change."""
    faults = [
        f"Port {listener.port}, for {listener.what}, is taken by another program.\n"
        f"    Choose another: {listener.setting} in tasksys.toml, or for one run: {listener.variable} make run"
        for listener in stack.listeners
        if not is_free(listener.port, listener.host)
    ]
    faults += [
        f"Queue key {instance.queue_key:#x}, for DBSvr {name}, is used by process {pid}, perhaps of another Tasksys on this machine.\n"
        f"    Choose another: dbsvr.instances.{name}.queue_key in tasksys.toml, or for one run:"
        f" TASKSYS_DBSVR__INSTANCES__{name.upper()}__QUEUE_KEY={instance.queue_key + 0x100} make run"
        for name, instance in stack.configuration.dbsvr.instances.items()
        for pid in queues_in_use(instance.queue_key)[:1]
    ]
    if faults:
        raise StartFailed("\n".join(faults))


def bring_down(stack: LocalStack, supervisord: Supervisord) -> bool:
    """Stop everything, also what a killed supervisord left behind. False when nothing ran."""
    something_ran = supervisord.stop()
    for server in servers_of(stack):
        if server.pid is not None:
            something_ran = True
            with contextlib.suppress(ServerFailed):
                server.stop()
    return something_ran
