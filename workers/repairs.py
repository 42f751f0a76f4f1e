"""Mending one row of a replica: it is written again as it is on the master, by a statement instead of by a row event.

In ROW format a write that changes nothing leaves no event, an UPDATE of a row that a replica lacks stops its SQL thread (1032), and so does
DELETE + INSERT; a REPLACE or DELETE that is logged as a statement mends every replica, whatever it has. For that the session needs
`binlog_format=STATEMENT`, hence BINLOG ADMIN, and REPEATABLE READ, since InnoDB logs rows alone below it. The workers' account has no such
right: an account of its own is connected for each repair, and for nothing else (docs/decisions/0015).

It is a write transaction like every other: the segments first, then the rows under lock, the tick last. The user's version rises, above the
replica's if that is higher, and the copies on all nodes are purged in the same transaction. What is not in the chosen key is not touched.
"""

from __future__ import annotations

import contextlib
import time
from typing import NamedTuple

import msgspec

from tasksys_site.configuration import ConfigurationError, Databases
from workers import store
from workers.database import Connection, DatabaseGone, DatabaseUnfit, NoRoom, StatementRefused, TryAgain
from workers.messages import SegmentRow, Write, Writes
from workers.ownership import Ownership, not_owner
from workers.protocol import BadArgument, DBSvrError, MasterDown, Refused, RepairAnswer, RepairOrder, parse_repair
from workers.segment_rows import lock_owned
from workers.trails import ANY

NOT_OURS = frozenset({"db_info", "segment_owner", "replica_hold"})
"""What the DBSvrs agree by. No read of a user is answered from a replica's copy of these."""
SESSION = (
    "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
    "SET SESSION binlog_format = 'STATEMENT'",
    "SET SESSION innodb_lock_wait_timeout = 1",  # all writes wait meanwhile
)
TEXT = frozenset({"char", "varchar", "tinytext", "text", "mediumtext", "longtext", "enum", "set"})
BINARY = frozenset({"binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob"})


class _Column(NamedTuple):
    name: str
    type: str
    is_key: bool


class Repairs:
    """Of one life of the master's worker. Call it with nothing under way: the rows that it locks may be the batches'."""

    def __init__(self, endpoint: str, databases: Databases, ownership: Ownership, epoch: int, generation: int) -> None:
        self._endpoint = endpoint
        self._databases = databases
        self._ownership = ownership
        self._epoch = epoch
        self._generation = generation

    def mend(self, write: Write) -> Writes:
        """What became of it. Raises Superseded, DatabaseGone."""
        began_at = time.monotonic()
        try:
            order = parse_repair(write.changes)
            with self._opened() as connection:
                tick, answer = self._mend(connection, write, order)
        except DBSvrError as error:
            return Writes(self._generation, 0, 0.0, 0, [], [(write.request_id, error.code, str(error))], [])
        outcome = (write.request_id, answer.applied, msgspec.json.encode(answer))
        took_ms = (time.monotonic() - began_at) * 1000
        return Writes(self._generation, tick, took_ms, int(answer.applied and answer.version > 0), [outcome], [], [])

    @contextlib.contextmanager
    def _opened(self):  # type: ignore[no-untyped-def]
        """A connection that logs statements. Raises Refused with what is to be granted."""
        account = self._databases.accounts.repair
        try:
            connection = Connection(self._endpoint, account, self._databases)
        except (DatabaseUnfit, ConfigurationError) as error:
            raise Refused(_needs(account.user, self._databases.user_schema, str(error))) from error
        except DatabaseGone as error:
            raise MasterDown(str(error)) from error  # nothing was begun
        try:
            for statement in SESSION:
                connection.execute(statement)
            yield connection
        except (StatementRefused, DatabaseUnfit) as error:
            raise Refused(_needs(account.user, self._databases.user_schema, str(error))) from error
        except TryAgain as error:
            raise Refused(f"the row is locked by somebody else, nothing was done: try again ({error})") from error
        except NoRoom as error:
            raise MasterDown(f"the master cannot write: {error}") from error
        finally:
            connection.close()  # which rolls back what was not committed

    def _mend(self, connection: Connection, write: Write, order: RepairOrder) -> tuple[int, RepairAnswer]:
        columns = _columns(connection, order)
        connection.execute("BEGIN")
        self._fence(connection, write.uid)
        condition = _condition(connection, columns, order)
        rows = connection.query(_select(columns, f"`{order.table}`", condition))
        _check_uid(columns, rows, write.uid, order)
        has_uid = any(column.name == "uid" for column in columns)
        if order.table == "user_state":
            statements, version = [], 0
        elif rows:
            statements, version = [_replace(columns, order.table, rows[0])], 0
        else:
            statements, version = [f"DELETE FROM `{order.table}` WHERE {condition}"], 0
        if has_uid:
            version, raising = _raise_version(connection, write.uid, order.above)
            statements.append(raising)
            statements.append(
                "INSERT INTO `cache_purge` (uid, generation, version, node, created_ms)"
                f" VALUES ({write.uid}, {self._generation}, {version}, '{ANY}', {_now_ms()})"
            )
        if order.dry:
            connection.execute("ROLLBACK")
            return 0, RepairAnswer(False, statements, version)
        for statement in statements:
            connection.execute_all([statement.encode()])
        tick = store.take_tick(connection, self._ownership.instance, self._epoch, self._generation)
        try:
            store.commit(connection)
        except (StatementRefused, TryAgain, DatabaseUnfit) as error:
            raise DatabaseGone(f"the COMMIT of a repair was refused: {error}") from error  # the next life finds out
        return tick, RepairAnswer(True, statements, version)

    def _fence(self, connection: Connection, uid: int) -> None:
        """The user is ours, and is held so until the transaction ends (INV 12)."""
        owned = [SegmentRow(*row) for row in connection.execute(lock_owned(self._ownership.instance))]
        if not any(self._ownership.is_possessed(row) and row.first <= uid <= row.last for row in owned):
            raise not_owner(self._ownership, uid)


