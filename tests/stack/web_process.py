"""The web server of a private stack, as it runs in production: granian, static files collected, one process."""

from __future__ import annotations

import http.client
import os
import shutil
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from deploy.local.private_stack import PrivateStack
from deploy.local.stack_process import StackProcess
from tests.stack.waiting import eventually

MANIFEST = "staticfiles.json"
APPLICATION = "tasksys_site.wsgi:application"


class WebProcess(StackProcess):
    """Listens on the stack's web port, or on the one given; its log is in the stack's folder. It serves `application`."""

    static_template: ClassVar[Path | None] = None
    """Where collected static files are kept to be copied: collecting takes five seconds of a processor."""

    def __init__(
        self, stack: PrivateStack, port: int | None = None, application: str = APPLICATION, more: Mapping[str, str] | None = None
    ) -> None:
        """`more`: settings of this process alone, as environment."""
        self.port = port or stack.web_port
        command = [sys.executable, "-m", "granian", "--interface", "wsgi", "--host", "127.0.0.1", "--port", str(self.port)]
        command += ["--workers", "1", "--blocking-threads", "4", "--no-ws", "--workers-kill-timeout", "3", application]
        super().__init__("web", command, stack.directory / f"web-{self.port}.log", {**stack.environment, **(more or {})})
        self._stack = stack
        self.address = f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        self._collect_static()
        super().start()
        eventually(self._answers, within_s=30)

    def _collect_static(self) -> None:
        static, template = self._stack.directory / "static", self.static_template
        if (static / MANIFEST).exists():
            return
        if template is not None and template.is_dir():
            shutil.copytree(template, static, dirs_exist_ok=True)
            return
        self._stack.manage("collectstatic", "--noinput", "--verbosity=0")
        if template is not None:
            shutil.copytree(static, template)

    def signal(self, number: signal.Signals) -> None:
        """To its worker too: a supervisor that is killed or frozen alone would leave one that goes on serving."""
        if number in (signal.SIGKILL, signal.SIGSTOP, signal.SIGCONT) and self.pid is not None:
            os.killpg(self.pid, number)
        else:
            super().signal(number)

    def _answers(self) -> bool:
        assert self.pid is not None, f"the web process has ended:\n{self.last_log_lines()}"
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=2)
        try:
            connection.request("GET", "/healthz")
            return connection.getresponse().status == 200
        except OSError:
            return False
        finally:
            connection.close()
