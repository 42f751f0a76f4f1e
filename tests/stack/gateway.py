"""A TCP gateway in front of a database, as installations have them. It can be cut, opened again, pointed elsewhere, and swallow all."""

from __future__ import annotations

import contextlib
import select
import socket
import threading

BUFFER = 1 << 16
LOOK_EVERY_S = 0.05


class Gateway:
    """Listens on a free port. Use it as a context; it ends with everything it carries."""

    def __init__(self, target_port: int, host: str = "127.0.0.1") -> None:
        """`host` is the address to listen on; the target is always on loopback."""
        self._host = host
        self._target_port = target_port
        self._listener = socket.create_server((host, 0))
        self.port = int(self._listener.getsockname()[1])
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._lock = threading.Lock()
        self._is_cut = False
        self._swallows = threading.Event()
        self._holds = threading.Event()
        self._ending = threading.Event()
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def endpoint(self) -> str:
        return f"{self._host}:{self.port}"

    def __enter__(self) -> Gateway:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        self._ending.set()
        self._listener.close()
        self._drop()

    def cut(self) -> None:
        """Every connection is reset, and new ones are closed at once."""
        self._is_cut = True
        self._drop()

    def open(self, target_port: int | None = None) -> None:
        """Carry again, from now on to another server if one is given."""
        self._target_port = target_port or self._target_port
        self._is_cut = False
        self._swallows.clear()
        self._holds.clear()

    def swallow(self) -> None:
        """A black hole: connections stay, bytes go nowhere, and nobody hears of it."""
        self._swallows.set()

    def hold(self) -> None:
        """As a network that loses packets: connections stay, nothing arrives; all of it comes when the way is open again."""
        self._holds.set()

    def _drop(self) -> None:
        with self._lock:
            pairs, self._pairs = self._pairs, []
        for pair in pairs:
            for end in pair:
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        while not self._ending.is_set():
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._carry, args=(client,), daemon=True).start()

    def _carry(self, client: socket.socket) -> None:
        with client:
            while self._holds.is_set() and not self._ending.is_set():
                self._ending.wait(LOOK_EVERY_S)
            if self._is_cut:
                return
            try:
                server = socket.create_connection(("127.0.0.1", self._target_port), timeout=5)
            except OSError:
                return
            with server:
                with self._lock:
                    self._pairs.append((client, server))
                self._pump(client, server)

    def _pump(self, client: socket.socket, server: socket.socket) -> None:
        other = {client: server, server: client}
        with contextlib.suppress(OSError, ValueError):
            while not self._ending.is_set() and not self._is_cut:
                if self._holds.is_set():
                    self._ending.wait(LOOK_EVERY_S)
                    continue
                readable, _, _ = select.select([client, server], [], [], LOOK_EVERY_S)
                for end in readable:
                    data = end.recv(BUFFER)
                    if self._swallows.is_set():
                        continue  # an end that closes is swallowed as well
                    if not data:
                        return
                    other[end].sendall(data)
