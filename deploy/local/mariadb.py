"""A private MariaDB: master or replica, with the settings that the consistency protocol needs.

Data directory, socket, pid file and log are inside the server's own directory; it listens on loopback only and reads no
option file. Administration goes over the socket, as the operating system's user: there is no password to keep.
Leans on mariadb-server-core and on mysqlclient; leaves the order of starting things to its callers.
"""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Protocol

import MySQLdb

from deploy.local.server_process import (
    ServerFailed,
    ServerProcess,
    find_program,
    make_socket_directory,
    remove_socket_directory,
    socket_path,
)

DURABLE = ("--sync-binlog=1", "--innodb-flush-log-at-trx-commit=1", "--binlog-format=ROW")
REPLICATION = (
    "--log-bin=binlog",
    "--relay-log=relay",
    "--gtid-strict-mode=1",
    "--log-slave-updates=1",
    "--slave-parallel-mode=conservative",
    "--slave-parallel-threads=0",  # commits in the master's order, or an update tick would promise too much
    "--slave-net-timeout=4",
    "--max-binlog-size=64M",
    "--binlog-expire-logs-seconds=86400",
    "--log-bin-trust-function-creators=1",  # triggers keep revisions and the audit log as they are; rows are what is logged
)
SMALL = (
    "--innodb-buffer-pool-size=64M",
    "--innodb-log-file-size=32M",
    "--performance-schema=0",
    "--max-connections=500",
    "--character-set-server=utf8mb4",
    "--skip-name-resolve",
    "--idle-transaction-timeout=2",  # frees the rows of a frozen worker
)


GRANT_COLUMNS = "state, attempts, due_ms, settled_ms, error"
"""Of `grant_outbox`: what the points relay may change. Who earned how much is the DBSvr's alone."""


SWEPT_TABLES = ("applied_event", "grant_outbox")
"""Of which old rows are deleted by the logic side."""


class Account(Protocol):
    """A user name and its password: what `tasksys_site.configuration.Account` has."""

    @property
    def user(self) -> str: ...
    @property
    def password(self) -> str: ...


class Accounts(Protocol):
    """One account for each kind of use."""

    @property
    def migrations(self) -> Account: ...
    @property
    def workers(self) -> Account: ...
    @property
    def web(self) -> Account: ...
    @property
    def reading(self) -> Account: ...
    @property
    def repair(self) -> Account: ...


