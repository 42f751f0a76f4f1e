"""A bare connection to a DBSvr's port: what is sent is sent at once, and answers are read when the test wants them."""

from __future__ import annotations

import socket
from collections.abc import Iterable

from deploy.local.private_stack import PrivateStack


def encoded(*words: str) -> bytes:
    """A request as it goes over the wire."""
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%b\r\n" % (len(word.encode()), word.encode()) for word in words)


class Wire:
    def __init__(self, stack: PrivateStack, timeout_s: float = 30.0, instance: str | None = None) -> None:
        dbsvr = stack.dbsvrs[instance or stack.dbsvr.name]
        self._socket = socket.create_connection((dbsvr.host, dbsvr.port), timeout=timeout_s)
        self._file = self._socket.makefile("rb")

    def send(self, data: bytes) -> None:
        self._socket.sendall(data)

    def ask(self, *words: str) -> None:
        self.send(encoded(*words))

    def send_all(self, requests: Iterable[tuple[str, ...]]) -> None:
        """One packet of them."""
        self.send(b"".join(encoded(*words) for words in requests))

    def answer(self) -> bytes:
        """The next answer: a bulk string's body, or another reply's line. b"" when the front has closed the connection."""
        head = self._file.readline()
        if not head.startswith(b"$"):
            return head.rstrip(b"\r\n")
        return self._file.read(int(head[1:]) + 2)[:-2]

    def close(self) -> None:
        self._file.close()
        self._socket.close()

    def __enter__(self) -> Wire:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
