"""The project's nginx configuration with Debian's nginx: a user's requests go to one logic node, and to the next while it is away."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple

import pytest

from apps.cachesync.logic_nodes import LogicNodes
from apps.tasks.keys import create_api_key
from apps.tasks.scopes import SCOPES
from deploy.local.ports import free_ports
from deploy.local.private_stack import PrivateStack
from tests.stack.nginx import Nginx
from tests.stack.waiting import eventually
from tests.stack.web_process import WebProcess

UIDS = range(870_001, 870_041)


class Answer(NamedTuple):
    status: int
    asked: list[str]
    body: dict[str, object]


def ask(nginx: Nginx, method: str, path: str, body: object = None, **headers: str) -> Answer:
    connection = http.client.HTTPConnection("127.0.0.1", nginx.port, timeout=20)
    try:
        connection.request(method, path, None if body is None else json.dumps(body), {"Content-Type": "application/json", **headers})
        response = connection.getresponse()
        text = response.read()
        return Answer(response.status, (response.headers["X-Asked"] or "").split(", "), json.loads(text) if text else {})
    finally:
        connection.close()


@pytest.fixture
def start_nginx(tmp_path: Path) -> Iterator[Callable[..., Nginx]]:
    made: list[Nginx] = []

    def start(*logic_nodes: str) -> Nginx:
        made.append(Nginx(tmp_path / f"nginx-{len(made)}", logic_nodes))
        made[-1].start()
        return made[-1]

    yield start
    for nginx in made:
        nginx.stop()


@pytest.fixture
def two_logic_nodes(web: WebProcess, django_on_stack: PrivateStack) -> Iterator[dict[str, WebProcess]]:
    """The session's web process and another one, by address."""
    other = WebProcess(django_on_stack, free_ports(1)[0])
    other.start()
    yield {f"127.0.0.1:{each.port}": each for each in (web, other)}
    other.stop()


@pytest.mark.long
def test_a_users_requests_go_to_one_logic_node_and_to_the_other_while_it_is_away(
    two_logic_nodes: dict[str, WebProcess], start_nginx: Callable[..., Nginx]
) -> None:
    nginx = start_nginx(*two_logic_nodes)
    key = {"Authorization": f"Api-Key {create_api_key('behind nginx', SCOPES)[1]}"}

    def served() -> dict[int, str]:
        answers = {uid: ask(nginx, "GET", f"/api/v1/users/{uid}/tasks", **key) for uid in UIDS}
        assert {answer.status for answer in answers.values()} == {200}
        return {uid: answer.asked[-1] for uid, answer in answers.items()}

    before = eventually(served)  # a new key is known to both a moment later
    lost_address, lost = list(two_logic_nodes.items())[1]
    lost.kill()
    without = served()
    lost.start()

    nodes = LogicNodes(two_logic_nodes)
    assert before == {uid: next(nodes.in_turn(uid)) for uid in UIDS}, "a client's own routing is nginx's"
    assert set(before.values()) == set(two_logic_nodes)
    assert lost_address not in without.values()
    assert all(without[uid] == before[uid] for uid in UIDS if before[uid] != lost_address), "nobody else moves"
    eventually(lambda: served() == before, within_s=15)


def test_clients_choose_as_nginx_does_whatever_the_addresses(start_nginx: Callable[..., Nginx], answering: Callable[..., Recorder]) -> None:
    nodes = [answering() for _ in range(4)]
    addresses = [node.address for node in nodes]
    nginx = start_nginx(*addresses)
    chosen = LogicNodes(addresses)

    for uid in [*range(1, 120), 2**53 + 1, 9_223_372_036_854_774_783]:
        assert ask(nginx, "GET", f"/api/v1/users/{uid}/tasks").asked == [next(chosen.in_turn(uid))]
    assert ask(nginx, "GET", "/api/v1/users/0042/tasks").asked == [next(chosen.in_turn(42))]
    assert ask(nginx, "DELETE", "/api/v1/users/43").asked == [next(chosen.in_turn(43))]


def test_a_write_whose_logic_node_dies_is_sent_to_the_next_with_the_same_event_id(
    start_nginx: Callable[..., Nginx], answering: Callable[..., Recorder]
) -> None:
    dying, other = answering(dies=True), answering()
    nginx = start_nginx(dying.address, other.address)
    uid = next(uid for uid in range(1, 100) if next(LogicNodes([dying.address, other.address]).in_turn(uid)) == dying.address)

    written = ask(nginx, "POST", f"/api/v1/users/{uid}/tasks/any/complete", {"event_id": "e1"})
    erased = ask(nginx, "DELETE", f"/api/v1/users/{uid}")

    assert (written.status, written.asked[-1]) == (200, other.address)
    assert other.seen[0].body == b'{"event_id": "e1"}'
    assert erased.status == 200
    assert other.seen[-1].event_id, "an erasure without an event id gets one on its way"
    assert [each.event_id for each in dying.seen if each.method == "DELETE"] in ([], [other.seen[-1].event_id])


def test_an_answer_is_an_answer_also_when_it_says_that_there_is_too_much_to_do(
    start_nginx: Callable[..., Nginx], answering: Callable[..., Recorder]
) -> None:
    nodes = [answering(status=503), answering(status=503)]
    nginx = start_nginx(*(node.address for node in nodes))

    answer = ask(nginx, "POST", "/api/v1/users/7/tasks/any/complete", {"event_id": "e1"})

    assert answer.status == 503
    assert sum(len(node.seen) for node in nodes) == 1


class Seen(NamedTuple):
    method: str
    event_id: str
    body: bytes


class Recorder:
    """Stands where a logic node would, and keeps what it was sent. One that `dies` hangs up in the midst of every request."""

    def __init__(self, status: int, dies: bool) -> None:
        seen: list[Seen] = []

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_one_request(self) -> None:
                self.raw_requestline = self.rfile.readline(65_537)
                if not self.raw_requestline or not self.parse_request():
                    self.close_connection = True
                    return
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                seen.append(Seen(self.command, self.headers.get("Idempotency-Key", ""), body))
                if dies:
                    self.close_connection = True
                    return
                self.send_response(status)
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, format: str, *args: object) -> None:
                """Nothing: the test looks at `seen`."""

        self.seen = seen
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def answering() -> Iterator[Callable[..., Recorder]]:
    made: list[Recorder] = []

    def make(status: int = 200, dies: bool = False) -> Recorder:
        made.append(Recorder(status, dies))
        return made[-1]

    yield make
    for each in made:
        each.close()
