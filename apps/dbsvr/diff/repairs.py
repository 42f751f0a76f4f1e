"""Asking the DBSvr to mend one key: the row goes as it is on the master, by a statement that every replica executes.

The DBSvr's master worker does it (docs/decisions/0015): it alone writes user data, so the user's version rises, his copies are purged, and
the replica that shows the repair also shows its tick. A table of the configuration is not the DBSvr's: what to run by hand is said.
"""

from __future__ import annotations

import secrets
from typing import NamedTuple

from apps.dbsvr.db_interface import DbInterface
from apps.dbsvr.diff.keys import decode_key, literal, value_of
from apps.dbsvr.diff.models import Difference
from apps.dbsvr.diff.servers import Server
from apps.dbsvr.diff.statements import rows_by_key
from apps.dbsvr.diff.table_shape import TableShape, quoted_name
from workers.protocol import MAX_UID, DBSvrError, RepairAnswer, RepairOrder

NODE = "none"
"""What a request says that uses no cache node: the copies on all of them are purged."""
WITHIN_MS = 5_000


class Plan(NamedTuple):
    statements: list[str]
    why_not: str
    """Why the product may not do it, with what is to be granted or run; "": it may."""


def plan(dbsvr: DbInterface, difference: Difference, user_schema: str, master: Server) -> Plan:
    """What a repair would execute, as the DBSvr says it; nothing is written."""
    if difference.schema != user_schema:
        return Plan(
            _by_hand(master, difference),
            f"{difference.schema} is not the DBSvr's: run these statements on the master as an account with BINLOG ADMIN"
            " (a trigger or a foreign key of this table may refuse the REPLACE; then rebuild the replica's table)",
        )
    try:
        answer = order(dbsvr, difference, is_dry=True)
    except DBSvrError as error:
        return Plan([], str(error))
    return Plan(answer.statements, "")


def order(dbsvr: DbInterface, difference: Difference, is_dry: bool = False) -> RepairAnswer:
    """Raises DBSvrError."""
    shown = difference.replica_row or {}
    version = str(shown.get("version") or "")
    what = RepairOrder(
        table=difference.table,
        key=[part if isinstance(part, str) else part.hex() for part in decode_key(difference.key)],
        above=int(version) if version.isdigit() and difference.table == "user_state" else 0,
        dry=is_dry,
    )
    return dbsvr.repair(difference.uid or MAX_UID, NODE, f"repair-{difference.pk}-{secrets.token_hex(6)}", what, deadline_ms=WITHIN_MS)


def _by_hand(master: Server, difference: Difference) -> list[str]:
    table = master.shape(difference.schema, difference.table)
    key = decode_key(difference.key)
    return [
        "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
        "SET SESSION binlog_format = 'STATEMENT'",
        "SET SESSION foreign_key_checks = 0",
        _statement(master, table, key),
    ]


def _statement(master: Server, table: TableShape, key: tuple[str | bytes, ...]) -> str:
    rows = master.rows(rows_by_key(table, [key]))
    if not rows:
        condition = " AND ".join(
            f"{quoted_name(column.name)} = {literal(column, value)}" for column, value in zip(table.key, key, strict=True)
        )
        return f"DELETE FROM {table.full_name} WHERE {condition}"
    names = ", ".join(quoted_name(column.name) for column in table.columns)
    values = ", ".join(
        literal(column, None if raw is None else value_of(column, raw)) for column, raw in zip(table.columns, rows[0], strict=False)
    )
    return f"REPLACE INTO {table.full_name} ({names}) VALUES ({values})"
