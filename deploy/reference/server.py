"""The frame of a reference server: HTTP/1.1 with kept connections, a bearer token, and faults on order.

An application is a function from `Request` to `Answer`, called from many threads at once; the rest is here. `GET /faults` shows and
`PUT /faults` sets what the server does wrong; these two and `GET /healthz` never fail and ask for no token, so it listens on loopback only.
"""

from __future__ import annotations

import json
import random
import signal
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlsplit

from deploy.reference.faults import Fault, Faults, WrongFaults, faults_of

LOOPBACK = "127.0.0.1"
MAX_BODY_BYTES = 1 << 20


@dataclass(frozen=True)
class Request:
    """What an application sees of a request."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    """Names in lower case."""
    body: bytes

    def json(self) -> object:
        """The body, or None where it is no JSON."""
        try:
            return json.loads(self.body)
        except ValueError:
            return None


@dataclass(frozen=True)
class Answer:
    status: int
    body: object = None
    """Becomes JSON."""
    headers: Mapping[str, str] = field(default_factory=dict)


Application = Callable[[Request], Answer]


class ReferenceServer(ThreadingHTTPServer):
    """Serves `application` on loopback until `shutdown`. `port` 0 takes any free one."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, application: Application, port: int, token: str = "", seed: int | None = None) -> None:
        self.application = application
        self.spared: tuple[str, ...] = getattr(application, "spared", ())
        """How paths begin that never meet a fault: what people and tests ask for, no part of the contract."""
        self.token = token
        self.faults = Faults()
        self.counts: dict[str, int] = {}
        """Requests by what happened to them; what the application answered, by its status."""
        self._lock = threading.Lock()
        self._random = random.Random(seed)
        super().__init__((LOOPBACK, port), _Handler)

    @property
    def url(self) -> str:
        return f"http://{LOOPBACK}:{self.server_address[1]}"

    def choose_fault(self) -> Fault:
        with self._lock:
            return self.faults.choose(self._random.random)

    def count(self, what: str) -> None:
        with self._lock:
            self.counts[what] = self.counts.get(what, 0) + 1


class _Handler(BaseHTTPRequestHandler):
    server: ReferenceServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1  # head and body leave in one packet, by the flush
    timeout = 60

    def _handle(self) -> None:
        parts = urlsplit(self.path)
        length = int(self.headers.get("Content-Length") or 0)
        if length > MAX_BODY_BYTES:
            self.close_connection = True
            self._send(Answer(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, {"error": "the body is too large"}))
            return
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(self.command, parts.path, dict(parse_qsl(parts.query)), headers, self.rfile.read(length))
        if request.path == "/healthz":
            self._send(Answer(HTTPStatus.OK, {"ok": True}))
        elif request.path == "/faults":
            self._send(self._faults(request))
        else:
            self._serve(request)

    do_GET = do_POST = do_PUT = do_DELETE = _handle

    def _serve(self, request: Request) -> None:
        server = self.server
        is_spared = request.path.startswith(server.spared) if server.spared else False
        fault, faults = (Fault.NONE, Faults()) if is_spared else (server.choose_fault(), server.faults)
        if faults.slow_ms:
            time.sleep(faults.slow_ms / 1000)
        if fault is not Fault.NONE:
            server.count(fault.value)
        if fault is Fault.CUT:
            self.close_connection = True
            return
        if fault is Fault.ERROR:
            self._send(Answer(HTTPStatus.INTERNAL_SERVER_ERROR, {"error": "told to be wrong"}))
            return
        if fault is Fault.BUSY:
            retry_after = {"Retry-After": str(faults.retry_after_s)}
            self._send(Answer(HTTPStatus.TOO_MANY_REQUESTS, {"error": "told to be busy"}, retry_after))
            return
        if server.token and request.headers.get("authorization") != f"Bearer {server.token}":
            self._send(Answer(HTTPStatus.UNAUTHORIZED, {"error": "no valid bearer token"}, {"WWW-Authenticate": "Bearer"}))
            return
        if fault is Fault.TWICE:
            server.application(request)
        answer = server.application(request)
        server.count(str(int(answer.status)))
        if fault is Fault.LOST:
            time.sleep(faults.hold_ms / 1000)
            self.close_connection = True
        elif fault is Fault.GARBLED:
            self._send_bytes(HTTPStatus.OK, b"<html>it works", {"Content-Type": "text/html"})
        else:
            self._send(answer)

    def _faults(self, request: Request) -> Answer:
        if request.method == "PUT":
            values = request.json()
            try:
                self.server.faults = faults_of(values if isinstance(values, dict) else {"": values})
            except WrongFaults as error:
                return Answer(HTTPStatus.BAD_REQUEST, {"error": str(error)})
        return Answer(HTTPStatus.OK, {"faults": self.server.faults.as_dict(), "counts": self.server.counts})

    def _send(self, answer: Answer) -> None:
        body = json.dumps(answer.body, separators=(",", ":")).encode()
        self._send_bytes(answer.status, body, {"Content-Type": "application/json", **answer.headers})

    def _send_bytes(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        try:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            self.wfile.flush()
        except OSError:
            self.close_connection = True  # the caller has gone, which is his affair

    def log_message(self, format: str, *arguments: object) -> None:
        """One line a request would fill the log of the local stack."""


def serve_until_told(server: ReferenceServer) -> None:
    """In the foreground, until TERM or Ctrl-C."""
    told = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: told.set())
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True).start()
    print(f"listening on {server.url}", flush=True)
    told.wait()
    server.shutdown()
    server.server_close()
