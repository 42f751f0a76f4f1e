"""What the local stack consists of: databases and Redis servers, our own programs, and the ports that they listen on.

Derived from the configuration alone; starts nothing. The databases and Redis nodes are those that the configuration names, so
they must be on this machine.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from deploy.local.mariadb import MariaDBServer
from deploy.local.redis import RedisServer
from deploy.local.server_process import ServerProcess
from tasksys_site.configuration import PROJECT, Configuration, Instance, in_project

LOCAL_HOSTS = ("127.0.0.1", "localhost", "::1")
SERVERS, DBSVR, TASKSYS = "servers", "dbsvr", "tasksys"
REFERENCE_PATHS = {"points": "/grants", "profiles": "/profiles"}
"""Those of `deploy.reference` that are started, and what follows the port in their section's `url`."""
"""The groups under supervisord, in the order in which they are started. They are stopped the other way round."""


class NotLocal(Exception):
    """The configuration names a server on another machine, which the local stack cannot start."""


@dataclass(frozen=True)
class Program:
    """A program under supervisord, which knows it as `group:name`."""

    name: str
    group: str
    command: list[str]
    stops_within_s: int = 10
    up_after_s: int = 1
    """It counts as running when it has not ended by then."""

    @property
    def full_name(self) -> str:
        return f"{self.group}:{self.name}"


@dataclass(frozen=True)
class Listener:
    """A port that must be free, and where it can be changed."""

    what: str
    host: str
    port: int
    setting: str
    variable: str
    """An example for the environment."""


