"""A whole stack of one's own: databases, Redis nodes and the DBSvr's processes, on free ports and under one folder.

For tests and benches: each has its own configuration, secrets, queue keys and data, and every part can be stopped, killed,
frozen and thawed. `make run` starts the same servers by supervisord instead.
"""

from __future__ import annotations

import json
import os
import random
import secrets
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import redis as redis_py

from deploy.local.mariadb import MariaDBServer, create_schemas_and_accounts, replicate
from deploy.local.ports import free_ports
from deploy.local.redis import RedisServer
from deploy.local.server_process import ServerFailed, dies_with_parent, wait_until
from tasksys_site.configuration import FILE_VARIABLE, PROJECT, Configuration, load

USER_TABLES = PROJECT / "apps" / "dbsvr" / "sql"
READY_WITHIN_S = 30.0


class StackProcess:
    """One process of ours, with its log in a file. It dies with whoever started it."""

    def __init__(self, name: str, command: Sequence[str], log: Path, environment: Mapping[str, str]) -> None:
        self.name = name
        self.command = list(command)
        self.log = log
        self._environment = {**os.environ, **environment}
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None and self._process.poll() is None else None

    @property
    def exit_code(self) -> int | None:
        return None if self._process is None else self._process.poll()

    def start(self) -> None:
        if self.pid is not None:
            raise ServerFailed(f"{self.name} runs already, pid {self.pid}")
        with open(self.log, "ab") as log:
            self._process = subprocess.Popen(
                [*dies_with_parent(signal.SIGKILL), *self.command],
                cwd=PROJECT,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def signal(self, number: signal.Signals) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(number)

    def stop(self, timeout_s: float = 10.0) -> int | None:
        """TERM, and by force after the time. The exit code."""
        self.thaw()
        self.signal(signal.SIGTERM)
        return self.wait(timeout_s)

    def kill(self) -> None:
        self.signal(signal.SIGKILL)
        self.wait(10.0)

    def freeze(self) -> None:
        self.signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self.signal(signal.SIGCONT)

    def wait(self, timeout_s: float) -> int | None:
        if self._process is None:
            return None
        try:
            return self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait(10.0)

    def last_log_lines(self, count: int = 30) -> str:
        try:
            return "\n".join(self.log.read_text(errors="replace").splitlines()[-count:])
        except OSError as error:
            return f"(no log: {error})"


class PrivateStack:
    """The parts by name. Nothing runs before `start_*` is called; `stop` ends all of it."""

    def __init__(
        self,
        directory: Path,
        replicas: int = 1,
        settings: Mapping[str, object] | None = None,
        endpoints: Endpoints | None = None,
    ) -> None:
        """`settings`: further keys of section `dbsvr`. `endpoints`: of "master" and the replicas, where not the server alone."""
        self.directory = directory
        directory.mkdir(parents=True, exist_ok=True)
        ports = iter(free_ports(7 + replicas))
        self.master = MariaDBServer("master", directory / "master", next(ports), server_id=1)
        self.replicas = {
            f"r{number}": MariaDBServer(f"r{number}", directory / f"r{number}", next(ports), server_id=1 + number, read_only=True)
            for number in range(1, replicas + 1)
        }
        self.broker = RedisServer("broker", directory / "broker", next(ports))
        self.nodes = {f"node-{number}": RedisServer(f"node-{number}", directory / f"node-{number}", next(ports)) for number in (1, 2)}
        self.front_port, self.metrics_port, self.web_port = next(ports), next(ports), next(ports)
        self.queue_key = random.randrange(0x1000_0000, 0x6000_0000)
        self._endpoints = endpoints(self) if endpoints is not None else {}
        self.configuration_file = directory / "tasksys.toml"
        self._write_configuration(dict(settings or {}))
        self.environment = {FILE_VARIABLE: str(self.configuration_file)}
        self._others = 0
        self.front = self.another("front")
        self.master_worker = self.another("master_db_svr")
        self.replica_workers = {name: self.another("slave_db_svr", "--replica", name) for name in self.replicas}

    @property
    def replica(self) -> MariaDBServer:
        """The first replica."""
        return self.replicas["r1"]

    @property
    def replica_worker(self) -> StackProcess:
        return self.replica_workers["r1"]

    @property
    def dbsvr_processes(self) -> list[StackProcess]:
        return [self.front, self.master_worker, *self.replica_workers.values()]

    def configuration(self) -> Configuration:
        """The stack's configuration, as its processes read it."""
        before = os.environ.get(FILE_VARIABLE)
        os.environ[FILE_VARIABLE] = str(self.configuration_file)
        try:
            return load()
        finally:
            if before is None:
                del os.environ[FILE_VARIABLE]
            else:
                os.environ[FILE_VARIABLE] = before

    def another(self, process: str, *arguments: str) -> StackProcess:
        """One more process of that kind, with a log of its own; not started, and for the caller to end."""
        self._others += 1
        command = [sys.executable, "-m", "workers", process, "--instance", "a", *arguments]
        return StackProcess(f"{process}-{self._others}", command, self.directory / f"{process}-{self._others}.log", self.environment)

    def start_databases(self) -> None:
        """Master and replicas, replicating, with schemas and accounts, and no tables yet."""
        self.master.start()
        for replica in self.replicas.values():
            replica.start()
            replicate(self.master, replica)
        create_schemas_and_accounts(self.master, self.configuration().databases.accounts)

    def create_user_tables(self) -> None:
        """The tables of schema tasksys_user alone, without Django."""
        statements = ";\n".join(path.read_text(encoding="utf-8") for path in sorted(USER_TABLES.glob("*.sql")))
        for statement in statements.split(";\n"):
            sql = "\n".join(line for line in statement.splitlines() if not line.startswith("--"))
            if sql.strip():
                self.master.execute(sql, "tasksys_user")

    def migrate(self) -> None:
        """All tables of both schemas, by Django's migrations."""
        for alias in ("default", "userdata"):
            self.manage("migrate", f"--database={alias}", "--verbosity=0")

    def manage(self, *arguments: str) -> str:
        """Run `manage.py …` against this stack; what it printed. ServerFailed with its output when it fails."""
        result = subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=PROJECT,
            env={**os.environ, **self.environment},
            capture_output=True,
            text=True,
            check=False,
        )
        if result.returncode != 0:
            raise ServerFailed(f"manage.py {' '.join(arguments)} failed:\n{result.stdout[-3000:]}{result.stderr[-3000:]}")
        return result.stdout

    def start_redis(self) -> None:
        for server in (self.broker, *self.nodes.values()):
            server.start()

    def start_dbsvr(self) -> None:
        """Front and workers, until the master is up and every replica serves."""
        for process in self.dbsvr_processes:
            process.start()
        self.wait_until_serving()

    def wait_until_serving(self, timeout_s: float = READY_WITHIN_S) -> None:
        def serves() -> bool:
            stats = self.stats()
            if stats is None or stats["master"]["state"] != "up":
                return False
            return all(replica["state"] == "serving" and replica["tick"] >= stats["floor"] for replica in stats["replicas"].values())

        self._wait(serves, timeout_s, "the DBSvr does not serve")

    def stats(self) -> dict[str, object] | None:  # type: ignore[explicit-any]
        """TASK.STATS; None when the front does not answer."""
        try:
            with self.client() as client:
                return json.loads(client.execute_command("TASK.STATS"))  # type: ignore[no-any-return]
        except (redis_py.RedisError, OSError):
            return None

    def client(self, timeout_s: float = 5.0) -> redis_py.Redis:
        """A RESP client that never repeats by itself."""
        from redis.backoff import NoBackoff
        from redis.retry import Retry

        return redis_py.Redis(port=self.front_port, socket_timeout=timeout_s, socket_connect_timeout=timeout_s, retry=Retry(NoBackoff(), 0))

    def stop(self) -> None:
        """End everything; what hangs, by force."""
        for process in reversed(self.dbsvr_processes):
            process.stop()
        for server in (*self.nodes.values(), self.broker, *self.replicas.values(), self.master):
            server.stop()

    def _endpoints_of(self, name: str, server: MariaDBServer) -> str:
        return json.dumps(list(self._endpoints.get(name, [server.endpoint])))

    def _wait(self, condition: Callable[[], bool], timeout_s: float, complaint: str) -> None:
        if not wait_until(condition, timeout_s):
            logs = "\n".join(f"--- {process.name}\n{process.last_log_lines()}" for process in self.dbsvr_processes)
            raise ServerFailed(f"{complaint} within {timeout_s:g} s; stats: {self.stats()}\n{logs}")

    def _write_configuration(self, dbsvr: dict[str, object]) -> None:
        secrets_dir = self.directory / "secrets"
        secrets_dir.mkdir(exist_ok=True, mode=0o700)
        for name in ("migrations", "workers", "web", "reading", "django"):
            path = secrets_dir / name
            if not path.exists():
                path.write_text(secrets.token_urlsafe(32))
                path.chmod(0o600)
        run_dir = self.directory / "run"
        lines = [f"var_dir = {_toml(self.directory)}", "", "[databases]", f"master = {self._endpoints_of('master', self.master)}"]
        for name in ("migrations", "workers", "web", "reading"):
            lines += [f"[databases.accounts.{name}]", f'user = "tasksys_{name}"', f"password_file = {_toml(secrets_dir / name)}"]
        for name, server in self.replicas.items():
            lines += ["[[databases.replicas]]", f'name = "{name}"', f"endpoints = {self._endpoints_of(name, server)}"]
        lines += ["[dbsvr]", f"run_dir = {_toml(run_dir)}", *(f"{key} = {_toml(value)}" for key, value in dbsvr.items())]
        lines += ["[dbsvr.instances.a]", f"port = {self.front_port}", f"queue_key = {self.queue_key}"]
        lines += [f"metrics_port = {self.metrics_port}"]
        lines += ["[broker]", f'url = "redis://127.0.0.1:{self.broker.port}/0"']
        for name, node in self.nodes.items():
            lines += ["[[cache.nodes]]", f'name = "{name}"', f'url = "redis://127.0.0.1:{node.port}/0"']
        lines += ["[web]", f"port = {self.web_port}", f"secret_key_file = {_toml(secrets_dir / 'django')}"]
        self.configuration_file.write_text("\n".join(lines) + "\n")


Endpoints = Callable[[PrivateStack], Mapping[str, Sequence[str]]]


def _toml(value: object) -> str:
    return json.dumps(str(value) if isinstance(value, Path) else value)
