"""A whole stack of one's own: databases, Redis nodes and the DBSvr's processes, on free ports and under one folder.

For tests and benches: each has its own configuration, secrets, queue keys and data, and every part can be stopped, killed,
frozen and thawed. `make run` starts the same servers by supervisord instead.
"""

from __future__ import annotations

import functools
import json
import os
import random
import secrets
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import redis as redis_py

from deploy.local.mariadb import MariaDBServer, create_schemas_and_accounts, grant_on_tables, replicate
from deploy.local.ports import free_ports
from deploy.local.redis import RedisServer
from deploy.local.server_process import ServerFailed, wait_until
from deploy.local.stack_process import StackProcess
from tasksys_site.configuration import FILE_VARIABLE, MAX_UID, PROJECT, Configuration, load

USER_TABLES = PROJECT / "apps" / "dbsvr" / "sql"
READY_WITHIN_S = 30.0
_ENVIRONMENT_LOCK = threading.Lock()
SECOND_HALF = 5_000_000_100
"""Of two DBSvrs the first owns the uids below it."""


@dataclass
class PrivateDBSvr:
    """The processes of one DBSvr, and what identifies it on this host."""

    name: str
    port: int
    metrics_port: int
    queue_key: int
    front: StackProcess
    master_worker: StackProcess
    replica_workers: dict[str, StackProcess]
    host: str = "127.0.0.1"

    @property
    def processes(self) -> list[StackProcess]:
        return [self.front, self.master_worker, *self.replica_workers.values()]


