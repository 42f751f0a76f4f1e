"""Two DBSvrs on hosts of their own, as far as the network goes: each in a network namespace, joined by a bridge.

The databases and the clients stay outside. Links are pulled, and ways made to lead nowhere, without a reset that anybody could hear.
It takes root's rights and `ip`; names carry this process's pid, and all of it is removed in the end.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.local.private_stack import PrivateStack, View
from tests.stack.gateway import Gateway

NOBODY = "02:00:00:00:00:99"
"""An address that no card has: what is sent there is lost."""


class TwoHosts:
    def __init__(self, ip: str) -> None:
        self._ip = ip
        pid = os.getpid()
        network = f"198.18.{pid % 250 + 1}"
        self.bridge = f"ts{pid}"
        self.clients_address, self.database_address = f"{network}.1", f"{network}.254"
        self.addresses = {"a": f"{network}.2", "b": f"{network}.3"}
        self.gateways: list[Gateway] = []

    def namespace(self, host: str) -> str:
        return f"tasksys-{os.getpid()}-{host}"

    def _outer(self, host: str) -> str:
        """The end of the host's cable at the bridge."""
        return f"{self.bridge}{host}"

    def build(self) -> None:
        """Raises CalledProcessError where kernel or rights do not allow it."""
        self._run("link", "add", self.bridge, "type", "bridge")
        for address in (self.clients_address, self.database_address):
            self._run("address", "add", f"{address}/24", "dev", self.bridge)
        self._run("link", "set", self.bridge, "up")
        for host, address in self.addresses.items():
            namespace = self.namespace(host)
            self._run("netns", "add", namespace)
            self._run("link", "add", self._outer(host), "type", "veth", "peer", "name", "eth0", "netns", namespace)
            self._run("link", "set", self._outer(host), "master", self.bridge, "up")
            for words in (("address", "add", f"{address}/24", "dev", "eth0"), ("link", "set", "eth0", "up"), ("link", "set", "lo", "up")):
                self._run("-n", namespace, *words)

    def remove(self) -> None:
        for gateway in self.gateways:
            gateway.close()
        for host in self.addresses:
            self._run("netns", "delete", self.namespace(host), check=False)
            self._run("link", "delete", self._outer(host), check=False)
        self._run("link", "delete", self.bridge, check=False)

    def stack(self, directory: Path, settings: dict[str, object]) -> PrivateStack:
        """A stack whose DBSvrs live on these hosts, not started yet."""

        def views(stack: PrivateStack) -> dict[str, View]:
            servers = {"master": stack.master, **stack.replicas}
            ways = {name: Gateway(server.port, self.database_address) for name, server in servers.items()}
            self.gateways += ways.values()
            view = View(endpoints={name: [way.endpoint] for name, way in ways.items()})
            return dict.fromkeys(stack.dbsvrs, view)

        stack = PrivateStack(directory, settings=settings, instances=tuple(self.addresses), views=views)
        for name, dbsvr in stack.dbsvrs.items():
            dbsvr.host = self.addresses[name]
            for process in dbsvr.processes:
                process.command = ["nsenter", f"--net=/run/netns/{self.namespace(name)}", *process.command]
        stack.write_configuration()
        return stack

    def unplug(self, host: str) -> None:
        self._run("link", "set", self._outer(host), "down")

    def plug_in(self, host: str) -> None:
        self._run("link", "set", self._outer(host), "up")

    def lose_the_way(self, host: str, address: str) -> None:
        """What this host sends to that address is lost from now on."""
        self._run("-n", self.namespace(host), "neighbour", "replace", address, "lladdr", NOBODY, "dev", "eth0", "nud", "permanent")

    def find_the_way(self, host: str, address: str) -> None:
        self._run("-n", self.namespace(host), "neighbour", "delete", address, "dev", "eth0")

    def slow_down(self, host: str, delay_ms: int) -> bool:
        """All that comes to the host is late from now on. False where the kernel cannot do that."""
        tc = shutil.which("tc", path="/usr/sbin:/sbin:/usr/bin")
        words = ["qdisc", "replace", "dev", self._outer(host), "root", "netem", "delay", f"{delay_ms}ms"]
        return tc is not None and subprocess.run([tc, *words], capture_output=True, check=False).returncode == 0

    def _run(self, *words: str, check: bool = True) -> None:
        subprocess.run([self._ip, *words], check=check, capture_output=True, text=True)


@contextlib.contextmanager
def two_hosts() -> Iterator[TwoHosts]:
    """Skips, and says why, where it cannot be."""
    ip = shutil.which("ip", path="/usr/sbin:/sbin:/usr/bin")
    if os.geteuid() != 0 or ip is None:
        pytest.skip("network namespaces take root's rights, and ip from the package iproute2")
    hosts = TwoHosts(ip)
    try:
        try:
            hosts.build()
        except subprocess.CalledProcessError as error:
            pytest.skip(f"no network namespaces here: {' '.join(error.cmd)}: {error.stderr.strip()}")
        yield hosts
    finally:
        hosts.remove()
