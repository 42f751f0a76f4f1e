"""Clients that ask an HTTP server as fast as it answers: each on a connection of its own, one request at a time.

All in one thread over epoll, with requests encoded beforehand and answers not parsed beyond their length: what the client takes of the
machine is then a small, constant part, the same for everything that is compared.
"""

from __future__ import annotations

import re
import select
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import TracebackType

_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
_LAST_CHUNK = b"\r\n0\r\n\r\n"
_RECEIVED_BYTES = 256 * 1024


class BadAnswer(Exception):
    """The server did not answer 200."""


@dataclass
class Answers:
    """What came back in one stretch of time."""

    count: int = 0
    body_bytes: int = 0
    seconds: float = 0.0
    took_s: list[float] = field(default_factory=list)

    @property
    def per_s(self) -> float:
        return self.count / self.seconds if self.seconds else 0.0

    def add(self, other: Answers) -> None:
        self.count += other.count
        self.seconds += other.seconds
        self.took_s += other.took_s
        self.body_bytes = other.body_bytes

    def percentile_ms(self, share: float) -> float:
        """`share`: 0.99 for the p99."""
        ordered = sorted(self.took_s)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))] * 1000 if ordered else 0.0


def encode(method: str, path: str, headers: dict[str, str], body: bytes = b"") -> bytes:
    """A request as it goes over the wire."""
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", *(f"{name}: {value}" for name, value in headers.items())]
    if body:
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + body


class Clients:
    """`count` connections to one server, kept open from stretch to stretch."""

    def __init__(self, port: int, count: int) -> None:
        self._sockets = [socket.create_connection(("127.0.0.1", port), timeout=10) for _ in range(count)]
        for each in self._sockets:
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def __enter__(self) -> Clients:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        for each in self._sockets:
            each.close()

    def ask(self, requests: Sequence[bytes], for_s: float) -> Answers:
        """The requests in turn, again and again, for that time. Raises BadAnswer for anything but a 200."""
        answers = Answers()
        clock, place = time.perf_counter, 0
        by_fd = {each.fileno(): each for each in self._sockets}
        asked_at: dict[int, float] = {}
        read: dict[int, list[bytes]] = {}
        missing: dict[int, int] = {}
        poll = select.epoll()
        began = clock()
        until = began + for_s
        for fd, sock in by_fd.items():
            poll.register(fd, select.EPOLLIN)
            asked_at[fd] = clock()
            sock.sendall(requests[place % len(requests)])
            place += 1
        waiting = len(by_fd)
        while waiting:
            events = poll.poll(10)
            if not events:
                raise BadAnswer("no answer within ten seconds")
            for fd, _event in events:
                data = by_fd[fd].recv(_RECEIVED_BYTES)
                if not data:
                    raise BadAnswer("the server has closed the connection")
                pieces = read.setdefault(fd, [])
                pieces.append(data)
                if fd not in missing:
                    whole = b"".join(pieces)
                    head, end, rest = whole.partition(b"\r\n\r\n")
                    if not end:
                        continue
                    if not head.startswith(b"HTTP/1.1 200"):
                        raise BadAnswer(whole[:600].decode("latin-1"))
                    length = _LENGTH.search(head)
                    # Without a length it comes in chunks, and ends with an empty one.
                    missing[fd] = len(head) + 4 + int(length[1]) if length else 0
                    answers.body_bytes = int(length[1]) if length else len(rest)
                if missing[fd] > sum(map(len, pieces)) or (
                    not missing[fd] and not (pieces[-2:] and b"".join(pieces[-2:]).endswith(_LAST_CHUNK))
                ):
                    continue
                del missing[fd], read[fd]
                now = clock()
                answers.count += 1
                answers.took_s.append(now - asked_at[fd])
                if now < until:
                    asked_at[fd] = now
                    by_fd[fd].sendall(requests[place % len(requests)])
                    place += 1
                else:
                    waiting -= 1
        answers.seconds = clock() - began
        poll.close()
        return answers
