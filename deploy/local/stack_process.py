"""One process of Tasksys under a private stack: started, killed, frozen and thawed, with its log in a file."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from deploy.local.server_process import ServerFailed, dies_with_parent
from tasksys_site.configuration import PROJECT


class StackProcess:
    """One process of ours, with its log in a file. It dies with whoever started it."""

    def __init__(self, name: str, command: Sequence[str], log: Path, environment: Mapping[str, str]) -> None:
        self.name = name
        self.command = list(command)
        self.log = log
        self._environment = {**os.environ, **environment}
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None and self._process.poll() is None else None

    @property
    def exit_code(self) -> int | None:
        return None if self._process is None else self._process.poll()

    def start(self) -> None:
        if self.pid is not None:
            raise ServerFailed(f"{self.name} runs already, pid {self.pid}")
        with open(self.log, "ab") as log:
            self._process = subprocess.Popen(
                [*dies_with_parent(signal.SIGKILL), *self.command],
                cwd=PROJECT,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def signal(self, number: signal.Signals) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(number)

    def stop(self, timeout_s: float = 10.0) -> int | None:
        """TERM, and by force after the time. The exit code."""
        self.thaw()
        self.signal(signal.SIGTERM)
        return self.wait(timeout_s)

    def kill(self) -> None:
        self.signal(signal.SIGKILL)
        self.wait(10.0)

    def freeze(self) -> None:
        self.signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self.signal(signal.SIGCONT)

    def wait(self, timeout_s: float) -> int | None:
        if self._process is None:
            return None
        try:
            return self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait(10.0)

    def last_log_lines(self, count: int = 30) -> str:
        try:
            return "\n".join(self.log.read_text(errors="replace").splitlines()[-count:])
        except OSError as error:
            return f"(no log: {error})"
