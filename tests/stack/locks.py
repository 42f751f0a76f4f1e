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
        self._is_held = True

    def execute(self, sql: str) -> None:
        """One more statement of the same transaction; it may have to wait for a lock. Raises MySQLdb.Error."""
        self._connection.cursor().execute(sql)

    def release(self) -> None:
        """End the transaction. Does nothing the second time."""
        if self._is_held:
            self._is_held = False
            self._connection.rollback()
            self._connection.close()
