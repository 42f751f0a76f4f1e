"""Is a port free, and which ports are?

Probed by binding and by connecting: two servers can share one port silently (one on every address, one on loopback), so a
successful bind alone proves nothing.

Between the pick and the server's own bind the port is free for everybody: a picked port is claimed, so that no other process
of this user that picks by this module is given it too. The claim ends with the process.
"""

from __future__ import annotations

import fcntl
import os
import random
import socket
import tempfile
from functools import cache
from pathlib import Path

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
    """`count` different ports that are free now and claimed by this process until it ends."""
    found: list[int] = []
    for port in random.sample(PICKED_FROM, len(PICKED_FROM)):
        if len(found) == count:
            break
        if _claim(port) and is_free(port):
            found.append(port)
    if len(found) < count:
        raise PortTaken(f"fewer than {count} ports are free between {PICKED_FROM.start} and {PICKED_FROM.stop}")
    return found


def _claim(port: int) -> bool:
    """Whether `port` is this process's to pick: a lock on the byte of that number, which the kernel drops when the process ends."""
    try:
        fcntl.lockf(_claims(), fcntl.LOCK_EX | fcntl.LOCK_NB, 1, port)
    except OSError:
        return False
    return True


@cache
def _claims() -> int:
    """The descriptor of the claims, open for as long as the process lives: closing it would drop them."""
    path = Path(tempfile.gettempdir()) / f"tasksys-ports-{os.getuid()}"
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
