"""A reference points system for tests, grants as the DBSvr would write them, and the sums that must agree."""

from __future__ import annotations

import json
import sys
import time
import urllib.request
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from deploy.local.ports import free_ports
from deploy.local.private_stack import PrivateStack
from deploy.local.stack_process import StackProcess
from tasksys_site.configuration import Points
from tests.stack.waiting import eventually

NOW_MS = int(time.time() * 1000)
TOKEN = "a secret of the tests"


class PointsSystem(StackProcess):
    """The process of `make run`, on a port of its own; it keeps its balances over a restart."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        (self.port,) = free_ports(1)
        self.url = f"http://127.0.0.1:{self.port}"
        self.token_file = directory / "token"
        self.token_file.write_text(TOKEN)
        command = [sys.executable, "-m", "deploy.reference", "points", "--port", str(self.port)]
        command += ["--database", str(directory / "points.sqlite"), "--token-file", str(self.token_file)]
        super().__init__("points", command, directory / "points.log", {})

    def start(self) -> None:
        super().start()
        eventually(self._answers, within_s=30)

    def settings(self, **more: Any) -> Points:
        return Points(**{"url": f"{self.url}/grants", "token_file": self.token_file, "timeout_ms": 400, "rate_per_s": 2_000, **more})

    @property
    def environment(self) -> dict[str, str]:
        """For processes that deliver to it."""
        settings = self.settings()
        fields = {"URL": settings.url, "TOKEN_FILE": str(self.token_file), "TIMEOUT_MS": "400", "RATE_PER_S": "2000"}
        return {f"TASKSYS_POINTS__{name}": value for name, value in fields.items()}

    def fail(self, **faults: Any) -> None:
        """From now on; nothing named: well."""
        request = urllib.request.Request(f"{self.url}/faults", json.dumps(faults).encode(), method="PUT")
        urllib.request.urlopen(request, timeout=10).close()

    def counts(self) -> dict[str, int]:
        counts: dict[str, int] = self._read("/faults")["counts"]
        return counts

    def balance(self, uid: int) -> int:
        return int(self._read(f"/balances/{uid}")["balance"])

    def grants_of(self, uid: int) -> int:
        return int(self._read(f"/balances/{uid}")["grants"])

    def _read(self, path: str) -> Any:
        request = urllib.request.Request(self.url + path, headers={"Authorization": f"Bearer {TOKEN}"})
        with urllib.request.urlopen(request, timeout=10) as response:
            return json.load(response)

    def _answers(self) -> bool:
        assert self.pid is not None, f"it has ended:\n{self.last_log_lines()}"
        try:
            return bool(self._read("/faults"))
        except OSError:
            return False


def grant_rows(uid: int, points: Iterable[int], first_version: int = 1, created_ms: int = NOW_MS) -> list[tuple[Any, ...]]:
    """One grant a version, each for a period of its own; a user's totals add up."""
    rows, total = [], 0
    for version, each in enumerate(points, first_version):
        total += each
        period = f"p{version}"
        rows.append((f"{uid}:7:{period}:0", uid, version, 7, period, 0, each, total, 1, created_ms + version))
    return rows


INSERT = (
    "INSERT INTO grant_outbox (grant_id, uid, version, task_id, period_key, tier, points, total, revision, created_ms)"
    " VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"
)


def write_grants(stack: PrivateStack, rows: Iterable[tuple[Any, ...]]) -> None:
    """As the DBSvr's master worker inserts them."""
    many = list(rows)
    values = INSERT.partition(" VALUES ")[2]
    for first in range(0, len(many), 500):
        part = many[first : first + 500]
        stack.master.execute(
            INSERT.replace(values, ", ".join([values] * len(part))), "tasksys_user", [value for row in part for value in row]
        )


def states_of(stack: PrivateStack, first_uid: int, last_uid: int) -> dict[str, int]:
    """How many grants of these users there are in each state, by its word."""
    from apps.tasks.points.states import State

    rows = stack.master.execute(
        "SELECT state, COUNT(*) FROM grant_outbox WHERE uid BETWEEN %s AND %s GROUP BY state", "tasksys_user", (first_uid, last_uid)
    )
    return {State(state).word: int(count) for state, count in rows}


def make_due(stack: PrivateStack, first_uid: int, last_uid: int) -> None:
    """Back-off and leases of these users end now, instead of being waited for."""
    stack.master.execute(
        "UPDATE grant_outbox SET due_ms = 1 WHERE state IN (0, 1, 4) AND due_ms > 0 AND uid BETWEEN %s AND %s",
        "tasksys_user",
        (first_uid, last_uid),
    )
