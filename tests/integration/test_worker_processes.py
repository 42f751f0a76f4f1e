"""The DBSvr's processes as a supervisor meets them: startable alone, exit codes that are words, and no Django inside."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import redis

from deploy.local.ports import is_free
from deploy.local.private_stack import PrivateStack
from deploy.local.stack_process import StackProcess
from tasksys_site.configuration import PROJECT
from tests.stack.revisions import create_table
from tests.stack.waiting import eventually
from workers.process import Exit

MakeStack = Callable[..., PrivateStack]

TELL_MODULES = """
import atexit, json, runpy, sys
where = sys.argv.pop(1)
atexit.register(lambda: open(where, "w").write(json.dumps(sorted(sys.modules))))
runpy.run_module("workers", run_name="__main__", alter_sys=True)
"""


def run_workers(stack: PrivateStack, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "workers", *arguments],
        cwd=PROJECT,
        env={**os.environ, **stack.environment, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_no_running_process_has_loaded_django_or_the_apps(make_stack: MakeStack, tmp_path: Path) -> None:
    stack = make_stack()
    told = {}
    for process in stack.dbsvr_processes:
        process.stop()
        told[process.name] = tmp_path / process.name
        arguments = process.command[process.command.index("workers") + 1 :]
        process.command = [sys.executable, "-c", TELL_MODULES, str(told[process.name]), *arguments]
        process.start()
    stack.wait_until_serving()

    assert [process.stop() for process in stack.dbsvr_processes] == [Exit.STOPPED] * 3
    for name, path in told.items():
        modules = set(json.loads(path.read_text()))
        assert not {module for module in modules if module.split(".")[0] in ("django", "celery", "apps", "rest_framework")}, name
        assert ("MySQLdb" in modules) == (not name.startswith("front")), "a front talks to no database"
        assert "workers.protocol" in modules or "workers.messages" in modules


def test_workers_may_be_started_in_any_order_and_restarted_one_by_one(make_stack: MakeStack) -> None:
    stack = make_stack()
    for process in stack.dbsvr_processes:
        assert process.stop() == Exit.STOPPED

    for process in reversed(stack.dbsvr_processes):
        process.start()
    stack.wait_until_serving()
    for process in stack.dbsvr_processes:
        assert process.stop() == Exit.STOPPED
        process.start()
        stack.wait_until_serving()


def test_check_reports_a_sound_stack_and_exits_0(make_stack: MakeStack) -> None:
    result = run_workers(make_stack(before=create_table), "check")

    assert result.returncode == Exit.STOPPED, result.stdout
    assert "All is well." in result.stdout
    assert "replication: receiving runs, applying runs" in result.stdout
    assert "dbsvr.beat_ms = 100" in result.stdout


def test_check_names_every_fault_at_once(make_stack: MakeStack) -> None:
    stack = make_stack()
    stack.master.execute("SET GLOBAL innodb_flush_log_at_trx_commit = 2")
    stack.replica.stop_sql_thread()

    result = run_workers(stack, "check")

    assert result.returncode == Exit.WRONG_CONFIGURATION
    assert "innodb_flush_log_at_trx_commit is 2, must be 1" in result.stdout
    assert "applying stands still" in result.stdout
    stack.replica.start_sql_thread()
    stack.master.execute("SET GLOBAL innodb_flush_log_at_trx_commit = 1")


def test_check_refuses_an_account_that_may_write_on_a_replica(make_stack: MakeStack) -> None:
    stack = make_stack()
    stack.master.execute("GRANT READ_ONLY ADMIN ON *.* TO 'tasksys_workers'@'127.0.0.1'")

    result = run_workers(stack, "check")

    assert result.returncode == Exit.WRONG_CONFIGURATION
    assert "take SUPER and READ_ONLY ADMIN away" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "environment", "words"),
    [
        (["front", "--instance", "z"], {}, "no DBSvr instance named 'z'"),
        (["slave_db_svr", "--instance", "a", "--replica", "r9"], {}, "no replica named 'r9'"),
        (["front", "--instance", "a"], {"TASKSYS_DBSVR__BAETCH": "1"}, "TASKSYS_DBSVR__BAETCH: is no setting"),
        (["check"], {"TASKSYS_DBSVR__BATCH": "0", "TASKSYS_WEB__PORT": "99999"}, "web.port"),
        (["front", "--instance", "a"], {"TASKSYS_CONFIG": "/nowhere/tasksys.toml"}, "there is no file"),
    ],
)
def test_a_wrong_configuration_is_told_and_not_started_again(
    session_stack: PrivateStack, arguments: list[str], environment: dict[str, str], words: str
) -> None:
    result = run_workers(session_stack, *arguments, **environment)

    assert result.returncode == Exit.WRONG_CONFIGURATION
    assert words in result.stderr


def test_a_taken_port_is_named_with_its_setting(stack: PrivateStack) -> None:
    result = run_workers(stack, "front", "--instance", "a")

    assert result.returncode == Exit.START_AGAIN
    assert f"port {stack.front_port} is taken; set dbsvr.instances.a.port" in result.stderr
    assert stack.client().ping(), "the front that holds the port goes on, with its queues"


def test_with_a_secret_nothing_is_answered_before_it(make_stack: MakeStack, tmp_path: Path) -> None:
    stack = make_stack()
    (tmp_path / "secret").write_text("sesame\n")
    stack.front.stop()
    front: StackProcess = stack.another("front")
    front._environment |= {
        "TASKSYS_DBSVR__INSTANCES": json.dumps(
            {
                "a": {
                    "port": stack.front_port,
                    "queue_key": stack.queue_key,
                    "auth_user": "web",
                    "auth_secret_file": str(tmp_path / "secret"),
                }
            }
        )
    }
    front.start()
    try:
        eventually(lambda: not is_free(stack.front_port))
        with socket.create_connection(("127.0.0.1", stack.front_port), timeout=5) as wire:
            for said, answer in (
                (b"PING", b"-NOAUTH"),
                (b"TASK.GET 1 node-1", b"-NOAUTH"),
                (b"TASK.STATS", b"-NOAUTH"),
                (b"HELLO 3", b"-NOAUTH"),
                (b"AUTH web wrong", b"-NOAUTH wrong user or secret"),
                (b"AUTH other sesame", b"-NOAUTH wrong user or secret"),
                (b"AUTH web sesame", b"+OK"),
                (b"PING", b"+PONG"),
            ):
                words = said.split()
                wire.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%b\r\n" % (len(word), word) for word in words))
                assert wire.recv(1000).startswith(answer), said
        with redis.Redis(port=stack.front_port, username="web", password="sesame") as client:
            assert client.ping()
    finally:
        front.stop()