class LocalStack:
    def __init__(self, configuration: Configuration) -> None:
        self.configuration = configuration
        self.var = in_project(configuration.var_dir)
        self.listeners: list[Listener] = []
        self.master, self.replicas = self._databases()
        self.broker, self.nodes = self._redis()
        self.references = self._references()
        self.programs = [*self._server_programs(), *self._dbsvr_programs(), *self._tasksys_programs()]
        self._add_our_listeners()

    @property
    def databases(self) -> list[MariaDBServer]:
        return [self.master, *self.replicas.values()]

    @property
    def redis_servers(self) -> list[RedisServer]:
        return [self.broker, *self.nodes.values()]

    @property
    def operator_password_file(self) -> Path:
        return self.var / "secrets" / "operator"

    @property
    def reviewer_password_file(self) -> Path:
        return self.var / "secrets" / "reviewer"

    @property
    def demo_key_file(self) -> Path:
        """`manage.py load_demo` writes it."""
        return self.var / "demo-api-key"

    @property
    def secret_files(self) -> list[Path]:
        """What must exist before anything starts. The operator's is made with his account."""
        accounts = self.configuration.databases.accounts
        files = [
            account.password_file for account in (accounts.migrations, accounts.workers, accounts.web, accounts.reading, accounts.repair)
        ]
        files.append(self.configuration.web.secret_key_file)
        files += [self.reference_secret(name) for name in self.references]
        files += [instance.auth_secret_file for instance in self.configuration.dbsvr.instances.values() if instance.auth_secret_file]
        return [in_project(file) for file in files]

    def reference_secret(self, name: str) -> Path:
        return self.var / "secrets" / name

    @property
    def environment(self) -> dict[str, str]:
        """What the programs are told besides the configuration: the reference servers, where no other system is named."""
        told = {}
        for name, port in self.references.items():
            told[f"TASKSYS_{name.upper()}__URL"] = f"http://127.0.0.1:{port}{REFERENCE_PATHS[name]}"
            told[f"TASKSYS_{name.upper()}__TOKEN_FILE"] = str(self.reference_secret(name))
        return told

    def log_of(self, program: Program) -> Path:
        return self.var / "log" / f"{program.group}-{program.name}.log"

    @property
    def web_address(self) -> str:
        web = self.configuration.web
        host = "127.0.0.1" if web.host in ("0.0.0.0", "::") else web.host
        return f"http://{f'[{host}]' if ':' in host else host}:{web.port}"

    def _databases(self) -> tuple[MariaDBServer, dict[str, MariaDBServer]]:
        settings = self.configuration.databases
        port = _local_port(settings.master[0], "databases.master")
        master = MariaDBServer("master", self.var / "mariadb" / "master", port, server_id=1)
        example = json.dumps([f"127.0.0.1:{port + 10}"])
        self._listen("MariaDB master", "127.0.0.1", port, "databases.master", f"TASKSYS_DATABASES__MASTER='{example}'")
        replicas = {}
        for number, replica in enumerate(settings.replicas):
            port = _local_port(replica.endpoints[0], f"databases.replicas, {replica.name}")
            server = MariaDBServer(replica.name, self.var / "mariadb" / replica.name, port, server_id=2 + number, read_only=True)
            replicas[replica.name] = server
            changed = [
                {"name": other.name, "endpoints": [f"127.0.0.1:{port + 10}"] if other is replica else list(other.endpoints)}
                for other in settings.replicas
            ]
            example = f"TASKSYS_DATABASES__REPLICAS='{json.dumps(changed)}'"
            self._listen(f"MariaDB replica {replica.name}", "127.0.0.1", port, "databases.replicas", example)
        return master, replicas

    def _redis(self) -> tuple[RedisServer, dict[str, RedisServer]]:
        cache = self.configuration.cache
        broker = self._redis_server("broker", self.configuration.broker.url, "broker.url", [])
        self._listen("Redis broker", "127.0.0.1", broker.port, "broker.url", f"TASKSYS_BROKER__URL=redis://127.0.0.1:{broker.port + 10}/0")
        nodes = {}
        for node in cache.nodes:
            # A cache may drop what it likes when it is full; a broker may not.
            bounded = ["--maxmemory", "256mb", "--maxmemory-policy", "allkeys-lru"]
            server = self._redis_server(node.name, node.url, f"cache.nodes, {node.name}", bounded)
            nodes[node.name] = server
            changed = [
                {"name": other.name, "url": f"redis://127.0.0.1:{server.port + 10}/0" if other is node else other.url}
                for other in cache.nodes
            ]
            example = f"TASKSYS_CACHE__NODES='{json.dumps(changed)}'"
            self._listen(f"Redis cache node {node.name}", "127.0.0.1", server.port, "cache.nodes", example)
        return broker, nodes

    def _redis_server(self, name: str, url: str, setting: str, options: list[str]) -> RedisServer:
        parts = urlsplit(url)
        port = _local_port(f"{parts.hostname}:{parts.port or 6379}", setting)
        if parts.password:
            options = [*options, "--requirepass", parts.password]
        return RedisServer(name, self.var / "redis" / name, port, options)

    def _references(self) -> dict[str, int]:
        """The reference servers that are needed, and their ports."""
        ports = {name: getattr(self.configuration.reference, f"{name}_port") for name in REFERENCE_PATHS}
        needed = {name: port for name, port in ports.items() if port and not getattr(self.configuration, name).url}
        for name, port in needed.items():
            setting, variable = f"reference.{name}_port", f"TASKSYS_REFERENCE__{name.upper()}_PORT={port + 10}"
            self._listen(f"the reference server for {name}", "127.0.0.1", port, setting, variable)
        return needed

    def _server_programs(self) -> list[Program]:
        databases = [Program(server.name, SERVERS, server.command(), stops_within_s=30) for server in self.databases]
        redis = [Program(server.name, SERVERS, server.command()) for server in self.redis_servers]
        return [*databases, *redis, *(Program(f"reference-{name}", SERVERS, self._reference(name)) for name in self.references)]

    def _reference(self, name: str) -> list[str]:
        command = [python(), "-m", "deploy.reference", name, "--port", str(self.references[name])]
        command += ["--database", str(self.var / "reference" / f"{name}.sqlite")]
        return [*command, "--token-file", str(self.reference_secret(name))]

    def _dbsvr_programs(self) -> list[Program]:
        programs = []
        for name in self.configuration.dbsvr.instances:
            worker = [python(), "-m", "workers"]
            programs.append(Program(f"{name}-front", DBSVR, [*worker, "front", "--instance", name]))
            programs.append(Program(f"{name}-master", DBSVR, [*worker, "master_db_svr", "--instance", name]))
            programs += [
                Program(f"{name}-{replica}", DBSVR, [*worker, "slave_db_svr", "--instance", name, "--replica", replica])
                for replica in self.replicas
            ]
        return programs

    def _tasksys_programs(self) -> list[Program]:
        web = self.configuration.web
        granian = [python(), "-m", "granian", "--interface", "wsgi", "--host", web.host, "--port", str(web.port)]
        granian += ["--workers", str(web.workers), "--blocking-threads", "8", "--no-ws", "--respawn-failed-workers"]
        granian += ["--workers-kill-timeout", "3", "tasksys_site.wsgi:application"]
        celery = [python(), "-m", "celery", "-A", "tasksys_site.celery"]
        # Threads: the tasks wait for databases, and a forked pool costs a process more for nothing.
        worker = [*celery, "worker", "-Q", "sample", "-n", "sample@%h", "--pool", "threads", "--concurrency", "2", "--loglevel", "INFO"]
        # Each thread waits for one node at most; a frozen node must not take the threads of the others.
        purge = [*celery, "worker", "-Q", "purge", "-n", "purge@%h", "--pool", "threads", "--concurrency", "8", "--loglevel", "INFO"]
        # Each thread waits for the points system, which may take its time.
        points = [*celery, "worker", "-Q", "points", "-n", "points@%h", "--pool", "threads", "--concurrency", "4", "--loglevel", "INFO"]
        # Two replicas at a time; a chunk must not keep the samples waiting.
        diff = [*celery, "worker", "-Q", "diff", "-n", "diff@%h", "--pool", "threads", "--concurrency", "2", "--loglevel", "INFO"]
        beat = [*celery, "beat", "--loglevel", "INFO", "--schedule", str(self.var / "run" / "celerybeat"), "--pidfile="]
        return [
            Program("web", TASKSYS, granian),
            Program("celery", TASKSYS, worker),
            Program("purge", TASKSYS, purge),
            Program("points", TASKSYS, points),
            Program("diff", TASKSYS, diff),
            # Nobody can ask these two whether they are well, so they get the time to load Django and fail.
            Program("beat", TASKSYS, beat, up_after_s=3),
            Program("sampler", TASKSYS, [python(), "manage.py", "sampler"], up_after_s=3),
        ]

    def _add_our_listeners(self) -> None:
        for name, instance in self.configuration.dbsvr.instances.items():
            variable = f"TASKSYS_DBSVR__INSTANCES__{name.upper()}__PORT={instance.port + 20}"
            self._listen(f"DBSvr {name}", instance.host, instance.port, f"dbsvr.instances.{name}.port", variable)
            if instance.metrics_port:
                setting, variable = f"dbsvr.instances.{name}.metrics_port", f"TASKSYS_DBSVR__INSTANCES__{name.upper()}__METRICS_PORT"
                self._listen(
                    f"metrics of DBSvr {name}", instance.host, instance.metrics_port, setting, f"{variable}={instance.metrics_port + 20}"
                )
        web = self.configuration.web
        self._listen("web", web.host, web.port, "web.port", f"TASKSYS_WEB__PORT={web.port + 1}")

    def _listen(self, what: str, host: str, port: int, setting: str, variable: str) -> None:
        self.listeners.append(Listener(what, host, port, setting, variable))


def python() -> str:
    """This interpreter."""
    return from_project(sys.executable)


def from_project(program: str) -> str:
    """Taken from the project's folder when it lies there (.venv does), so that the folder's name cannot matter."""
    path = Path(program)
    return str(path.relative_to(PROJECT)) if path.is_relative_to(PROJECT) else program


def servers_of(stack: LocalStack) -> list[ServerProcess]:
    return [*stack.databases, *stack.redis_servers]


def address_of(instance: Instance) -> str:
    return f"{instance.host}:{instance.port}"


def _local_port(endpoint: str, setting: str) -> int:
    host, _, port = endpoint.rpartition(":")
    if host not in LOCAL_HOSTS:
        raise NotLocal(f"{setting} names {endpoint}: the local stack can only start servers on this machine (127.0.0.1)")
    return int(port)