class MariaDBServer(ServerProcess):
    program = "mariadbd"
    template: ClassVar[Path | None] = None
    """Where an empty data directory is kept to be copied: who makes many servers saves two seconds of work for each."""

    def __init__(self, name: str, directory: Path, port: int, server_id: int, read_only: bool = False, options: Sequence[str] = ()) -> None:
        super().__init__(name, directory, port, options)
        self.server_id = server_id
        self.read_only = read_only
        self.data = self.directory / "data"
        # Its own, because a server that starts removes the temporary tables of every other from a shared one.
        self.temporary = self.directory / "tmp"
        self.socket = socket_path(self.directory, "server.sock")

    @property
    def endpoint(self) -> str:
        return f"127.0.0.1:{self.port}"

    def install(self) -> None:
        """Make the data directory, once. A half-made one, left by an interrupted run, is made anew."""
        self.directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.temporary.mkdir(exist_ok=True, mode=0o700)
        make_socket_directory(self.socket)
        if self.data.is_dir():
            return
        making = self.directory / "data.new"
        shutil.rmtree(making, ignore_errors=True)
        if self.template is not None and self.template.is_dir():
            shutil.copytree(self.template, making)
        else:
            self._make_data(making)
            if self.template is not None:
                shutil.copytree(making, self.template)
        making.rename(self.data)

    def _make_data(self, making: Path) -> None:
        # No --user and a relative directory: mariadb-install-db takes a path with a space apart.
        result = subprocess.run(
            [
                find_program("mariadb-install-db"),
                "--no-defaults",
                f"--datadir=./{making.name}",
                "--auth-root-authentication-method=socket",
                f"--auth-root-socket-user={_system_user()}",
                "--skip-test-db",
                "--skip-name-resolve",
                "--innodb-log-file-size=32M",
                "--innodb-flush-log-at-trx-commit=0",  # a crash in here makes it all anew anyway
            ],
            cwd=self.directory,
            env={**os.environ, "TMPDIR": str(self.temporary)},
            capture_output=True,
            text=True,
            check=False,
        )
        if result.returncode != 0:
            raise ServerFailed(f"mariadb-install-db failed for {self.name}:\n{result.stdout[-2000:]}{result.stderr[-2000:]}")

    def command(self) -> list[str]:
        return [
            find_program(self.program),
            "--no-defaults",
            f"--datadir={self.data}",
            f"--tmpdir={self.temporary}",
            f"--socket={self.socket}",
            f"--pid-file={self.pid_file}",
            f"--log-error={self.log}",
            f"--port={self.port}",
            "--bind-address=127.0.0.1",
            f"--server-id={self.server_id}",
            f"--read-only={int(self.read_only)}",
            *DURABLE,
            *REPLICATION,
            *SMALL,
            *((f"--user={self._owner()}",) if os.geteuid() == 0 else ()),
            *self.options,
        ]

    def _owner(self) -> str:
        """Root must say as whom the server runs: as the owner of its data, who is ourselves before there is any."""
        return self.data.owner() if self.data.exists() else _system_user()

    def is_ready(self) -> bool:
        try:
            self.execute("SELECT 1")
        except MySQLdb.Error:
            return False
        return True

    def execute(self, sql: str, schema: str | None = None, parameters: Sequence[Any] | None = None) -> list[tuple[Any, ...]]:
        """One statement as administrator over the private socket, committed. Not for writes on a replica: they would part it."""
        connection = MySQLdb.connect(
            unix_socket=str(self.socket),
            user=_system_user(),
            db=schema or "",
            charset="utf8mb4",
            autocommit=True,
            connect_timeout=5,
            read_timeout=30,
        )
        try:
            cursor = connection.cursor()
            cursor.execute(sql, parameters)
            return list(cursor.fetchall())
        finally:
            connection.close()

    def stop(self, timeout_s: float = 20.0) -> None:
        super().stop(timeout_s)
        remove_socket_directory(self.socket, self.directory)

    def stop_sql_thread(self) -> None:
        """The replica goes on fetching and stops applying."""
        self.execute("STOP SLAVE SQL_THREAD")

    def start_sql_thread(self) -> None:
        self.execute("START SLAVE SQL_THREAD")

    def delay(self, seconds: int) -> None:
        """The replica applies everything this late. Zero ends it. Both threads are stopped for a moment and started."""
        self.execute("STOP SLAVE")  # MASTER_DELAY cannot be changed while either thread runs
        try:
            self.execute(f"CHANGE MASTER TO MASTER_DELAY={int(seconds)}")
        finally:
            self.execute("START SLAVE")

    def promote(self) -> None:
        """Make a master of this replica: what it has not fetched yet it will never have."""
        self.execute("STOP SLAVE")
        self.execute("RESET SLAVE ALL")
        self.execute("SET GLOBAL read_only = 0")

    def replication_status(self) -> dict[str, Any]:
        """`SHOW SLAVE STATUS` by column name; empty when the server is no replica."""
        connection = MySQLdb.connect(unix_socket=str(self.socket), user=_system_user(), connect_timeout=5, read_timeout=30)
        try:
            cursor = connection.cursor()
            cursor.execute("SHOW SLAVE STATUS")
            row = cursor.fetchone()
            return dict(zip((column[0] for column in cursor.description), row, strict=True)) if row else {}
        finally:
            connection.close()


