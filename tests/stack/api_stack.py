"""Two logic nodes, cache nodes, broker and cache sync center over a private stack: what a logic server meets, as on several hosts.

Everybody reaches a cache node through a gateway, which can be cut for one logic node alone.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
from collections.abc import Mapping
from pathlib import Path

from deploy.local.ports import free_ports
from deploy.local.private_stack import PrivateStack
from deploy.local.stack_process import StackProcess
from tests.stack.gateway import Gateway
from tests.stack.pair_stack import PairStack
from tests.stack.web_process import APPLICATION, WebProcess

NODES_VARIABLE = "TASKSYS_CACHE__NODES"


class NodeGateway(Gateway):
    """The way to a cache node. It can be cut for the processes of one session (a logic node is one), and stays open for all others."""

    def __init__(self, target_port: int) -> None:
        self._cut_for = 0
        self._carried: list[socket.socket] = []
        super().__init__(target_port)

    def cut_for(self, session: int) -> None:
        self._cut_for = session
        carried, self._carried = self._carried, []
        for client in carried:
            with contextlib.suppress(OSError):
                if _is_of(session, client):
                    client.shutdown(socket.SHUT_RDWR)
                else:
                    self._carried.append(client)

    def open(self, target_port: int | None = None) -> None:
        self._cut_for = 0
        super().open(target_port)

    def _carry(self, client: socket.socket) -> None:
        if self._cut_for and _is_of(self._cut_for, client):
            client.close()
            return
        self._carried = [each for each in self._carried if each.fileno() >= 0] + [client]
        super()._carry(client)


def _is_of(session: int, client: socket.socket) -> bool:
    """Whether the other end of a connection on this host belongs to a process of this session."""
    port = client.getpeername()[1]
    inode = next((line.split()[9] for line in Path("/proc/net/tcp").read_text().splitlines()[1:] if _local_port(line) == port), "")
    return bool(inode) and any(f"socket:[{inode}]" in _open_files(pid) for pid in _processes_of(session))


def _local_port(line: str) -> int:
    return int(line.split()[1].rpartition(":")[2], 16)


def _processes_of(session: int) -> list[int]:
    found = []
    for name in os.listdir("/proc"):
        with contextlib.suppress(OSError):
            if name.isdigit() and os.getsid(int(name)) == session:
                found.append(int(name))
    return found


def _open_files(pid: int) -> set[str]:
    found = set()
    with contextlib.suppress(OSError):
        for entry in os.scandir(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):
                found.add(os.readlink(entry.path))
    return found


class ApiStack(PrivateStack):
    def __init__(
        self,
        directory: Path,
        replicas: int = 1,
        settings: Mapping[str, object] | None = None,
        application: str = APPLICATION,
    ) -> None:
        """`application`: what the logic nodes serve."""
        super().__init__(directory, replicas=replicas, settings=settings)
        self.ways = {name: NodeGateway(node.port) for name, node in self.nodes.items()}
        self.environment[NODES_VARIABLE] = json.dumps(
            [{"name": name, "url": f"redis://127.0.0.1:{way.port}/0"} for name, way in self.ways.items()]
        )
        self.logic_nodes = [WebProcess(self, port, application=application) for port in (self.web_port, *free_ports(1))]
        self.center = self.celery("purge")
        self._beat = self.beat()
        self.key = ""

    @property
    def addresses(self) -> list[str]:
        return [f"127.0.0.1:{each.port}" for each in self.logic_nodes]

    def start(self) -> None:
        """All of it, with the demo's tasks and an API key with all scopes."""
        self.start_databases()
        self.migrate()
        self.start_redis()
        self.start_dbsvr()
        file = self.directory / "api-key"
        self.manage("load_demo", "--key-file", str(file), "--verbosity=0")
        self.key = file.read_text().strip()
        for process in self._processes:
            process.start()

    def mend(self) -> None:
        """Whatever was broken on purpose runs again."""
        for way in self.ways.values():
            way.open()
        for server in (self.broker, *self.nodes.values()):
            server.thaw()
            if server.pid is None:
                server.start()
        for process in self._processes:
            process.thaw()
            if process.pid is None:
                process.start()

    def stop(self) -> None:
        for process in self._processes:
            process.stop()
        super().stop()
        for way in self.ways.values():
            way.close()

    @property
    def _processes(self) -> list[StackProcess]:
        return [self.center, self._beat, *self.logic_nodes]


class PairApiStack(ApiStack, PairStack):
    """The same over two DBSvrs, as on two hosts."""
