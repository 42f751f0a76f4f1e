"""What every answer of the API has, whatever the call: a request id, a line in the log, compression for who takes it; HEAD and OPTIONS."""

from __future__ import annotations

import gzip
import io
import json
import logging
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from apps.tasks.api.access_log import Access, AccessLog
from tests.api.conftest import Caller

USER = "/api/v1/users/42"


@pytest.mark.parametrize("given", ["abc-1", "0af7651916cd43dd8448eb211c80319c", "a:b/c@d+e=f._-", "x" * 64])
def test_a_request_id_comes_back(api: Caller, given: str) -> None:
    api.call("GET", f"{USER}/tasks", headers={"X-Request-Id": given})

    assert api.headers["X-Request-Id"] == given


@pytest.mark.parametrize("given", ["", "x" * 65, "a b", "a\nb", "é", "-a", 'a"b', "a;b"])
def test_a_request_id_that_could_do_harm_in_a_log_is_replaced(api: Caller, given: str) -> None:
    api.call("GET", f"{USER}/tasks", headers={"X-Request-Id": given})

    assert api.headers["X-Request-Id"] not in ("", given)


def test_a_problem_has_a_request_id_too(api: Caller) -> None:
    seen = set()
    for path in (f"{USER}/tasks?lang=xx", f"{USER}/nonsense", "/api/v1/users/0/tasks", "/api/nowhere"):
        status, _problem = api.call("GET", path)
        assert status >= 400
        seen.add(api.headers["X-Request-Id"])

    assert len(seen) == 4


def test_a_log_line_of_a_request_carries_its_id(api: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    from apps.tasks.api import views
    from tasksys_site.logs import KeyValueFormatter

    def break_down(*_: object) -> None:
        logging.getLogger("apps.tasks").warning("something", extra={"uid": 1})
        raise RuntimeError("by the test")

    lines = io.StringIO()
    handler = logging.StreamHandler(lines)
    handler.setFormatter(KeyValueFormatter())
    monkeypatch.setattr(views, "decisions_of_user", break_down)
    logging.getLogger("apps.tasks").addHandler(handler)
    try:
        answer = api.client.get(f"{USER}/tasks", headers={"Authorization": f"Api-Key {api.key}", "X-Request-Id": "mine"})
    finally:
        logging.getLogger("apps.tasks").removeHandler(handler)

    assert (answer.status_code, json.loads(answer.content)["code"], answer.headers["X-Request-Id"]) == (500, "internal", "mine")
    assert [line.rsplit(" ", 1)[1] for line in lines.getvalue().splitlines() if "Z warning" in line or "Z error" in line] == [
        "request_id=mine",
        "request_id=mine",
    ]


def test_every_request_is_a_line_without_the_uid(api: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    from apps.tasks.api import entrance

    lines = io.StringIO()
    written = AccessLog(lines, every_s=3600)
    monkeypatch.setattr(entrance, "access_log", written)

    api.call("GET", "/api/v1/users/123454321/tasks", headers={"X-Request-Id": "one"})
    api.call("GET", "/api/v1/users/0/tasks", headers={"X-Request-Id": "two"})
    api.call("GET", "/api/v1/nowhere", headers={"X-Request-Id": "three"})
    written.write()

    first, second, third = lines.getvalue().splitlines()
    assert 'info apps.tasks.api.access "GET /api/v1/users/{uid}/tasks" status=200 ms=' in first
    assert first.endswith('key="test all" request_id=one')
    assert "status=400" in second
    assert '"GET unknown" status=404' in third
    assert "123454321" not in lines.getvalue()


def test_lines_wait_and_are_written_by_a_thread() -> None:
    class Lines(io.StringIO):
        def flush(self) -> None:
            done.append(self.getvalue())

    done: list[str] = []
    log = AccessLog(Lines(), every_s=0.01)
    log.note(Access(0.0, "GET", "config", 200, 1.26, "a key", "r1"))

    from tests.stack.waiting import eventually

    eventually(lambda: done)
    assert (
        done[0] == '1970-01-01T00:00:00.000Z info apps.tasks.api.access "GET /api/v1/config" status=200 ms=1.3 key="a key" request_id=r1\n'
    )


def test_a_large_answer_travels_as_gzip_to_who_takes_it(api: Caller, uid: int, make_task: Callable[..., Any]) -> None:
    for _ in range(4):
        make_task()
    plain_status, plain = api.tasks(uid)
    plain_bytes, headers = int(api.headers["Content-Length"]), {"Authorization": f"Api-Key {api.key}"}
    assert (plain_status, "Content-Encoding" in api.headers) == (200, False)
    assert plain_bytes > 1024

    packed = Client().get(f"/api/v1/users/{uid}/tasks", headers={**headers, "Accept-Encoding": "br, gzip"})
    refused = Client().get(f"/api/v1/users/{uid}/tasks", headers={**headers, "Accept-Encoding": "gzip;q=0"})
    small = Client().get("/api/v1/users/0/tasks", headers={**headers, "Accept-Encoding": "gzip"})

    assert packed.headers["Content-Encoding"] == "gzip"
    assert json.loads(gzip.decompress(packed.content)) == plain
    assert int(packed.headers["Content-Length"]) == len(packed.content) < plain_bytes
    assert "Accept-Encoding" in packed.headers["Vary"]
    assert "Content-Encoding" not in refused.headers
    assert "Content-Encoding" not in small.headers


def test_head_answers_as_get_does_without_a_body(api: Caller) -> None:
    headers = {"Authorization": f"Api-Key {api.key}"}
    get, head = (Client().generic(method, f"{USER}/tasks", headers=headers) for method in ("GET", "HEAD"))

    assert (head.status_code, head.content) == (200, b"")
    assert {name: head.headers[name] for name in ("Content-Type", "Content-Length", "Cache-Control")} == {
        name: get.headers[name] for name in ("Content-Type", "Content-Length", "Cache-Control")
    }


@pytest.mark.parametrize(("path", "methods"), [(f"{USER}/tasks", "GET, HEAD, OPTIONS"), (USER, "DELETE, OPTIONS")])
def test_options_says_the_methods_and_needs_no_key(keys: dict[str, str], path: str, methods: str) -> None:
    answer = Client().options(path)

    assert (answer.status_code, answer.headers["Allow"], answer.content) == (204, methods, b"")


def test_sentences_are_in_the_language_that_is_asked_for(api: Caller) -> None:
    assert api.call("GET", "/api/v1/users/0/tasks", headers={"Accept-Language": "zh-CN,zh;q=0.9,en;q=0.5"})[1]["title"] == "请求有误"
    assert api.headers["Content-Language"] == "zh-hans"
    assert api.call("GET", "/api/v1/users/0/tasks")[1]["title"] == "The request is wrong"


def test_a_host_that_is_none_of_ours_is_refused(api: Caller) -> None:
    status, problem = api.call("GET", f"{USER}/tasks", headers={"Host": "evil.example"})

    assert (status, problem["pointer"]) == (400, "header/Host")
