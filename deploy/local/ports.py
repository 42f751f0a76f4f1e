"""Is a port free, and which ports are?

Probed by binding and by connecting: two servers can share one port silently (one on every address, one on loopback), so a
successful bind alone proves nothing.
"""

from __future__ import annotations

import random
import socket

LOOPBACK = "127.0.0.1"
PICKED_FROM = range(20_000, 32_000)
"""Below the kernel's ephemeral range (32768 and up), so that no outgoing connection takes a picked port."""


class PortTaken(Exception):
    """Another program listens on the port."""


def is_free(port: int, host: str = LOOPBACK) -> bool:
    """Whether nothing listens on `host:port` and one may bind it."""
    address = LOOPBACK if host in ("0.0.0.0", "localhost", "") else host
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as caller:
        caller.settimeout(0.5)
        if caller.connect_ex((address, port)) == 0:
            return False
    with socket.socket(family, socket.SOCK_STREAM) as listener:
        # Connections of a server that has just ended linger; they do not keep the next server from starting.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host if family == socket.AF_INET6 or host == "0.0.0.0" else address, port))
        except OSError:
            return False
    return True


def free_ports(count: int) -> list[int]:
    """`count` different ports that are free now. Random, so that two sessions beside each other rarely pick the same."""
    found: list[int] = []
    for port in random.sample(PICKED_FROM, len(PICKED_FROM)):
        if len(found) == count:
            break
        if is_free(port):
            found.append(port)
    if len(found) < count:
        raise PortTaken(f"fewer than {count} ports are free between {PICKED_FROM.start} and {PICKED_FROM.stop}")
    return found
