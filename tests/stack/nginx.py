"""Debian's nginx with the project's own configuration, in front of logic nodes of a test's choice."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from deploy.local.ports import free_ports, is_free
from deploy.local.server_process import find_program
from deploy.local.stack_process import StackProcess
from tasksys_site.configuration import PROJECT
from tests.stack.waiting import eventually

CONFIGURATION = PROJECT / "deploy" / "nginx"


class Nginx(StackProcess):
    """Every answer says in `X-Asked` which logic nodes were asked, in order. Only the addresses are not those of deploy/nginx/."""

    def __init__(self, directory: Path, logic_nodes: Sequence[str]) -> None:
        self.port = free_ports(1)[0]
        directory.mkdir(parents=True, exist_ok=True)
        for file in CONFIGURATION.glob("*.conf"):
            shutil.copy(file, directory)
        lines = (CONFIGURATION / "tasksys-logic-nodes.conf").read_text(encoding="utf-8").splitlines()
        manner = next(line for line in lines if line.startswith("server ")).split(" ", 2)[2]
        (directory / "tasksys-logic-nodes.conf").write_text("".join(f"server {address} {manner}\n" for address in logic_nodes))
        temporary = "".join(f"{name}_temp_path {directory}/{name};\n" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        (directory / "nginx.conf").write_text(
            f"worker_processes 1;\ndaemon off;\npid {directory}/pid;\nerror_log stderr;\nevents {{ worker_connections 256; }}\n"
            f"http {{\naccess_log off;\n{temporary}include tasksys-routing.conf;\n"
            f"server {{\nlisten 127.0.0.1:{self.port};\nadd_header X-Asked $upstream_addr always;\n"
            "include tasksys-locations.conf;\n}\n}\n"
        )
        command = [find_program("nginx"), "-p", str(directory), "-e", "stderr", "-c", str(directory / "nginx.conf")]
        super().__init__("nginx", command, directory / "log", {})

    def start(self) -> None:
        super().start()
        eventually(lambda: not is_free(self.port), within_s=10)
