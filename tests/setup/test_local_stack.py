"""`make up`, `make down` and what may come between, on a copy of the project in a folder with an awkward name.

The copy borrows this project's .venv, so nothing is downloaded; test_fresh_clone.py (make test-long) does without.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import socket
import subprocess
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
import redis

from deploy.local.ports import free_ports
from deploy.local.server_process import wait_until
from tasksys_site.configuration import ENVIRONMENT_PREFIX, PROJECT

UP_WITHIN_S = 180


class Copy:
    """A copy of the project with ports and queue keys of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        web, self.front_port, metrics, other_front, other_metrics, master, replica, broker, one, two, points, profiles = free_ports(12)
        self.web_port = web
        self.settings = {
            "TASKSYS_WEB__PORT": str(web),
            "TASKSYS_DBSVR__INSTANCES__A__PORT": str(self.front_port),
            "TASKSYS_DBSVR__INSTANCES__A__METRICS_PORT": str(metrics),
            "TASKSYS_DBSVR__INSTANCES__A__QUEUE_KEY": str(random.randrange(0x1000_0000, 0x3000_0000)),
            "TASKSYS_DBSVR__INSTANCES__B__PORT": str(other_front),
            "TASKSYS_DBSVR__INSTANCES__B__METRICS_PORT": str(other_metrics),
            "TASKSYS_DBSVR__INSTANCES__B__QUEUE_KEY": str(random.randrange(0x3000_0000, 0x6000_0000)),
            "TASKSYS_DATABASES__MASTER": json.dumps([f"127.0.0.1:{master}"]),
            "TASKSYS_DATABASES__REPLICAS": json.dumps([{"name": "r1", "endpoints": [f"127.0.0.1:{replica}"]}]),
            "TASKSYS_BROKER__URL": f"redis://127.0.0.1:{broker}/0",
            "TASKSYS_REFERENCE__POINTS_PORT": str(points),
            "TASKSYS_REFERENCE__PROFILES_PORT": str(profiles),
            "TASKSYS_CACHE__NODES": json.dumps(
                [{"name": f"node-{n}", "url": f"redis://127.0.0.1:{port}/0"} for n, port in ((1, one), (2, two))]
            ),
        }

    def make(self, target: str, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["make", "--no-print-directory", target],
            cwd=self.folder,
            env=self.environment(more),
            capture_output=True,
            text=True,
            check=False,
            timeout=UP_WITHIN_S,
        )

    def environment(self, more: Mapping[str, str] | None = None) -> dict[str, str]:
        """What a newcomer's shell would have, and the copy's own settings."""
        ours = ("PYTEST_", "DJANGO_", "MAKE", ENVIRONMENT_PREFIX)
        return {name: value for name, value in os.environ.items() if not name.startswith(ours)} | self.settings | dict(more or {})

    def supervisord_pid(self) -> int:
        return int((self.folder / "var" / "supervisord.pid").read_text())

    def processes(self) -> list[int]:
        """Every living process that works in the copy."""
        pids = []
        for entry in Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and (entry / "cwd").resolve(strict=True).is_relative_to(self.folder):
                    pids.append(int(entry.name))
            except OSError:
                continue  # it has ended, or is not ours to look at
        return pids


NOT_IN_A_CLONE = (".git", ".venv", "var", "tasksys.toml", "node_modules", "__pycache__", "*.mo", ".*_cache", ".hypothesis")


def copy_of_the_project(folder: Path) -> Path:
    """What a clone would hold, with what is not committed yet."""
    return Path(shutil.copytree(PROJECT, folder, ignore=shutil.ignore_patterns(*NOT_IN_A_CLONE)))


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Copy]:
    folder = copy_of_the_project(tmp_path_factory.mktemp("set-up") / "a folder 100% #2 ;b")
    (folder / ".venv").symlink_to(PROJECT / ".venv")
    made = Copy(folder)
    yield made
    made.make("down")
    assert wait_until(lambda: not made.processes(), 20), f"left over: {made.processes()}"


@pytest.fixture
def running(copy: Copy) -> Copy:
    up = copy.make("up")
    assert up.returncode == 0, up.stdout + up.stderr
    return copy