def replicate(master: MariaDBServer, replica: MariaDBServer) -> None:
    """Let `replica` follow `master` by GTID. Does nothing more than start it when it follows already."""
    status = replica.replication_status()
    if status and status["Master_Port"] == master.port and status["Using_Gtid"] != "No":
        replica.execute("START SLAVE")
        return
    user, password = f"replication_{replica.server_id}", secrets.token_urlsafe(24)
    for host in ("127.0.0.1", "localhost"):
        master.execute(f"CREATE OR REPLACE USER '{user}'@'{host}' IDENTIFIED BY '{password}'")
        master.execute(f"GRANT REPLICATION SLAVE ON *.* TO '{user}'@'{host}'")
    if status:
        replica.execute("STOP SLAVE")
    replica.execute(
        f"CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT={master.port}, MASTER_USER='{user}', MASTER_PASSWORD='{password}', "
        "MASTER_USE_GTID=slave_pos, MASTER_CONNECT_RETRY=1, MASTER_HEARTBEAT_PERIOD=1"
    )
    replica.execute("START SLAVE")


def create_schemas_and_accounts(
    master: MariaDBServer, accounts: Accounts, configuration_schema: str = "tasksys", user_schema: str = "tasksys_user"
) -> None:
    """The two schemas, and the five accounts with what each may do. Safe to repeat; passwords follow their files."""
    for schema in (configuration_schema, user_schema):
        master.execute(f"CREATE DATABASE IF NOT EXISTS `{schema}` CHARACTER SET utf8mb4")
    configuration, users = _granted(configuration_schema), _granted(user_schema)
    purges = f"`{user_schema}`.cache_purge"
    grants: list[tuple[Account, list[str]]] = [
        (accounts.migrations, [f"ALL ON {configuration}", f"ALL ON {users}"]),
        (accounts.workers, [f"SELECT, INSERT, UPDATE, DELETE ON {users}", f"SELECT ON {configuration}", "SLAVE MONITOR ON *.*"]),
        # CREATE, since a right to a table that is not there yet can only be given with it.
        (accounts.web, [f"SELECT, INSERT, UPDATE, DELETE ON {configuration}", f"SELECT ON {users}", f"CREATE, INSERT, DELETE ON {purges}"]),
        (accounts.reading, [f"SELECT ON {configuration}", f"SELECT ON {users}", "SLAVE MONITOR ON *.*"]),
        # BINLOG ADMIN: a row is mended by a statement, and by nothing else (docs/decisions/0015).
        (accounts.repair, [f"SELECT, INSERT, UPDATE, DELETE ON {users}", "BINLOG ADMIN ON *.*"]),
    ]
    for account, rights in grants:
        # Over TCP the server sees 127.0.0.1 (it resolves no names), over the socket localhost.
        for host in ("127.0.0.1", "localhost"):
            who = (account.user, host)
            master.execute("CREATE USER IF NOT EXISTS %s@%s", parameters=who)
            master.execute("ALTER USER %s@%s IDENTIFIED BY %s", parameters=(*who, account.password))
            for right in rights:
                master.execute(f"GRANT {right} TO %s@%s", parameters=who)


def grant_on_tables(master: MariaDBServer, accounts: Accounts, user_schema: str = "tasksys_user") -> None:
    """What needs its table first: the logic side closes purge rows by their ids, makes one for its own cache node, moves grants on, and
    deletes event ids and grants that are old."""
    for host in ("127.0.0.1", "localhost"):
        columns = f"UPDATE ({GRANT_COLUMNS}) ON `{user_schema}`.grant_outbox"
        master.execute(f"GRANT {columns} TO %s@%s", parameters=(accounts.web.user, host))
        master.execute(f"GRANT INSERT, DELETE ON `{user_schema}`.cache_purge TO %s@%s", parameters=(accounts.web.user, host))
        for table in SWEPT_TABLES:
            master.execute(f"GRANT DELETE ON `{user_schema}`.{table} TO %s@%s", parameters=(accounts.web.user, host))


def _granted(schema: str) -> str:
    """In a GRANT an underscore stands for any letter, unless it is escaped."""
    return "`" + schema.replace("_", r"\_") + "`.*"


def _system_user() -> str:
    return pwd.getpwuid(os.geteuid()).pw_name
