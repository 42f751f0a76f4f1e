"""Connections to the databases, the settings they must have, and mysqlclient's errors in our words.

The one place that names mysqlclient's error numbers. What is asked of a database stands in `store`; this module only says
whether a database may be used at all (its settings are part of the protocol's proof), and what an error means.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import MySQLdb
from MySQLdb.constants import CLIENT

from tasksys_site.configuration import Account, Databases

DEADLOCK, LOCK_WAIT, STATEMENT_TIME = 1213, 1205, 1969
NUMBERS_TAKEN = 1467
"""Somebody else's statement holds the lock on a table's AUTO_INCREMENT, and we wait for none."""
DUPLICATE_KEY = 1062
NO_SUCH_TABLE = 1146
ACCESS_DENIED = (1044, 1045, 1142, 1227, 1698)
READ_ONLY = (1290, 1836)
NO_ROOM = (1021, 1030, 1041, 1114, 3)
FENCED = 30001
"""Our own number (numbers from 30,000 on are nobody's): a block of statements has ended itself, see `fence`."""
CONNECTION_LOST = (1053, 1152, 1153, 1158, 1159, 1160, 1161, 1927, 2002, 2003, 2006, 2012, 2013, 2026, 2055, 4031)

_UNPARSED: dict[int, object] = {}
PACKET_BYTES = 1024 * 1024
"""Statements share a packet up to this size; servers take 16 MiB (`max_allowed_packet`)."""
IDLE_TRANSACTION_S = 2
"""The server ends a transaction that is idle for so long: it frees the rows of a frozen worker for its successor."""


class DatabaseGone(Exception):
    """The connection is unusable. What was under way may or may not have happened."""


class DatabaseUnfit(Exception):
    """The database answers, but its settings or our rights would break a promise; the message lists every fault."""


class TryAgain(Exception):
    """A deadlock, or a wait that was too long: nothing happened once the transaction is rolled back."""


class Locked(TryAgain):
    """Somebody else holds a row; he will hold it still if this is tried again at once."""


class NoRoom(Exception):
    """The database cannot write now (disk full). Nothing happened."""


class StatementRefused(Exception):
    """The database refuses this very statement; it would refuse it again. The transaction is to be rolled back."""


class NoSuchTable(StatementRefused):
    """The table is not there: the migrations have not been run."""


class Duplicate(StatementRefused):
    """An INSERT met a key that is there already. The statement did nothing, and the transaction goes on."""


class Fenced(Exception):
    """A block's own fence has ended it; the message is what `fence` was given. It is to be rolled back."""


def fence(condition: bytes, message: str) -> bytes:
    """A statement of a block that ends it, if the condition is true: nothing that stands after it is executed. Raised as Fenced.

    (A condition within DO would not do: DO forgets its errors.)
    """
    return b"IF %b THEN %b; END IF" % (condition, raising(message))


def raising(message: str) -> bytes:
    return b"SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = %d, MESSAGE_TEXT = '%b'" % (FENCED, message.encode())


class Connection:
    """One connection, reading in autocommit (each statement sees the newest state), with every wait bounded."""

    def __init__(self, endpoint: str, account: Account, databases: Databases, schema: str | None = None) -> None:
        """Connect. Raises DatabaseGone, or DatabaseUnfit when the account may not."""
        self.endpoint = endpoint
        self.patience_s = float(databases.read_timeout_s)
        """So long an answer is waited for."""
        host, _, port = endpoint.rpartition(":")
        try:
            self._raw = MySQLdb.connect(
                host=host,
                port=int(port),
                user=account.user,
                password=account.password,
                database=databases.user_schema if schema is None else schema,
                charset="utf8mb4",
                connect_timeout=databases.connect_timeout_s,
                read_timeout=databases.read_timeout_s,
                write_timeout=databases.read_timeout_s,
                autocommit=True,
                client_flag=CLIENT.FOUND_ROWS,  # an UPDATE's count says how many rows matched, changed or not
            )
        except MySQLdb.Error as error:
            if _number(error) in ACCESS_DENIED:
                raise DatabaseUnfit(f"{endpoint}: {_text(error)}") from error
            raise DatabaseGone(f"{endpoint}: {_text(error)}") from error
        self._converter = self._raw.converter
        self.quote: Callable[[str | bytes], bytes] = self._raw.string_literal
        """A text as an SQL literal."""
        self.execute("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
        if self.is_mariadb:
            self.execute(f"SET SESSION idle_transaction_timeout = {IDLE_TRANSACTION_S}, innodb_lock_wait_timeout = 3")

    @property
    def is_mariadb(self) -> bool:
        return "MariaDB" in self._raw.get_server_info()

    def query(self, sql: str) -> tuple[tuple[bytes | None, ...], ...]:
        """One reading statement; every column as the text that the database sends, not parsed."""
        raw = self._raw
        raw.converter = _UNPARSED
        try:
            raw.query(sql)
            result = raw.store_result()
            return result.fetch_row(0) if result is not None else ()
        except MySQLdb.Error as error:
            raise _translated(error, self.endpoint) from error
        finally:
            raw.converter = self._converter

    def execute(self, sql: str, parameters: Any = None) -> list[tuple[Any, ...]]:
        """One statement with parameters; its rows, parsed."""
        return self._run(lambda cursor: cursor.execute(sql, parameters))[0]

    def execute_naming(self, sql: str) -> tuple[list[tuple[Any, ...]], list[str]]:
        """One reading statement; its rows, and its columns' names."""
        names: list[str] = []

        def act(cursor: Any) -> None:
            cursor.execute(sql)
            names.extend(column[0] for column in cursor.description)

        return self._run(act)[0], names

    def execute_counting(self, sql: str, parameters: Any = None) -> tuple[int, int]:
        """One changing statement; how many rows it matched, and its LAST_INSERT_ID."""
        _, count, insert_id = self._run(lambda cursor: cursor.execute(sql, parameters))
        return count, insert_id

    def rows(self, sql: str) -> tuple[tuple[Any, ...], ...]:
        """One reading statement without parameters; its rows, parsed. Much cheaper than `execute` for many rows."""
        try:
            self._raw.query(sql)
            return self._raw.store_result().fetch_row(0)  # type: ignore[no-any-return]
        except MySQLdb.Error as error:
            raise _translated(error, self.endpoint) from error

    def rows_of_all(self, statements: Iterable[str]) -> list[tuple[tuple[Any, ...], ...]]:
        """Statements without parameters, in one packet and in their order; the rows of each that reads, parsed."""
        raw = self._raw
        try:
            raw.query(";".join(statements))
            results = [raw.store_result()]
            while raw.next_result() == 0:
                results.append(raw.store_result())
        except MySQLdb.Error as error:
            raise _translated(error, self.endpoint) from error
        return [result.fetch_row(0) for result in results if result is not None]

    def execute_all(self, statements: Iterable[bytes]) -> None:
        """Changing statements, one after the other, in as few packets as the server takes. One that fails ends it:
        what stands after it is not executed, also in its packet."""
        raw = self._raw
        try:
            for packet in in_packets(statements):
                raw.query(b";".join(packet))
                while raw.next_result() == 0:
                    pass
        except MySQLdb.Error as error:
            raise _translated(error, self.endpoint) from error

    def send_block(self, statements: Iterable[bytes]) -> None:
        """Send statements as one, a block: the first that fails ends it, and it says nothing before it has ended, or comes to a statement
        that reads: `receive_block` is to be called then, and nothing else asked before."""
        self.send(b"BEGIN NOT ATOMIC " + b";".join(statements) + b";END")

    def run_block(self, statements: Iterable[bytes]) -> None:
        """Send a block that reads nothing, and wait for its end."""
        self.send_block(statements)
        self.receive_block()

    def receive_block(self) -> list[tuple[tuple[Any, ...], ...]]:
        """The rows of each of its statements that read; raises what ended it."""
        raw = self._raw
        try:
            raw.read_query_result()
            results = [raw.store_result()]
            while raw.next_result() == 0:
                results.append(raw.store_result())
        except MySQLdb.Error as error:
            raise _translated(error, self.endpoint) from error
        return [result.fetch_row(0) for result in results if result is not None]

    def send(self, statement: bytes) -> None:
        """Send a packet, and do not wait for what comes of it: `receive` does. Nothing else may be asked meanwhile."""
        try:
            self._raw.send_query(statement)
        except MySQLdb.Error as error:
            raise _translated(error, self.endpoint) from error

    def receive(self) -> None:
        """Wait for the end of the statement that was sent; raises what became of it."""
        try:
            self._raw.read_query_result()
        except MySQLdb.Error as error:
            raise _translated(error, self.endpoint) from error

    def fileno(self) -> int:
        """Readable once the end of what was sent is known."""
        return int(self._raw.fileno())

    def close(self) -> None:
        with contextlib.suppress(MySQLdb.Error):  # it is given up either way
            self._raw.close()

    def _run(self, act: Callable[[Any], Any]) -> tuple[list[tuple[Any, ...]], int, int]:
        try:
            cursor = self._raw.cursor()
            act(cursor)
            rows = list(cursor.fetchall()) if cursor.description else []
            return rows, int(cursor.rowcount), int(cursor.lastrowid or 0)
        except MySQLdb.Error as error:
            raise _translated(error, self.endpoint) from error


def in_packets(statements: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Statements that go together, PACKET_BYTES at the most, or a single one."""
    packet: list[bytes] = []
    size = 0
    for statement in statements:
        if packet and size + len(statement) > PACKET_BYTES:
            yield packet
            packet, size = [], 0
        packet.append(statement)
        size += len(statement)
    if packet:
        yield packet


def _number(error: MySQLdb.Error) -> int:
    return int(error.args[0]) if error.args and isinstance(error.args[0], int) else 0


def _text(error: MySQLdb.Error) -> str:
    return " ".join(str(argument) for argument in error.args)


def _translated(error: MySQLdb.Error, endpoint: str) -> Exception:
    number, sentence = _number(error), f"{endpoint}: {_text(error)}"
    if number == FENCED:
        return Fenced(str(error.args[1]))
    if number in (DEADLOCK, NUMBERS_TAKEN):
        return TryAgain(sentence)
    if number in (LOCK_WAIT, STATEMENT_TIME):
        return Locked(sentence)
    if number in READ_ONLY:
        return DatabaseUnfit(f"{sentence}: it is no master any more")
    if number in NO_ROOM:
        return NoRoom(sentence)
    if number in CONNECTION_LOST or isinstance(error, MySQLdb.InterfaceError):
        return DatabaseGone(sentence)
    if number == NO_SUCH_TABLE:
        return NoSuchTable(sentence)
    if number == DUPLICATE_KEY:
        return Duplicate(sentence)
    return StatementRefused(sentence)


def master_faults(connection: Connection) -> list[str]:
    """Why this database must not be used as the master; empty when it may."""
    settings = _variables(connection)
    faults = [
        f"{name} is {settings.get(name, 'absent')}, must be {wanted}: {why}"
        for name, wanted, why in (
            ("sync_binlog", "1", "after a crash a replica would show a tick without its write"),
            ("innodb_flush_log_at_trx_commit", "1", "an acknowledged write would be lost in a power cut"),
            ("binlog_format", "ROW", "replicas must apply what the master did, row by row"),
            ("log_bin", "ON", "replicas are fed from the binary log"),
            ("read_only", "OFF", "a master must take writes"),
        )
        if settings.get(name) != wanted
    ]
    if settings.get("rpl_semi_sync_master_enabled") == "ON" and settings.get("rpl_semi_sync_master_wait_point") == "AFTER_SYNC":
        faults.append("rpl_semi_sync_master_wait_point is AFTER_SYNC: a replica would show what the master does not yet")
    return faults + _rights_faults(connection)


def replica_faults(connection: Connection) -> list[str]:
    """Why this database must not be used as a replica; empty when it may."""
    settings = _variables(connection)
    faults = []
    if settings.get("read_only") not in ("ON", "1"):
        faults.append("read_only is OFF, must be ON: a write here would part it from the master")
    if _may_commit_out_of_order(settings):
        faults.append("it applies in parallel and may commit out of order: an update tick would promise too much")
    if _goes_on_past_a_fork(connection, settings):
        faults.append("it replicates by position, and after a promotion would go on past the fork: use GTID, or gtid_strict_mode=1")
    return faults + _rights_faults(connection)


def _goes_on_past_a_fork(connection: Connection, settings: dict[str, str]) -> bool:
    """Tried: by GTID, or by position with gtid_strict_mode, replication stops there; by position alone it goes on in silence."""
    status = _replication_status(connection)
    if status is None or settings.get("gtid_strict_mode") == "ON":
        return False
    return status.get("Using_Gtid") == "No" if "Using_Gtid" in status else status.get("Auto_Position") in (0, "0")


def _replication_status(connection: Connection) -> dict[str, Any] | None:
    """`SHOW SLAVE STATUS` by column name; None where there is none, or it may not be asked for."""
    try:
        rows, names = connection.execute_naming("SHOW SLAVE STATUS")
    except StatementRefused:
        return None
    return dict(zip(names, rows[0], strict=True)) if rows else None


def _may_commit_out_of_order(settings: dict[str, str]) -> bool:
    """MySQL: several appliers that do not keep the order. MariaDB: several, and transactions of more than one domain."""
    if int(settings.get("replica_parallel_workers", settings.get("slave_parallel_workers", "0"))) > 1:
        return settings.get("replica_preserve_commit_order", settings.get("slave_preserve_commit_order")) == "OFF"
    domains = {position.partition("-")[0] for position in settings.get("gtid_slave_pos", "").split(",") if position}
    return int(settings.get("slave_parallel_threads", "0")) > 0 and len(domains) > 1


def _variables(connection: Connection) -> dict[str, str]:
    names = (
        "sync_binlog",
        "innodb_flush_log_at_trx_commit",
        "binlog_format",
        "log_bin",
        "read_only",
        "rpl_semi_sync_master_enabled",
        "rpl_semi_sync_master_wait_point",
        "slave_preserve_commit_order",
        "replica_preserve_commit_order",
        "slave_parallel_threads",
        "slave_parallel_workers",
        "replica_parallel_workers",
        "gtid_slave_pos",
        "gtid_strict_mode",
    )
    return dict(connection.execute("SHOW GLOBAL VARIABLES WHERE Variable_name IN %s", (names,)))


def _rights_faults(connection: Connection) -> list[str]:
    """With SUPER or READ_ONLY ADMIN a write lands on a `read_only` replica and breaks replication."""
    for (grant,) in connection.execute("SHOW GRANTS"):
        rights = grant.upper().partition(" ON ")[0]
        everywhere = " ON *.* " in grant.upper()
        if everywhere and any(right in rights for right in ("SUPER", "READ_ONLY ADMIN", "ALL PRIVILEGES", "CONNECTION_ADMIN")):
            return [f"the account may write on a read_only server ({grant.partition(' TO ')[0]}): take SUPER and READ_ONLY ADMIN away"]
    return []


def replication_health(connection: Connection) -> tuple[bool | None, bool | None, str]:
    """Whether the IO and the SQL thread run, and the last error; (None, None, why) where the database does not say.

    Raises DatabaseUnfit when the replica has begun to take writes.
    """
    if connection.execute("SELECT @@GLOBAL.read_only") == [(0,)]:
        raise DatabaseUnfit(f"{connection.endpoint}: read_only was turned OFF: it is no replica any more")
    try:
        rows, names = connection.execute_naming("SHOW SLAVE STATUS")
    except StatementRefused as refusal:
        return None, None, str(refusal)
    if not rows:
        return False, False, "replication is not configured here"
    status = dict(zip(names, rows[0], strict=True))
    error = status.get("Last_SQL_Error") or status.get("Last_IO_Error") or ""
    return status["Slave_IO_Running"] == "Yes", status["Slave_SQL_Running"] == "Yes", str(error)[:500]