def test_it_comes_up_and_says_where_to_look(running: Copy) -> None:
    status = running.make("status")
    assert status.returncode == 0, status.stdout + status.stderr
    assert "DBSvr a: master up, r1 serving" in status.stdout
    assert "DBSvr b: master up, r1 serving" in status.stdout
    with urllib.request.urlopen(f"http://127.0.0.1:{running.web_port}/", timeout=10) as home:
        assert home.status == 200
    with redis.Redis(port=running.front_port, socket_timeout=5) as client:
        user = json.loads(client.execute_command("TASK.GET", 1_000_000_000_042, "node-1"))
    assert user["version"] > 0

    again = running.make("up")

    assert again.returncode == 0
    assert "runs already" in again.stdout
    assert f"http://127.0.0.1:{running.web_port}/console/" in again.stdout


def test_secrets_are_for_their_owner_only(running: Copy) -> None:
    secrets = [*(running.folder / "var" / "secrets").iterdir(), running.folder / "var" / "demo-api-key"]

    assert len(secrets) >= 7
    assert {oct(path.stat().st_mode & 0o777) for path in secrets} == {"0o600"}


def test_what_the_demo_users_earned_reaches_a_points_system_that_can_be_told_to_fail(running: Copy) -> None:
    def reference(*order: str) -> str:
        command = [".venv/bin/python", "-m", "deploy.local", "reference", "points", *order]
        result = subprocess.run(command, cwd=running.folder, env=running.environment(), capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stderr
        return result.stdout

    assert wait_until(lambda: '"201"' in reference("show"), 60, every_s=0.5), reference("show")
    assert 'points: {"slow_ms": 300}' in reference("slow", "--ms", "300")
    assert "points: well" in reference("well")


@pytest.mark.long
def test_the_password_is_printed_once_and_the_data_is_kept(running: Copy) -> None:
    password = (running.folder / "var" / "secrets" / "operator").read_text().strip()
    with redis.Redis(port=running.front_port, socket_timeout=5) as client:
        change = json.dumps([{"task": 1, "period": "once", "op": "add", "value": 1}])
        written = json.loads(client.execute_command("TASK.FINISH", 77, "node-1", "kept", change))

    assert running.make("down").returncode == 0
    assert running.processes() == []
    second = running.make("up")

    assert second.returncode == 0, second.stdout + second.stderr
    assert password not in second.stdout
    assert (running.folder / "var" / "secrets" / "operator").read_text().strip() == password
    with redis.Redis(port=running.front_port, socket_timeout=5) as client:
        assert json.loads(client.execute_command("TASK.GET", 77, "node-1"))["version"] == written["snapshot"]["version"]


@pytest.mark.long
def test_nothing_survives_a_killed_supervisord(running: Copy) -> None:
    os.kill(running.supervisord_pid(), signal.SIGKILL)

    assert wait_until(lambda: not running.processes(), 20), running.processes()
    assert "does not run" in running.make("status").stdout


def test_a_taken_port_is_named_with_its_setting_and_nothing_is_started(copy: Copy) -> None:
    copy.make("down")
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", copy.web_port))
        other.listen()

        up = copy.make("up")

    assert up.returncode != 0
    assert f"Port {copy.web_port}, for web, is taken" in up.stderr
    assert "web.port in tasksys.toml" in up.stderr
    assert f"TASKSYS_WEB__PORT={copy.web_port + 1}" in up.stderr
    assert copy.processes() == []


def test_a_wrong_setting_is_named_before_anything_starts(copy: Copy) -> None:
    copy.make("down")

    up = copy.make("up", TASKSYS_WEB__PROT="7381")

    assert up.returncode != 0
    assert "TASKSYS_WEB__PROT: is no setting" in up.stderr
    assert copy.processes() == []


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_in_the_foreground_a_signal_stops_it_all(copy: Copy, tmp_path: Path, number: signal.Signals) -> None:
    copy.make("down")
    log = tmp_path / "log"
    with log.open("w") as out:
        run = subprocess.Popen(["make", "run"], cwd=copy.folder, env=copy.environment(), stdout=out, stderr=out, start_new_session=True)
    try:
        assert wait_until(lambda: "Ctrl-C stops everything" in log.read_text() or run.poll() is not None, UP_WITHIN_S, every_s=0.2)
        assert run.poll() is None, log.read_text()

        os.killpg(run.pid, number)  # as a terminal does: to everything in its foreground

        run.wait(30)
        assert copy.processes() == []
    finally:
        if run.poll() is None:
            run.kill()


def test_reset_asks_before_it_deletes(copy: Copy) -> None:
    copy.make("down")
    assert (copy.folder / "var").is_dir()

    unasked = copy.make("reset")

    assert unasked.returncode != 0
    assert "no terminal to ask on" in unasked.stderr
    assert (copy.folder / "var").is_dir()
    assert copy.make("reset", YES="1").returncode == 0
    assert not (copy.folder / "var").exists()
