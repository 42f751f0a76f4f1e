"""A profile system in this process that can be told to misbehave: slow, dead, wrong, silent about some. Counts what it was asked."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from deploy.local.ports import free_ports

TOKEN = "a-secret"


class ProfileSystem:
    """Starts with its first `start`; listens on the same port after each. `profiles`: by uid."""

    def __init__(self) -> None:
        (self.port,) = free_ports(1)
        self.url = f"http://127.0.0.1:{self.port}/profiles"
        self.profiles: dict[int, Any] = {}
        self.questions: list[dict[str, Any]] = []
        self.answer: Callable[[dict[str, Any]], tuple[int, bytes]] = self._right
        self.delay_s = 0.0
        self.drips = False
        """One byte at a time, forever within each time-out."""
        self._server: ThreadingHTTPServer | None = None
        self._connections: list[socket.socket] = []

    def start(self) -> ProfileSystem:
        system = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                if self.headers["Authorization"] != f"Bearer {TOKEN}":
                    return self._send(401, b"{}")
                system.questions.append(question)
                if system.delay_s:
                    time.sleep(system.delay_s)
                return self._send(*system.answer(question))

            def _send(self, status: int, body: bytes) -> None:
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                for at in range(len(body)) if system.drips else ():
                    self.wfile.write(body[at : at + 1])
                    time.sleep(0.02)
                if not system.drips:
                    self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

            def setup(self) -> None:
                super().setup()
                system._connections.append(self.connection)

            def handle(self) -> None:
                with contextlib.suppress(OSError):  # the asker has given up
                    super().handle()

        self._server = ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def stop(self) -> None:
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None
        for connection in self._connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self._connections.clear()

    def behave(self) -> None:
        self.answer, self.delay_s, self.drips = self._right, 0.0, False

    def say(self, status: int, body: object) -> None:
        """From now on this, to every question."""
        text = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.answer = lambda question: (status, text)

    def _right(self, question: dict[str, Any]) -> tuple[int, bytes]:
        said = {}
        for uid in question["uids"]:
            profile = self.profiles.get(int(uid))
            said[uid] = None if profile is None else {name: profile.get(name) for name in question["attributes"]}
        return 200, json.dumps({"profiles": said}).encode()
