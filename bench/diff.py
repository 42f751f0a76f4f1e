"""The replica diff beside pt-table-checksum, on the same million rows, one after the other.

Compared is the checksumming of equal tables: the tool's own TIME column against our whole pass over the table. pt-table-checksum is
Debian's percona-toolkit: installed when it is missing and we are root, else that comparison is left out with a word.
"""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import time
from collections.abc import Iterator

from apps.dbsvr.diff.chunk_size import next_rows
from apps.dbsvr.diff.comparison import Comparison
from apps.dbsvr.diff.keys import OPEN_END, Key, encode_key
from apps.dbsvr.diff.servers import Both, open_both
from bench.measures import Measure
from bench.progress import say
from deploy.local.private_stack import PrivateStack

ROWS = 1_000_000
SCHEMA, TABLE = "tasksys_user", "diff_million"
BUDGET_S = 0.5
FIRST_ROWS = 2000
TOOL = "pt-table-checksum"
BAR, AIM = 1.5, 1.0


def measure(stack: PrivateStack) -> Iterator[Measure]:
    say(f"diff: {ROWS:,} rows on master and replica")
    _make_rows(stack)
    try:
        has_tool = _has_tool()
        before = _tool(stack) if has_tool else None
        say("diff: our pass")
        with open_both(stack.configuration().databases, "r1") as both:
            took_s, found = min((_pass(both) for _ in range(2)), key=lambda each: each[0])
            if found:
                raise RuntimeError(f"equal rows were called different: {found[:5]}")
            after = _tool(stack) if has_tool else None
            against = [run.seconds for run in (before, after) if run is not None]
            yield Measure("diff of a million equal rows", took_s, "s", against, TOOL if against else "", bar=BAR if against else None,
                          aim=AIM if against else None, at_most=True)  # fmt: skip
            broken = _break_replica(stack)
            took_s, found = _pass(both)
            yield Measure("diff with 5 keys that differ, settled and read", took_s, "s")
            yield Measure("of which it found", len(broken & set(found)) / len(broken), "of all", bar=1.0)
            if has_tool:
                run = _tool(stack)
                yield Measure("chunks in which pt-table-checksum saw them", run.chunks_that_differ, "")
    finally:
        stack.master.execute(f"DROP TABLE IF EXISTS {SCHEMA}.{TABLE}")


def _make_rows(stack: PrivateStack) -> None:
    stack.master.execute(f"CREATE TABLE {TABLE} LIKE user_task", SCHEMA)
    step = ROWS // 10  # replication takes each as a whole
    for start in range(0, ROWS, step):
        stack.master.execute(
            f"INSERT INTO {TABLE} (uid, task_id, period_key, progress, state, completed_at, revision)"
            " SELECT seq DIV 4 + 1, seq % 4 + 1, CONCAT('d', 20000 + seq % 4), seq % 10, seq % 3, IF(seq % 3, 1700000000000 + seq, NULL), 3"
            f" FROM seq_{start}_to_{start + step - 1}",
            SCHEMA,
        )
    _wait_for_replica(stack)


def _wait_for_replica(stack: PrivateStack) -> None:
    ((position,),) = stack.master.execute("SELECT @@GLOBAL.gtid_binlog_pos")
    stack.replica.execute(f"SELECT MASTER_GTID_WAIT('{position}', 25)")


def _pass(both: Both) -> tuple[float, list[str]]:
    """The whole table once; how long it took, and the keys that differ."""
    began_at = time.monotonic()
    comparison = Comparison(both, both.master.shape(SCHEMA, TABLE))
    found: list[str] = []
    after: Key = OPEN_END
    rows = FIRST_ROWS
    while True:
        chunk = comparison.scan_chunk(after, rows)
        if chunk.suspects:
            found += [encode_key(each.key) for each in comparison.settle(chunk.suspects).differing]
        after = chunk.up_to
        rows = next_rows(rows, chunk.took_s, BUDGET_S)
        if after == OPEN_END:
            return time.monotonic() - began_at, found


def _break_replica(stack: PrivateStack) -> set[str]:
    for sql in (
        f"UPDATE {TABLE} SET progress = 99 WHERE uid = 1 AND task_id = 1",
        f"DELETE FROM {TABLE} WHERE uid = 120000 AND task_id = 2",
        f"INSERT INTO {TABLE} (uid, task_id, period_key, progress, state, revision) VALUES (9999999, 1, 'd1', 1, 0, 1)",
        f"UPDATE {TABLE} SET progress = progress + 1 WHERE uid IN (200000, 200001) AND task_id = 3",  # the same edit twice
    ):
        stack.replica.execute(f"SET STATEMENT sql_log_bin = 0 FOR {sql}", SCHEMA)
    keys = [("1", "1", "d20000"), ("120000", "2", "d20001"), ("9999999", "1", "d1"), ("200000", "3", "d20002"), ("200001", "3", "d20002")]
    return {encode_key(key) for key in keys}


class _Run:
    def __init__(self, seconds: float, chunks_that_differ: int) -> None:
        self.seconds, self.chunks_that_differ = seconds, chunks_that_differ


def _has_tool() -> bool:
    if shutil.which(TOOL) is None and os.geteuid() == 0 and shutil.which("apt-get"):
        say(f"diff: installing percona-toolkit for {TOOL}")
        command = ["apt-get", "install", "-y", "-q", "--no-install-recommends", "percona-toolkit"]
        subprocess.run(command, check=False, capture_output=True, env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"}, timeout=300)
    if shutil.which(TOOL) is None:
        say(f"diff: {TOOL} is not installed (Debian's percona-toolkit): nothing to compare with")
        return False
    return True


def _tool(stack: PrivateStack) -> _Run:
    """One run of pt-table-checksum over the table, as its manual says, with an account of its own that is dropped again."""
    say(f"diff: {TOOL}")
    password = secrets.token_urlsafe(16)
    for sql in (
        f"CREATE OR REPLACE USER checksum@'127.0.0.1' IDENTIFIED BY '{password}'",
        "GRANT ALL ON *.* TO checksum@'127.0.0.1'",
        "CREATE DATABASE IF NOT EXISTS percona",
        "CREATE TABLE IF NOT EXISTS percona.dsns (id INT AUTO_INCREMENT PRIMARY KEY, parent_id INT, dsn VARCHAR(255) NOT NULL)",
        "DELETE FROM percona.dsns",
        f"INSERT INTO percona.dsns (dsn) VALUES ('h=127.0.0.1,P={stack.replica.port},u=checksum,p={password}')",
    ):
        stack.master.execute(sql)
    _wait_for_replica(stack)
    address = f"h=127.0.0.1,P={stack.master.port},u=checksum,p={password}"
    command = [TOOL, address, f"--databases={SCHEMA}", f"--tables={TABLE}", f"--recursion-method=dsn={address},D=percona,t=dsns"]
    command += ["--no-check-binlog-format", "--no-version-check", "--no-check-replication-filters", "--chunk-time=0.5"]
    try:
        result = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)
        line = next((line for line in result.stdout.splitlines() if line.rstrip().endswith(f"{SCHEMA}.{TABLE}")), None)
        if line is None:
            raise RuntimeError(f"{TOOL} said nothing of the table:\n{result.stdout[-1000:]}{result.stderr[-1000:]}")
        fields = line.split()  # TS ERRORS DIFFS ROWS DIFF_ROWS CHUNKS SKIPPED TIME TABLE
        return _Run(float(fields[-2]), int(fields[2]))
    finally:
        stack.master.execute("DROP USER IF EXISTS checksum@'127.0.0.1'")
