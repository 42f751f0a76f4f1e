"""The two servers of a comparison: read-only connections of their own, asked at the same time.

The account is `databases.accounts.reading`, which may only read. What a server sends stays bytes: nothing is parsed that is only compared.
Errors of the client library leave here as `failures`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeAlias

import MySQLdb

from apps.dbsvr.diff.encoding import SESSION
from apps.dbsvr.diff.failures import CannotCompare, ConnectionLost, NoPermission, NoTable, NotAlike, StatementFailed
from apps.dbsvr.diff.settling import Position
from apps.dbsvr.diff.statements import TICKS
from apps.dbsvr.diff.table_shape import TableShape, quoted_name, shape
from tasksys_site.configuration import Databases

Rows: TypeAlias = "tuple[tuple[bytes | None, ...], ...]"
NO_TABLE = (1051, 1109, 1146, 1049)
DENIED = (1044, 1045, 1142, 1143, 1227, 1698)
LOST = (1053, 1152, 1153, 1158, 1159, 1160, 1161, 1927, 1969, 2002, 2003, 2006, 2012, 2013, 2026, 2055, 3024, 4031)
STATEMENT_S = 60
"""No statement of ours runs for longer: chunks are made for half a second. One that is given up here must end on the server, too."""


class Snapshot(NamedTuple):
    """Several statements at one position."""

    position: Position
    wall_us: int
    """The newest moment that a DBSvr has committed there."""
    rows: list[Rows]


class Server:
    """`name` is "master", or the replica's."""

    def __init__(self, name: str, endpoint: str, databases: Databases) -> None:
        self.name = name
        self.endpoint = endpoint
        self._ticks = TICKS.format(schema=quoted_name(databases.user_schema))
        host, _, port = endpoint.rpartition(":")
        account = databases.accounts.reading
        try:
            self._raw: Any = MySQLdb.connect(
                host=host,
                port=int(port),
                user=account.user,
                password=account.password,
                charset="utf8mb4",
                connect_timeout=databases.connect_timeout_s,
                read_timeout=STATEMENT_S + 5,
                write_timeout=10,
                autocommit=True,
            )
        except MySQLdb.Error as error:
            raise self._translated(error) from error
        self._raw.converter = {}
        for statement in SESSION:
            self.run(statement)
        if "MariaDB" in self._raw.get_server_info():
            self.run(f"SET SESSION max_statement_time = {STATEMENT_S}")
        else:
            self.run(f"SET SESSION max_execution_time = {STATEMENT_S * 1000}")

    def rows(self, sql: str) -> Rows:
        try:
            self._raw.query(sql)
            result = self._raw.store_result()
            return result.fetch_row(0) if result is not None else ()
        except MySQLdb.Error as error:
            raise self._translated(error) from error

    def run(self, sql: str) -> None:
        self.rows(sql)

    def snapshot(self, statements: Sequence[str] = ()) -> Snapshot:
        """All of them in one snapshot of the database, with the position that it is of."""
        self.run("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")
        ticks = self.rows(self._ticks)
        found = [self.rows(sql) for sql in statements]
        self.run("COMMIT")
        position = {str(row[0], "ascii"): (int(row[1] or 0), int(row[2] or 0)) for row in ticks if row[0] is not None}
        return Snapshot(position, max((int(row[3] or 0) for row in ticks), default=0), found)

    def shape(self, schema: str, table: str) -> TableShape:
        """Raises NoTable, NoPermission."""
        of_table = f"table_schema = {self._quote(schema)} AND table_name = {self._quote(table)}"
        self.rows(f"SELECT 1 FROM {quoted_name(schema)}.{quoted_name(table)} LIMIT 0")  # the server says which of the two it is
        columns = self.rows(
            "SELECT column_name, data_type, column_type, COALESCE(character_set_name, ''), COALESCE(collation_name, ''), is_nullable"
            f" FROM information_schema.columns WHERE {of_table}"
        )
        key = self.rows(
            f"SELECT column_name FROM information_schema.statistics WHERE {of_table} AND index_name = 'PRIMARY' ORDER BY seq_in_index"
        )
        return shape(schema, table, [_texts(row) for row in columns], [_texts(row)[0] for row in key])

    def tables_of(self, schema: str) -> list[str]:
        rows = self.rows(
            f"SELECT table_name FROM information_schema.tables WHERE table_schema = {self._quote(schema)} AND table_type = 'BASE TABLE'"
            " ORDER BY table_name"
        )
        return [_texts(row)[0] for row in rows]

    def estimate(self, table: TableShape, condition: str) -> int:
        """About how many rows; exact for few."""
        rows = self.rows(f"EXPLAIN SELECT 1 FROM {table.full_name} FORCE INDEX (PRIMARY) WHERE {condition}")
        return int(rows[0][8] or 0) if rows and len(rows[0]) > 8 else 0

    def why_it_stands(self) -> str:
        """What the replica says of its replication threads; "" when both run, or it does not say."""
        try:
            self._raw.query("SHOW SLAVE STATUS")
            result = self._raw.store_result()
        except MySQLdb.Error:
            return ""
        names = [column[0] for column in result.describe()]
        rows = result.fetch_row(0)
        if not rows:
            return "replication is not configured there"
        status = {name: str(value or b"", "utf-8", "replace") for name, value in zip(names, rows[0], strict=True)}
        threads = [
            f"its {what} thread is stopped{f' ({error})' if error else ''}"
            for what, runs, error in (
                ("SQL", status.get("Slave_SQL_Running"), status.get("Last_SQL_Error")),
                ("IO", status.get("Slave_IO_Running"), status.get("Last_IO_Error")),
            )
            if runs == "No"
        ]
        return "; ".join(threads)

    def is_read_only(self) -> bool:
        return self.rows("SELECT @@GLOBAL.read_only")[0][0] in (b"1", b"ON")

    def close(self) -> None:
        with contextlib.suppress(MySQLdb.Error):  # it is given up either way
            self._raw.close()

    def _quote(self, text: str) -> str:
        return str(self._raw.string_literal(text), "utf-8")

    def _translated(self, error: MySQLdb.Error) -> CannotCompare:
        number = error.args[0] if error.args and isinstance(error.args[0], int) else 0
        sentence = f"{self.name} ({self.endpoint}): {' '.join(str(argument) for argument in error.args)}"
        if number in NO_TABLE:
            return NoTable(sentence)
        if number in DENIED:
            return NoPermission(sentence)
        if number in LOST or isinstance(error, MySQLdb.InterfaceError):
            return ConnectionLost(sentence)
        return StatementFailed(sentence)


