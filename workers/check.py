"""`python -m workers check`: may the DBSvr run here? Looks at everything it leans on, and starts nothing.

Prints the configuration that is in force, then one line for each finding. Exit code 0 when all is well, 78 when not.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple, TextIO
from urllib.parse import urlsplit

from tasksys_site.configuration import Configuration, ConfigurationError, Databases, Instance, configuration_file, read_secret
from workers.database import (
    Connection,
    DatabaseGone,
    DatabaseUnfit,
    NoSuchTable,
    StatementRefused,
    TryAgain,
    master_faults,
    replica_faults,
    replication_health,
)
from workers.lanes import LANE_BYTES
from workers.messages import MAX_TICKET_BYTES
from workers.process import Exit
from workers.repairs import why_no_repairs
from workers.revisions import newest_revision


class Finding(NamedTuple):
    is_well: bool
    sentence: str


def check(configuration: Configuration, out: TextIO) -> int:
    """Write the report to `out`; the exit code."""
    file = configuration_file()
    print(f"Configuration ({file if file.is_file() else 'no file, the defaults'} and the environment):", file=out)
    for line in _lines("", configuration.model_dump(mode="json")):
        print(f"  {line}", file=out)
    findings = [
        *_kernel(),
        *_databases(configuration),
        *_instances(configuration),
        *_points(configuration),
        _sweep(configuration.databases),
    ]
    print("Findings:", file=out)
    for finding in findings:
        print(f"  {'well ' if finding.is_well else 'FAULT'}  {finding.sentence}", file=out)
    faults = sum(not finding.is_well for finding in findings)
    print(f"{faults} faults." if faults else "All is well.", file=out)
    return Exit.WRONG_CONFIGURATION if faults else Exit.STOPPED


def _lines(prefix: str, value: object) -> Iterator[str]:
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _lines(f"{prefix}.{key}" if prefix else str(key), inner)
    else:
        yield f"{prefix} = {value!r}"


def _kernel() -> Iterator[Finding]:
    """What a queue may hold. The stock limits are enough."""
    for name, wanted, what in (("msgmnb", 2 * LANE_BYTES, "bytes in a queue"), ("msgmax", MAX_TICKET_BYTES, "bytes in a message")):
        try:
            limit = int(Path(f"/proc/sys/kernel/{name}").read_text())
        except (OSError, ValueError) as error:
            yield Finding(False, f"kernel.{name} cannot be read: {error}")
            continue
        yield Finding(limit >= wanted, f"kernel.{name} is {limit} {what}, at least {wanted} are needed")


def _databases(configuration: Configuration) -> Iterator[Finding]:
    databases = configuration.databases
    for endpoint in databases.master:
        yield from _database(configuration, "master", endpoint, master_faults)
    for replica in databases.replicas:
        for endpoint in replica.endpoints:
            yield from _database(configuration, replica.name, endpoint, replica_faults)


def _database(configuration: Configuration, role: str, endpoint: str, faults: Callable[[Connection], list[str]]) -> Iterator[Finding]:
    databases = configuration.databases
    try:
        connection = Connection(endpoint, databases.accounts.workers, databases)
    except (DatabaseGone, DatabaseUnfit, ConfigurationError) as error:
        yield Finding(False, f"{role}: {error}")
        return
    try:
        found = faults(connection)
        yield from (Finding(False, f"{role} {endpoint}: {fault}") for fault in found)
        if not found:
            yield Finding(True, f"{role} {endpoint} answers, and its settings keep the promise")
        tables = {name for (name,) in connection.execute("SHOW TABLES")}
        missing = {
            "user_state",
            "user_task",
            "applied_event",
            "db_info",
            "segment_owner",
            "cache_purge",
            "task_traffic",
            "task_quota",
            "grant_outbox",
            "replica_hold",
        } - tables
        if missing:
            yield Finding(False, f"{role} {endpoint}: tables are missing, run the migrations: {', '.join(sorted(missing))}")
        if role == "master":
            yield _configuration(connection, endpoint, databases.configuration_schema)
            yield _repairs(databases, endpoint)
        else:
            io_runs, sql_runs, error_text = replication_health(connection)
            well = bool(io_runs and sql_runs)
            threads = f"receiving {_word(io_runs)}, applying {_word(sql_runs)}"
            yield Finding(well, f"{role} {endpoint} replication: {threads}{', ' + error_text if error_text else ''}")
    except (DatabaseGone, StatementRefused) as error:
        yield Finding(False, f"{role}: {error}")
    finally:
        connection.close()


def _repairs(databases: Databases, endpoint: str) -> Finding:
    """Not needed to serve: without it a repair of a replica is refused, and says the same."""
    why = why_no_repairs(endpoint, databases)
    return Finding(True, f"master {endpoint}: rows of a replica can{'not' if why else ''} be repaired{': ' + why if why else ''}")


def _configuration(connection: Connection, endpoint: str, schema: str) -> Finding:
    """The master's worker hands the published tasks down: it reads one table of the other schema."""
    try:
        number, _ = newest_revision(connection, schema)
    except NoSuchTable:
        return Finding(False, f"master {endpoint}: table {schema}.config_revision is missing, run the migrations")
    except StatementRefused as error:
        grant = f"GRANT SELECT ON `{schema}`.config_revision TO the workers' account"
        return Finding(False, f"master {endpoint}: the task configuration cannot be read ({error}): {grant}")
    except TryAgain as error:
        return Finding(False, f"master {endpoint}: the task configuration is locked just now: {error}")
    return Finding(True, f"master {endpoint}: task configuration, {f'revision {number}' if number else 'nothing published yet'}")