def why_no_repairs(endpoint: str, databases: Databases) -> str:
    """A sentence when the account for repairs is not there, or may not log statements; "" when it may."""
    account = databases.accounts.repair
    try:
        with contextlib.closing(Connection(endpoint, account, databases)) as connection:
            for statement in SESSION:
                connection.execute(statement)
    except (DatabaseUnfit, DatabaseGone, StatementRefused, ConfigurationError) as error:
        return _needs(account.user, databases.user_schema, str(error))
    return ""


def _columns(connection: Connection, order: RepairOrder) -> list[_Column]:
    rows = connection.execute(
        "SELECT column_name, data_type, column_key = 'PRI' FROM information_schema.columns"
        " WHERE table_schema = DATABASE() AND table_name = %s ORDER BY ordinal_position",
        (order.table,),
    )
    columns = [_Column(name, kind.lower(), bool(is_key)) for name, kind, is_key in rows]
    if not columns or order.table in NOT_OURS:
        raise BadArgument(f"no table {order.table} of users' rows")
    keys = [column for column in columns if column.is_key]
    if len(keys) != len(order.key):
        raise BadArgument(f"the key of {order.table} has {len(keys)} columns, not {len(order.key)}")
    return columns


def _condition(connection: Connection, columns: list[_Column], order: RepairOrder) -> str:
    names = connection.execute(
        "SELECT column_name FROM information_schema.statistics WHERE table_schema = DATABASE() AND table_name = %s"
        " AND index_name = 'PRIMARY' ORDER BY seq_in_index",
        (order.table,),
    )
    types = {column.name: column.type for column in columns}
    parts = [f"`{name}` = {_literal(types[name], value.encode())}" for (name,), value in zip(names, order.key, strict=True)]
    return " AND ".join(parts)


def _check_uid(columns: list[_Column], rows: tuple[tuple[bytes | None, ...], ...], uid: int, order: RepairOrder) -> None:
    """The row is that user's, whose segment we hold and whose version rises."""
    names = [column.name for column in columns]
    if "uid" in names and rows and rows[0][names.index("uid")] != b"%d" % uid:
        raise BadArgument(f"the row of {order.table} is not that of user {uid}")


def _raise_version(connection: Connection, uid: int, above: int) -> tuple[int, str]:
    """The user's new version, above every one that a replica or a copy may show, and the statement that writes it."""
    columns = [_Column(name, kind, name == "uid") for name, kind in _state_columns(connection)]
    rows = connection.query(_select(columns, "`user_state`", f"`uid` = {uid}"))
    values: dict[str, bytes | None] = {column.name: b"0" for column in columns}
    if rows:
        values = dict(zip(values, rows[0], strict=True))
    version = max(int(values["version"] or 0), above) + 1
    values |= {"uid": b"%d" % uid, "version": b"%d" % version, "updated_at": b"%d" % _now_ms()}
    return version, _replace(columns, "user_state", tuple(values.values()))


def _state_columns(connection: Connection) -> list[tuple[str, str]]:
    return [
        (name, kind.lower())
        for name, kind in connection.execute(
            "SELECT column_name, data_type FROM information_schema.columns"
            " WHERE table_schema = DATABASE() AND table_name = 'user_state' ORDER BY ordinal_position"
        )
    ]


def _select(columns: list[_Column], table: str, condition: str) -> str:
    return f"SELECT {', '.join(f'`{column.name}`' for column in columns)} FROM {table} WHERE {condition} FOR UPDATE"


def _replace(columns: list[_Column], table: str, row: tuple[bytes | None, ...]) -> str:
    names = ", ".join(f"`{column.name}`" for column in columns)
    values = ", ".join(_literal(column.type, value) for column, value in zip(columns, row, strict=True))
    return f"REPLACE INTO `{table}` ({names}) VALUES ({values})"


def _literal(kind: str, value: bytes | None) -> str:
    """Text and bytes in hex: no character set and no quote in them can change the statement on its way to a replica."""
    if value is None:
        return "NULL"
    if kind in TEXT:
        return f"_utf8mb4 X'{value.hex()}'"
    if kind in BINARY:
        return f"X'{value.hex()}'"
    text = value.decode("ascii", "replace")
    if not all(letter.isdigit() or letter in "-+.: e" for letter in text):
        raise BadArgument(f"{text[:40]!r} is no value of a column of type {kind}")
    return f"'{text}'"


def _needs(user: str, schema: str, why: str) -> str:
    escaped = schema.replace("_", r"\_")
    return (
        f"this repair needs the account {user} on the master: GRANT SELECT, INSERT, UPDATE, DELETE ON `{escaped}`.* TO {user};"
        f" GRANT BINLOG ADMIN ON *.* TO {user}; ({why})"
    )


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