class Both:
    """Master and replica, asked at the same time: the replica in a thread of its own."""

    def __init__(self, master: Server, replica: Server) -> None:
        self.master, self.replica = master, replica
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="diff-replica")

    def rows(self, sql: str) -> tuple[Rows, Rows]:
        of_replica = self._pool.submit(self.replica.rows, sql)
        try:
            return self.master.rows(sql), of_replica.result()
        finally:
            of_replica.exception()  # never leave a statement under way on a connection

    def close(self) -> None:
        self._pool.shutdown(wait=True)
        self.master.close()
        self.replica.close()


@contextlib.contextmanager
def open_both(databases: Databases, replica: str) -> Iterator[Both]:
    """Raises CannotCompare."""
    master = open_master(databases)
    try:
        other = open_replica(databases, replica)
    except BaseException:
        master.close()
        raise
    both = Both(master, other)
    try:
        yield both
    finally:
        both.close()


def open_master(databases: Databases) -> Server:
    """The first endpoint that answers and takes writes."""
    return _first("master", databases.master, databases, wants_read_only=False)


def open_replica(databases: Databases, name: str) -> Server:
    endpoints = next((each.endpoints for each in databases.replicas if each.name == name), None)
    if endpoints is None:
        raise NotAlike(f"no replica named {name!r} is configured")
    return _first(name, endpoints, databases, wants_read_only=True)


def _first(name: str, endpoints: Sequence[str], databases: Databases, wants_read_only: bool) -> Server:
    errors: list[CannotCompare] = []
    for endpoint in endpoints:
        try:
            server = Server(name, endpoint, databases)
            if server.is_read_only() is wants_read_only:
                return server
            server.close()
            why = "is read_only: it is no master" if not wants_read_only else "takes writes: it is no replica"
            errors.append(NotAlike(f"{name} ({endpoint}) {why}"))
        except CannotCompare as error:
            errors.append(error)
    worst = next((error for error in errors if not error.retryable), errors[0])
    raise type(worst)("; ".join(map(str, errors)))


def _texts(row: Sequence[bytes | None]) -> list[str]:
    return [str(value or b"", "utf-8") for value in row]
