"""Changes to a replica alone, as a wrong hand makes them: in no binary log, so that replication goes on as if nothing had been."""

from __future__ import annotations

import getpass
from collections.abc import Sequence
from typing import Any

import MySQLdb

from deploy.local.mariadb import MariaDBServer

Statement = tuple[str, Sequence[Any] | None]


def run_unlogged(replica: MariaDBServer, *statements: Statement, schema: str = "tasksys_user") -> None:
    connection = MySQLdb.connect(unix_socket=str(replica.socket), user=getpass.getuser(), db=schema, charset="utf8mb4", autocommit=True)
    try:
        cursor = connection.cursor()
        cursor.execute("SET SESSION sql_log_bin = 0")
        for sql, parameters in statements:
            cursor.execute(sql, parameters)
    finally:
        connection.close()
