"""A table full of traps on the stack's master and replica, ways to break it on the replica alone, and runs in this process."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

from apps.dbsvr.db_interface import db_interface
from apps.dbsvr.diff import runs, service
from apps.dbsvr.diff.models import Difference, DiffRun
from deploy.local.mariadb import MariaDBServer
from deploy.local.private_stack import PrivateStack
from tasksys_site.configuration import load
from tests.stack.replica_rows import run_unlogged

SCHEMA = "tasksys_user"
_numbers = itertools.count(1)

TRAPS = """CREATE TABLE {name} (
    uid     BIGINT UNSIGNED NOT NULL,
    part    VARCHAR(20) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    one     VARCHAR(200) NULL,
    two     VARCHAR(200) NULL,
    fixed   CHAR(8) NULL,
    bytes   VARBINARY(50) NULL,
    amount  DECIMAL(20,4) NULL,
    ratio   FLOAT NULL,
    exact   DOUBLE NULL,
    seen    TIMESTAMP(6) NULL,
    day     DATE NULL,
    flags   BIT(12) NULL,
    kind    ENUM('a','b','A,b') NULL,
    PRIMARY KEY (uid, part)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4"""
"""Text compares without case here, as is usual: only its bytes tell."""


class TrapTable:
    """`rows` equal rows: two for each uid from 1 on."""

    def __init__(self, stack: PrivateStack, rows: int = 3000) -> None:
        self.stack = stack
        self.name = f"traps_{next(_numbers)}"
        self.rows = rows
        self._master(TRAPS.format(name=self.name))
        self._master(
            f"INSERT INTO {self.name} SELECT seq DIV 2 + 1, CONCAT('p', seq % 2), CONCAT('text ', seq), NULL, 'fix', UNHEX(SHA1(seq)),"
            f" seq / 7, seq / 3, seq / 3, FROM_UNIXTIME(1700000000 + seq), '2026-01-01', seq % 4096, 'a' FROM seq_0_to_{rows - 1}"
        )
        self.wait_for_replica()

    def _master(self, sql: str) -> None:
        self.stack.master.execute(sql, SCHEMA)

    def change(self, sql: str) -> None:
        """On both, as the product would."""
        self._master(sql.format(t=self.name))

    def break_replica(self, *statements: str) -> None:
        on_replica_alone(self.stack.replica, [sql.format(t=self.name) for sql in statements])

    def wait_for_replica(self) -> None:
        wait_for(self.stack.master, self.stack.replica)

    def compare(self, first: str = "", last: str = "", chunk_rows: int = 500) -> DiffRun:
        return compare(f"{SCHEMA}.{self.name}", first, last, chunk_rows)

    def drop(self) -> None:
        self._master(f"DROP TABLE IF EXISTS {self.name}")
        Difference.objects.filter(table=self.name).delete()


def on_replica_alone(replica: MariaDBServer, statements: Iterable[str], schema: str = SCHEMA) -> None:
    """Statements without parameters."""
    run_unlogged(replica, *((statement, None) for statement in statements), schema=schema)


def wait_for(master: MariaDBServer, replica: MariaDBServer) -> None:
    """Until the replica has applied what the master has now."""
    ((position,),) = master.execute("SELECT @@GLOBAL.gtid_binlog_pos")
    assert replica.execute(f"SELECT MASTER_GTID_WAIT('{position}', 30)") == [(0,)]


def begin(table: str, first: str = "", last: str = "", chunk_rows: int = 500, **more: object) -> DiffRun:
    run = service.start_run("r1", table, first, last, **more)  # type: ignore[arg-type]
    DiffRun.objects.filter(pk=run.pk).update(chunk_rows=chunk_rows)
    return run


def work(run: DiffRun, worker: str = "here", slice_s: float = 60.0) -> DiffRun:
    """Until it ends, stops or is held."""
    while runs.work(run.pk, load(), worker, db_interface(), slice_s):
        pass
    run.refresh_from_db()
    return run


def compare(table: str, first: str = "", last: str = "", chunk_rows: int = 500) -> DiffRun:
    return work(begin(table, first, last, chunk_rows))


def found_keys(run: DiffRun) -> dict[str, str]:
    """Key -> kind of what the run saw."""
    return {each.key: each.kind for each in service.differences_of(run)}


def is_accounted_for(run: DiffRun) -> bool:
    """The stretches join end to end, from the run's beginning to its end."""
    stretches = list(run.stretches.order_by("pk"))
    joins = all(one.up_to == two.after for one, two in itertools.pairwise(stretches))
    return bool(stretches) and stretches[0].after == run.begins_after and joins and (run.kind == "sample" or stretches[-1].up_to == "")