@dataclass(frozen=True)
class View:
    """What the processes of one DBSvr believe, where it is not the common configuration: as if they stood on another host."""

    ports: Mapping[str, int] = field(default_factory=dict)
    """Of the other DBSvrs' fronts."""
    endpoints: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Of "master" and the replicas."""


class PrivateStack:
    """The parts by name. Nothing runs before `start_*` is called; `stop` ends all of it."""

    def __init__(
        self,
        directory: Path,
        replicas: int = 1,
        settings: Mapping[str, object] | None = None,
        endpoints: Endpoints | None = None,
        instances: Sequence[str] = ("a",),
        views: Views | None = None,
    ) -> None:
        """`settings`: further keys of section `dbsvr`. `endpoints`: of "master" and the replicas, where not the server alone.
        `views`: of each DBSvr that is to see the others, or the databases, by other addresses.

        Two `instances` share the users: those below SECOND_HALF are the first one's.
        """
        self.directory = directory
        directory.mkdir(parents=True, exist_ok=True)
        ports = iter(free_ports(5 + replicas + 2 * len(instances)))
        self.master = MariaDBServer("master", directory / "master", next(ports), server_id=1)
        self.replicas = {
            f"r{number}": MariaDBServer(f"r{number}", directory / f"r{number}", next(ports), server_id=1 + number, read_only=True)
            for number in range(1, replicas + 1)
        }
        self.broker = RedisServer("broker", directory / "broker", next(ports))
        self.nodes = {f"node-{number}": RedisServer(f"node-{number}", directory / f"node-{number}", next(ports)) for number in (1, 2)}
        self.web_port = next(ports)
        self.environment = {FILE_VARIABLE: str(directory / "tasksys.toml")}
        self._environments = {name: {FILE_VARIABLE: str(directory / f"tasksys-{name}.toml")} for name in instances}
        self._others = 0
        self.dbsvrs = {name: self._dbsvr(name, next(ports), next(ports)) for name in instances}
        self._endpoints = endpoints(self) if endpoints is not None else {}
        self.configuration_file = directory / "tasksys.toml"
        self.settings = dict(settings or {})
        self.views = dict(views(self)) if views is not None else {}
        self.write_configuration()

    @property
    def replica(self) -> MariaDBServer:
        """The first replica."""
        return self.replicas["r1"]

    @property
    def dbsvr(self) -> PrivateDBSvr:
        """The first DBSvr."""
        return next(iter(self.dbsvrs.values()))

    @property
    def front_port(self) -> int:
        return self.dbsvr.port

    @property
    def metrics_port(self) -> int:
        return self.dbsvr.metrics_port

    @property
    def queue_key(self) -> int:
        return self.dbsvr.queue_key

    @property
    def front(self) -> StackProcess:
        return self.dbsvr.front

    @property
    def master_worker(self) -> StackProcess:
        return self.dbsvr.master_worker

    @master_worker.setter
    def master_worker(self, process: StackProcess) -> None:
        self.dbsvr.master_worker = process

    @property
    def replica_workers(self) -> dict[str, StackProcess]:
        return self.dbsvr.replica_workers

    @property
    def replica_worker(self) -> StackProcess:
        return self.replica_workers["r1"]

    @property
    def dbsvr_processes(self) -> list[StackProcess]:
        return [process for dbsvr in self.dbsvrs.values() for process in dbsvr.processes]

    def configuration(self) -> Configuration:
        """The stack's configuration, as its processes read it. For threads too: the environment is everybody's."""
        with _ENVIRONMENT_LOCK:
            before = os.environ.get(FILE_VARIABLE)
            os.environ[FILE_VARIABLE] = str(self.configuration_file)
            try:
                return load()
            finally:
                if before is None:
                    del os.environ[FILE_VARIABLE]
                else:
                    os.environ[FILE_VARIABLE] = before

    def _dbsvr(self, name: str, port: int, metrics_port: int) -> PrivateDBSvr:
        replica_workers = {replica: self.another("slave_db_svr", "--replica", replica, instance=name) for replica in self.replicas}
        front, master_worker = self.another("front", instance=name), self.another("master_db_svr", instance=name)
        queue_key = random.randrange(0x1000_0000, 0x6000_0000)
        return PrivateDBSvr(name, port, metrics_port, queue_key, front, master_worker, replica_workers)

    def another(self, process: str, *arguments: str, instance: str = "a") -> StackProcess:
        """One more process of that kind, with a log of its own; not started, and for the caller to end."""
        self._others += 1
        command = [sys.executable, "-m", "workers", process, "--instance", instance, *arguments]
        log = self.directory / f"{process}-{self._others}.log"
        return StackProcess(f"{process}-{self._others}", command, log, self._environments[instance])

    def celery(self, queue: str, concurrency: int = 8) -> StackProcess:
        """A Celery worker of that queue, as in production; not started, and for the caller to end."""
        self._others += 1
        name = f"celery-{queue}-{self._others}"
        command = [sys.executable, "-m", "celery", "-A", "tasksys_site.celery", "worker", "-Q", queue, "-n", f"{name}@%h"]
        command += ["--pool", "threads", "--concurrency", str(concurrency), "--loglevel", "INFO", "--without-gossip", "--without-mingle"]
        return StackProcess(name, command, self.directory / f"{name}.log", self.environment)

    def beat(self) -> StackProcess:
        """Celery's beat; as above."""
        self._others += 1
        command = [sys.executable, "-m", "celery", "-A", "tasksys_site.celery", "beat", "--loglevel", "INFO", "--pidfile="]
        command += ["--schedule", str(self.directory / f"beat-{self._others}.schedule")]
        return StackProcess("beat", command, self.directory / f"beat-{self._others}.log", self.environment)

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
        grant_on_tables(self.master, self.configuration().databases.accounts)

    def migrate(self) -> None:
        """All tables of both schemas, by Django's migrations."""
        for alias in ("default", "userdata"):
            self.manage("migrate", f"--database={alias}", "--verbosity=0")
        grant_on_tables(self.master, self.configuration().databases.accounts)

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
        def serves(instance: str) -> bool:
            stats = self.stats(instance)
            if stats is None or stats["master"]["state"] != "up":
                return False
            return all(replica["state"] == "serving" and replica["tick"] >= stats["floor"] for replica in stats["replicas"].values())

        for name in self.dbsvrs:
            self._wait(functools.partial(serves, name), timeout_s, f"DBSvr {name} does not serve")

    def stats(self, instance: str | None = None) -> dict[str, object] | None:  # type: ignore[explicit-any]
        """TASK.STATS of that DBSvr, else of the first; None when its front does not answer."""
        try:
            with self.client(instance=instance) as client:
                return json.loads(client.execute_command("TASK.STATS"))  # type: ignore[no-any-return]
        except (redis_py.RedisError, OSError):
            return None

    def client(self, timeout_s: float = 5.0, instance: str | None = None) -> redis_py.Redis:
        """A RESP client of that DBSvr, else of the first, that never repeats by itself."""
        from redis.backoff import NoBackoff
        from redis.retry import Retry

        dbsvr = self.dbsvrs[instance or self.dbsvr.name]
        return redis_py.Redis(
            host=dbsvr.host, port=dbsvr.port, socket_timeout=timeout_s, socket_connect_timeout=timeout_s, retry=Retry(NoBackoff(), 0)
        )

    def stop(self) -> None:
        """End everything; what hangs, by force."""
        for process in reversed(self.dbsvr_processes):
            process.stop()
        for server in (*self.nodes.values(), self.broker, *self.replicas.values(), self.master):
            server.stop()

    def _endpoints_of(self, name: str, server: MariaDBServer, view: View) -> str:
        return json.dumps(list(view.endpoints.get(name) or self._endpoints.get(name, [server.endpoint])))

    def _wait(self, condition: Callable[[], bool], timeout_s: float, complaint: str) -> None:
        if not wait_until(condition, timeout_s):
            logs = "\n".join(f"--- {process.name}\n{process.last_log_lines()}" for process in self.dbsvr_processes)
            raise ServerFailed(f"{complaint} within {timeout_s:g} s; stats: {self.stats()}\n{logs}")

    def write_configuration(self) -> None:
        """The common file, and one for the processes of each DBSvr. They read it when they are started."""
        self._write_configuration(self.configuration_file, View())
        for name in self.dbsvrs:
            self._write_configuration(self.directory / f"tasksys-{name}.toml", self.views.get(name, View()))

    def _write_configuration(self, file: Path, view: View) -> None:
        secrets_dir = self.directory / "secrets"
        secrets_dir.mkdir(exist_ok=True, mode=0o700)
        for name in ("migrations", "workers", "web", "reading", "repair", "django"):
            path = secrets_dir / name
            if not path.exists():
                path.write_text(secrets.token_urlsafe(32))
                path.chmod(0o600)
        run_dir = self.directory / "run"
        lines = [f"var_dir = {_toml(self.directory)}", "", "[databases]", f"master = {self._endpoints_of('master', self.master, view)}"]
        for name in ("migrations", "workers", "web", "reading", "repair"):
            lines += [f"[databases.accounts.{name}]", f'user = "tasksys_{name}"', f"password_file = {_toml(secrets_dir / name)}"]
        for name, server in self.replicas.items():
            lines += ["[[databases.replicas]]", f'name = "{name}"', f"endpoints = {self._endpoints_of(name, server, view)}"]
        lines += ["[dbsvr]", f"run_dir = {_toml(run_dir)}", *(f"{key} = {_toml(value)}" for key, value in self.settings.items())]
        for svr in self.dbsvrs.values():
            lines += [f"[dbsvr.instances.{svr.name}]", f"port = {view.ports.get(svr.name, svr.port)}", f"queue_key = {svr.queue_key}"]
            lines += [f"host = {_toml(svr.host)}"]
            lines += [f"metrics_port = {svr.metrics_port}"]
        if len(self.dbsvrs) > 1:
            for name, first, last in zip(self.dbsvrs, (1, SECOND_HALF), (SECOND_HALF - 1, MAX_UID), strict=True):
                lines += ["[[dbsvr.segments]]", f'name = "of-{name}"', f"first = {first}", f"last = {last}", f'home = "{name}"']
        lines += ["[broker]", f'url = "redis://127.0.0.1:{self.broker.port}/0"']
        for name, node in self.nodes.items():
            lines += ["[[cache.nodes]]", f'name = "{name}"', f'url = "redis://127.0.0.1:{node.port}/0"']
        lines += ["[web]", f"port = {self.web_port}", f"secret_key_file = {_toml(secrets_dir / 'django')}"]
        file.write_text("\n".join(lines) + "\n")


Endpoints = Callable[[PrivateStack], Mapping[str, Sequence[str]]]
Views = Callable[[PrivateStack], Mapping[str, View]]


def _toml(value: object) -> str:
    return json.dumps(str(value) if isinstance(value, Path) else value)
