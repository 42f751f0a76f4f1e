"""A row lock held by somebody else: makes a write transaction stop where the test wants it."""

from __future__ import annotations

import getpass

import MySQLdb

from deploy.local.mariadb import MariaDBServer


class HeldLock:
    """`sql` (a locking statement) in a transaction that stays open until `release`."""

    def __init__(self, server: MariaDBServer, sql: str, schema: str) -> None:
        self._connection = MySQLdb.connect(unix_socket=str(server.socket), user=getpass.getuser(), db=schema)
        cursor = self._connection.cursor()
        cursor.execute("SET SESSION idle_transaction_timeout = 0")
        cursor.execute("BEGIN")
        cursor.execute(sql)

    def release(self) -> None:
        self._connection.rollback()
        self._connection.close()