def _points(configuration: Configuration) -> Iterator[Finding]:
    """Where a points system is named: its secret, its port, and what the relay may change in the database."""
    points, databases = configuration.points, configuration.databases
    if not points.url:
        return
    try:
        if points.token_file is not None:
            read_secret(points.token_file)
    except ConfigurationError as error:
        yield Finding(False, f"points: {error}")
    parts = urlsplit(points.url)
    try:
        port = parts.port or {"http": 80, "https": 443}[parts.scheme]
        with socket.create_connection((parts.hostname or "", port), timeout=1.0):
            yield Finding(True, f"points system at {parts.hostname}:{port}: something listens there")
    except (KeyError, ValueError):
        yield Finding(False, f"points.url is no address of a web service: {points.url}")
    except OSError as error:
        yield Finding(True, f"points system at {parts.netloc} cannot be reached now ({error}): grants wait")
    moving = "UPDATE grant_outbox SET state = state, attempts = attempts, due_ms = 0, settled_ms = NULL, error = '' WHERE 1 = 0"
    yield _tried_as_web(databases, "points", "move grants on", [moving])


def _sweep(databases: Databases) -> Finding:
    """What the logic side deletes once a day, or the tables grow for ever."""
    deleting = [f"DELETE FROM {table} WHERE 1 = 0" for table in ("applied_event", "grant_outbox")]
    return _tried_as_web(databases, "sweep", "delete old rows", deleting)


def _tried_as_web(databases: Databases, part: str, what: str, statements: list[str]) -> Finding:
    """Statements that change nothing, by the account of the web processes and of Celery."""
    try:
        connection = Connection(databases.master[0], databases.accounts.web, databases)
    except (DatabaseGone, DatabaseUnfit, ConfigurationError) as error:
        return Finding(False, f"{part}: the web's account cannot be tried: {error}")
    try:
        for statement in statements:
            connection.execute(statement)
    except (DatabaseGone, StatementRefused) as error:
        return Finding(False, f"{part}: the web's account may not {what} ({error}); docs/operations.md has the GRANT")
    finally:
        connection.close()
    return Finding(True, f"{part}: the web's account may {what}")


def _word(runs: bool | None) -> str:
    return "unknown" if runs is None else "runs" if runs else "stands still"


def _instances(configuration: Configuration) -> Iterator[Finding]:
    for name, instance in configuration.dbsvr.instances.items():
        with socket.socket() as caller:
            caller.settimeout(1.0)
            answers = caller.connect_ex((instance.host, instance.port)) == 0
        state = "its front answers" if answers else "nothing listens there yet"
        yield Finding(True, f"DBSvr {name} at {instance.host}:{instance.port}: {state}")
        if instance.metrics_port:
            yield _metrics(name, instance)


def _metrics(name: str, instance: Instance) -> Finding:
    where = f"metrics of DBSvr {name} at {instance.host}:{instance.metrics_port}"
    try:
        with socket.create_connection((instance.host, instance.metrics_port), timeout=1.0) as caller:
            caller.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
            answer = caller.makefile("rb").read()
    except ConnectionRefusedError:
        return Finding(True, f"{where}: nothing listens there yet")
    except OSError as error:
        return Finding(False, f"{where}: {error}; is the port another program's? Set dbsvr.instances.{name}.metrics_port")
    if f'front_info{{instance="{name}"'.encode() in answer:
        return Finding(True, f"{where}: its front answers")
    return Finding(False, f"{where}: the port is taken by another program; set dbsvr.instances.{name}.metrics_port")
