"""The Python client against a real server that misbehaves: what it sends again, what it does not, and what it says when it gives up."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from deploy.local.ports import free_ports
from tasksys_client import (
    AsyncTasksysClient,
    BadAnswer,
    Event,
    NotEligible,
    Problem,
    TasksysClient,
    TasksysError,
    Unanswered,
    UserQuestion,
    calls,
)
from tasksys_client.exchange import Exchange, Patience

STEP = {
    "uid": 42,
    "event_id": "e1",
    "applied": True,
    "generation": 1,
    "version": 3,
    "points": 15,
    "task": {
        "code": "a",
        "period": "once",
        "state": "completed",
        "progress": 1,
        "target": 1,
        "completed_now": True,
        "points": 5,
        "resets_at": None,
    },
}
USER = {"uid": 42, "generation": 1, "version": 3, "points": 15, "tasks": []}


def problem(code: str, status: int, retryable: bool = False, outcome_unknown: bool = False, **more: Any) -> tuple[int, Any, dict[str, str]]:
    headers = {name.replace("_", "-"): value for name, value in more.items() if name == "Retry_After"}
    body = {"code": code, "status": status, "detail": "so it is", "retryable": retryable, "outcome_unknown": outcome_unknown}
    return status, {**body, **{name: value for name, value in more.items() if name != "Retry_After"}}, headers


OVERLOADED = problem("overloaded", 503, retryable=True)
TIMEOUT = problem("timeout", 504, retryable=True, outcome_unknown=True)
CUT, HANG, DRIP = "cut", "hang", "drip"


@dataclass
class Asked:
    method: str
    path: str
    headers: dict[str, str]
    body: Any

    @property
    def event_id(self) -> str:
        return str(self.body["event_id"])


@dataclass
class Server:
    """Answers with what is in `script`, one after the other; the last again and again."""

    script: list[Any]
    asked: list[Asked] = field(default_factory=list)
    address: str = ""
    ended: threading.Event = field(default_factory=threading.Event)

    def next(self) -> Any:
        return self.script.pop(0) if len(self.script) > 1 else self.script[0]


@pytest.fixture
def serve() -> Iterator[Callable[..., Server]]:
    running: list[tuple[Server, ThreadingHTTPServer]] = []

    def start(*script: Any) -> Server:
        server = Server(list(script))

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                headers = {name.lower(): value for name, value in self.headers.items()}
                server.asked.append(Asked(self.command, self.path, headers, json.loads(body) if body else None))
                answer = server.next()
                if answer == CUT:
                    self.close_connection = True
                    return
                if answer == HANG:
                    server.ended.wait(30)
                    self.close_connection = True
                    return
                status, content, more = (200, answer, {}) if not isinstance(answer, tuple) else answer
                data = content if isinstance(content, bytes) else json.dumps(STEP if content == DRIP else content).encode()
                self.send_response(status)
                for name, value in {"X-Request-Id": f"r{len(server.asked)}", **more}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", "0" if status == 304 else str(len(data)))
                self.end_headers()
                if status != 304:
                    for place in range(len(data)) if content == DRIP else ():
                        self.wfile.write(data[place : place + 1])
                        server.ended.wait(0.05)
                    if content != DRIP:
                        self.wfile.write(data)

            do_GET = do_POST = do_DELETE = _answer

            def handle(self) -> None:
                with contextlib.suppress(OSError):
                    super().handle()

            def log_message(self, *_: object) -> None:
                pass

        http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        http.daemon_threads = True
        server.address = f"http://127.0.0.1:{http.server_address[1]}"
        threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        running.append((server, http))
        return server

    yield start
    for server, http in running:
        server.ended.set()
        http.shutdown()
        http.server_close()


Ask = Callable[..., Any]


@pytest.fixture(params=["blocking", "asynchronous"])
def ask(request: pytest.FixtureRequest) -> Ask:
    """One call of either client: the name of its method, and what it is given."""

    def blocking(server: Any, method: str, *given: Any, patience: Patience | None = None, **named: Any) -> Any:
        with TasksysClient(getattr(server, "address", server), "the-key", patience) as client:
            return getattr(client, method)(*given, **named)

    def asynchronous(server: Any, method: str, *given: Any, patience: Patience | None = None, **named: Any) -> Any:
        async def run() -> Any:
            async with AsyncTasksysClient(getattr(server, "address", server), "the-key", patience) as client:
                return await getattr(client, method)(*given, **named)

        return asyncio.run(run())

    return blocking if request.param == "blocking" else asynchronous


def test_a_write_is_sent_again_with_the_event_id_that_was_made_once(serve: Callable[..., Server], ask: Ask) -> None:
    server = serve(OVERLOADED, TIMEOUT, CUT, (502, b"<html>bad gateway", {}), STEP)

    done = ask(server, "complete", 42, "a")

    assert (done.task.completed_now, done.points, done.applied) == (True, 15, True)
    assert len(server.asked) == 5
    assert len({each.event_id for each in server.asked}) == 1
    assert all(each.path == "/api/v1/users/42/tasks/a/complete" for each in server.asked)
    assert all(each.headers["authorization"] == "Api-Key the-key" for each in server.asked)


def test_what_is_not_retryable_is_sent_once_and_says_what_is_wrong(serve: Callable[..., Server], ask: Ask) -> None:
    reasons = [{"code": "condition_unmet", "text": "level", "about": "level"}]
    server = serve(problem("not_eligible", 409, reasons=reasons))

    with pytest.raises(NotEligible) as refused:
        ask(server, "claim", 42, "a b/c", period="2026-11-29", event_id="e7")

    error = refused.value
    assert (error.code, error.status, error.retryable, error.outcome_unknown, error.event_id) == ("not_eligible", 409, False, False, "e7")
    assert (error.reasons[0].about, error.request_id) == ("level", "r1")
    assert [(each.path, each.body) for each in server.asked] == [
        ("/api/v1/users/42/tasks/a%20b%2Fc/claim", {"event_id": "e7", "period": "2026-11-29"})
    ]


def test_once_it_may_have_happened_a_later_harmless_failure_does_not_make_it_known(serve: Callable[..., Server], ask: Ask) -> None:
    server = serve(TIMEOUT, OVERLOADED)

    with pytest.raises(Problem) as gave_up:
        ask(server, "record_event", 42, "login", patience=Patience(deadline_s=0.5))

    assert (gave_up.value.code, gave_up.value.retryable, gave_up.value.outcome_unknown) == ("overloaded", True, True)
    assert gave_up.value.event_id == server.asked[0].event_id


def test_a_read_never_leaves_an_outcome_unknown(serve: Callable[..., Server], ask: Ask) -> None:
    server = serve(HANG)

    began = time.monotonic()
    with pytest.raises(Unanswered) as gave_up:
        ask(server, "tasks", 42, patience=Patience(deadline_s=0.6, try_s=0.2))

    assert (gave_up.value.retryable, gave_up.value.outcome_unknown) == (True, False)
    assert len(server.asked) >= 2
    assert time.monotonic() - began < 5


def test_a_server_that_is_not_there_cannot_have_done_anything(ask: Ask) -> None:
    with pytest.raises(Unanswered) as gave_up:
        ask(f"http://127.0.0.1:{free_ports(1)[0]}", "erase", 42, patience=Patience(deadline_s=0.3))

    assert not gave_up.value.outcome_unknown
    assert gave_up.value.event_id


def test_an_answer_that_comes_byte_by_byte_ends_with_its_time(serve: Callable[..., Server], ask: Ask) -> None:
    server = serve(DRIP)
    began = time.monotonic()

    with pytest.raises(Unanswered) as gave_up:
        ask(server, "complete", 42, "a", patience=Patience(deadline_s=0.5, try_s=0.5))

    assert gave_up.value.outcome_unknown
    assert time.monotonic() - began < 5


def test_retry_after_is_waited_for_and_not_past_the_deadline(serve: Callable[..., Server], ask: Ask) -> None:
    limited = problem("rate_limited", 429, retryable=True, Retry_After="1")
    server, never = serve(limited, USER), serve(problem("rate_limited", 429, retryable=True, Retry_After="30"))
    began = time.monotonic()

    assert ask(server, "tasks", 42).version == 3
    assert time.monotonic() - began >= 1

    began = time.monotonic()
    with pytest.raises(Problem) as gave_up:
        ask(never, "tasks", 42)
    assert gave_up.value.retry_after_s == 30
    assert time.monotonic() - began < 3
    assert len(never.asked) == 1


@pytest.mark.parametrize(
    "answer",
    [
        (200, b"<html>it works", {}),
        (200, [1], {}),
        (200, {"uid": 42}, {}),
        (404, b"<html>nothing here", {}),
        (418, {"code": 3}, {}),
        (302, b"", {}),
    ],
)
def test_what_is_none_of_this_api_is_said_and_not_repeated(serve: Callable[..., Server], ask: Ask, answer: Any) -> None:
    server = serve(answer)

    with pytest.raises(BadAnswer):
        ask(server, "tasks", 42)

    assert len(server.asked) == 1


def test_of_several_servers_the_next_one_is_asked_at_once(serve: Callable[..., Server], ask: Ask) -> None:
    dead = f"http://127.0.0.1:{free_ports(1)[0]}"
    cuts, well = serve(CUT), serve(STEP)

    done = ask([dead, cuts.address, well.address], "complete", 42, "a")

    assert done.applied
    assert well.asked[0].event_id == cuts.asked[0].event_id


def test_items_of_a_batch_have_results_of_their_own(serve: Callable[..., Server], ask: Ask) -> None:
    refused = problem("overloaded", 503, retryable=True)[1]
    outcome = {**{name: value for name, value in STEP.items() if name != "task"}, "tasks": [STEP["task"]], "not_counted": []}
    events = [Event(uid=42, type="login"), Event(uid=2**60, type="match-finished", value=3, attributes={"won": True}, event_id="mine")]
    server = serve({"items": [{"result": outcome}, {"problem": refused}]})

    first, second = ask(server, "record_events", events)

    assert first.tasks[0].points == 5
    assert isinstance(second, Problem)
    assert second.retryable
    assert server.asked[0].body["items"] == [
        {"uid": 42, "type": "login", "event_id": events[0].event_id},
        {"uid": 2**60, "type": "match-finished", "event_id": "mine", "value": 3, "attributes": {"won": True}},
    ]

    server.script = [{"items": [{"result": USER}, {"result": {**USER, "uid": str(2**60)}}]}]
    users = ask(server, "tasks_of_many", [42, UserQuestion(2**60, {"level": 3})], status=["available"])
    assert [each.uid for each in users] == [42, str(2**60)]
    assert server.asked[1].path == "/api/v1/users:batchGet?status=available"
    assert server.asked[1].body == {"items": [{"uid": 42}, {"uid": 2**60, "attributes": {"level": 3}}]}


def test_the_configuration_is_fetched_once_and_then_asked_whether_it_is_still_the_same(serve: Callable[..., Server], ask: Ask) -> None:
    server = serve((200, {"schema": 1, "revision": 43}, {"ETag": '"43-abc"'}), (304, b"", {}))

    config = ask(server, "config")
    again = ask(server, "config", config.etag)

    assert (config.bundle["revision"], config.etag, again) == (43, '"43-abc"', None)
    assert server.asked[1].headers["if-none-match"] == '"43-abc"'


def test_what_is_said_goes_into_query_body_and_headers(serve: Callable[..., Server], ask: Ask) -> None:
    moment = datetime(2026, 11, 30, 12, tzinfo=timezone.utc)
    explained = {"uid": 42, "generation": 0, "version": 0, "at": "2026-11-30T12:00:00Z", "revision": 3, "tasks": []}
    server = serve(USER, USER, explained, {**USER, "event_id": "e1", "applied": True}, STEP, STEP)

    ask(server, "tasks", 42, status=["available", "claimable"], lang="zh-hans", attributes={"zone": "Asia/Shanghai"}, with_values=True)
    ask(server, "prompts", 42, 2)
    ask(server, "explain", 42, at=moment, codes=["a"], attributes={"level": 3})
    ask(server, "erase", 42, event_id="gone")
    ask(server, "revert", 42, "a", member="bob", event_id="e2", at=moment)
    ask(server, "accept", 42, "a", attributes={"level": 3}, event_id="e3")

    seen = server.asked
    assert seen[0].path == (
        "/api/v1/users/42/tasks?status=available%2Cclaimable&lang=zh-hans&reasons=values&attributes=%7B%22zone%22%3A%22Asia%2FShanghai%22%7D"
    )
    assert seen[1].path == "/api/v1/users/42/prompts?limit=2"
    assert seen[2].body == {"uid": 42, "at": "2026-11-30T12:00:00Z", "tasks": ["a"], "attributes": {"level": 3}}
    assert (seen[3].method, seen[3].headers["idempotency-key"]) == ("DELETE", "gone")
    assert seen[4].body == {"event_id": "e2", "member": "bob", "at": "2026-11-30T12:00:00Z"}
    assert seen[5].body == {"event_id": "e3", "attributes": {"level": 3}}


def test_pauses_double_with_jitter_and_end_with_the_deadline() -> None:
    exchange = Exchange(calls.erase(42, "e1"), ["http://a"], Patience(deadline_s=4), 0.0, random.Random(1))
    now, pauses = 0.0, list[float]()
    while len(pauses) < 100:
        try:
            pauses.append(exchange.not_answered("cut", now).seconds)
        except TasksysError:
            break
        now += pauses[-1]

    assert all(earlier < 4 * later for earlier, later in itertools.pairwise(pauses))
    assert 5 <= len(pauses) <= 12
    assert now < 4


def test_it_needs_neither_django_nor_the_rest_of_the_project() -> None:
    text = "import sys, tasksys_client; print([m for m in sys.modules if m.split('.')[0] in ('django', 'apps', 'workers', 'tasksys_site')])"
    assert subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True).stdout.strip() == "[]"
