"""Whatever is wrong with a request: a 4xx that says what, with a pointer, and never a 500."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from tests.api.conftest import Caller
from tests.stack.web_process import WebProcess

USER = "/api/v1/users/42"
BAD_UIDS = ["0", "-1", "+1", "1.5", "abc", "1e3", "0x10", str(2**63), "9" * 41, "1" * 500, "%00", "%20", "１２", "%C2%B2", "%FF"]
BAD_EVENT_IDS = ["", " ", "-a", "a b", "a\nb", "é", "x" * 65, "a\x00", "𝔢", "a'--"]


@pytest.mark.parametrize("uid", BAD_UIDS)
@pytest.mark.parametrize(("method", "rest"), [("GET", "/tasks"), ("POST", "/tasks/x/complete"), ("DELETE", "")])
def test_a_uid_outside_the_range_is_pointed_at(api: Caller, uid: str, method: str, rest: str) -> None:
    status, problem = api.call(method, f"/api/v1/users/{uid}{rest}", {"event_id": "e"} if method == "POST" else None)

    assert (status, problem["code"], problem["pointer"]) == (400, "bad_request", "path/uid")
    assert "9223372036854775807" in problem["detail"]


@pytest.mark.parametrize("query", ["lang=xx", "lang=", "lang=en%00", "lang=../en"])
def test_an_unknown_language_is_pointed_at(api: Caller, query: str) -> None:
    status, problem = api.call("GET", f"{USER}/tasks?{query}")

    assert (status, problem["pointer"]) == (400, "query/lang")


@pytest.mark.parametrize("query", ["status=done", "status=", "status=available,,", "status=available;completed"])
def test_an_unknown_state_is_pointed_at(api: Caller, query: str) -> None:
    status, problem = api.call("GET", f"{USER}/tasks?{query}")

    assert (status, problem["pointer"]) == (400, "query/status")
    assert "in_progress" in problem["detail"]


def test_an_unknown_task_is_a_404(api: Caller) -> None:
    for code in ("no-such-task", "%00", "a%20b", "x" * 500, "任务"):
        status, problem = api.complete(42, code, "e")

        assert (status, problem["code"], problem["pointer"]) == (404, "unknown_task", "path/code")


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        (b"", "#"),
        (b"{", "#"),
        (b"event_id=e", "#"),
        (b'{"event_id": "\xff"}', "#"),
        (b'\xef\xbb\xbf{"event_id": "e"}', "#"),
        (b"[" * 20_000, "#"),
        (b'{"event_id": "e"} x', "#"),
        (b'{"event_id": NaN}', "#"),
        (b"null", "#"),
        (b"[]", "#"),
        (b"3", "#"),
        (b'"e"', "#"),
        (b"{}", "#/event_id"),
        (b'{"event_id": null}', "#/event_id"),
        (b'{"event_id": 7}', "#/event_id"),
        (b'{"event_id": ["e"]}', "#/event_id"),
        (b'{"event_id": "e", "value": 3}', "#/value"),
        (b'{"event_id": "e", "at": 5}', "#/at"),
        (b'{"event_id": "e", "at": ""}', "#/at"),
        (b'{"event_id": "e", "at": "yesterday"}', "#/at"),
        (b'{"event_id": "e", "at": "2026-11-30"}', "#/at"),
        (b'{"event_id": "e", "at": "2026-11-30T12:00:00"}', "#/at"),
        (b'{"event_id": "e", "at": "2026-02-30T12:00:00Z"}', "#/at"),
        (b'{"event_id": "e", "at": "0001-01-01T00:00:00+14:00"}', "#/at"),
        (b'{"event_id": "e", "at": "9999-12-31T23:59:59-14:00"}', "#/at"),
    ],
)
def test_a_wrong_body_is_pointed_at(api: Caller, make_task: Callable[..., Any], body: bytes, pointer: str) -> None:
    task = make_task()

    status, problem = api.call("POST", f"{USER}/tasks/{task.code}/complete", body)

    assert (status, problem["code"], problem["pointer"]) == (400, "bad_request", pointer)
    assert problem["detail"]
    assert (problem["retryable"], problem["outcome_unknown"]) == (False, False)


@pytest.mark.parametrize("event_id", BAD_EVENT_IDS)
def test_a_wrong_event_id_is_pointed_at(api: Caller, make_task: Callable[..., Any], event_id: str) -> None:
    status, problem = api.complete(42, make_task().code, event_id)

    assert (status, problem["pointer"]) == (400, "#/event_id")


@pytest.mark.parametrize("event_id", ["%20", "a%20b", "x" * 65, "%00", "%FF"])
def test_a_wrong_event_id_of_an_erasure_is_pointed_at(api: Caller, event_id: str) -> None:
    status, problem = api.call("DELETE", f"{USER}?event_id={event_id}")

    assert (status, problem["pointer"]) == (400, "query/event_id")


@pytest.mark.parametrize("late", [timedelta(minutes=6), timedelta(days=-31)])
def test_a_moment_far_from_now_is_refused(api: Caller, make_task: Callable[..., Any], late: timedelta) -> None:
    task = make_task()
    at = datetime.now(timezone.utc) + late

    status, problem = api.complete(42, task.code, "e", at=at.isoformat())

    assert (status, problem["code"], problem["pointer"]) == (400, "bad_request", "#/at")


def test_a_clock_a_little_ahead_is_tolerated(api: Caller, uid: int, make_task: Callable[..., Any]) -> None:
    at = datetime.now(timezone.utc) + timedelta(minutes=4)

    assert api.complete(uid, make_task().code, "e", at=at.isoformat())[0] == 200


@pytest.mark.parametrize(
    "content_type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/jsonx", ""]
)
def test_a_body_that_is_not_declared_as_json_is_refused(api: Caller, make_task: Callable[..., Any], content_type: str) -> None:
    status, problem = api.call("POST", f"{USER}/tasks/{make_task().code}/complete", '{"event_id": "e"}', content_type=content_type)

    assert (status, problem["code"]) == (415, "unsupported_media_type")


def test_json_with_a_charset_is_json(api: Caller, uid: int, make_task: Callable[..., Any]) -> None:
    path = f"/api/v1/users/{uid}/tasks/{make_task().code}/complete"

    assert api.call("POST", path, '{"event_id": "e"}', content_type="application/json; charset=utf-8")[0] == 200


def test_a_body_too_large_is_refused(api: Caller, make_task: Callable[..., Any]) -> None:
    body = json.dumps({"event_id": "e", "x": "x" * 70_000})

    status, problem = api.call("POST", f"{USER}/tasks/{make_task().code}/complete", body)

    assert (status, problem["code"]) == (413, "too_big")


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", f"{USER}/tasks"),
        ("PUT", f"{USER}/tasks"),
        ("TRACE", f"{USER}/tasks"),
        ("NONSENSE", f"{USER}/tasks"),
        ("GET", f"{USER}/tasks/x/complete"),
        ("GET", USER),
        ("PATCH", USER),
    ],
)
def test_a_method_that_is_not_offered_is_a_405(api: Caller, method: str, path: str) -> None:
    status, problem = api.call(method, path)

    assert (status, problem["code"]) == (405, "method_not_allowed")
    assert api.headers["Allow"]


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE", "OPTIONS"])
@pytest.mark.parametrize(
    "path", ["/api/", "/api/v1", "/api/v2/users/42/tasks", f"{USER}/", f"{USER}/tasks/", f"{USER}/nonsense", "/api/v1/users//tasks"]
)
def test_an_address_that_does_not_exist_is_a_404(api: Caller, method: str, path: str) -> None:
    status, problem = api.call(method, path)

    assert (status, problem["code"]) == (404, "not_found")


@pytest.mark.parametrize("accept", ["text/html", "application/xml", "image/png;q=0.5", "nonsense", ""])
def test_the_answer_is_json_whatever_is_accepted(api: Caller, accept: str) -> None:
    assert api.call("GET", f"{USER}/tasks", headers={"Accept": accept})[0] == 200


def test_problems_speak_the_language_of_the_caller(api: Caller) -> None:
    _status, problem = api.call("GET", "/api/v1/users/0/tasks", headers={"Accept-Language": "zh-CN,zh;q=0.9"})

    assert problem["title"] == "请求有误"


RAW_REQUESTS = [
    pytest.param(b"GET / HTTP/1.1\r\n\r\n", id="no host"),
    pytest.param(b"GET /api/v1/users/42/tasks HTTP/1.1\r\nHost: evil.example\r\n\r\n", id="foreign host"),
    pytest.param(b"POST /api/v1/users/42/tasks/x/complete HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: -5\r\n\r\n", id="negative length"),
    pytest.param(b"\x00\xff\x17nonsense\r\n\r\n", id="garbage"),
]


@pytest.mark.parametrize("request_bytes", RAW_REQUESTS)
def test_garbage_on_the_port_is_no_500_and_harms_nobody(web: WebProcess, request_bytes: bytes) -> None:
    host, port = web.address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=5) as connection:
        connection.sendall(request_bytes)
        connection.shutdown(socket.SHUT_WR)
        answer = connection.recv(65536)
    assert not answer or answer.split()[1].startswith(b"4"), answer

    other = http.client.HTTPConnection(host, int(port), timeout=5)
    other.request("GET", "/healthz")
    assert other.getresponse().status == 200


def test_a_body_in_chunks_is_read_or_refused_but_no_500(web: WebProcess, keys: dict[str, str], uid: int) -> None:
    host, port = web.address.removeprefix("http://").split(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=5)
    headers = {"Authorization": f"Api-Key {keys['all']}", "Content-Type": "application/json"}
    connection.request(
        "POST", f"/api/v1/users/{uid}/tasks/no-such/complete", iter([b'{"event_id":', b' "e"}']), headers, encode_chunked=True
    )
    answer = connection.getresponse()

    assert answer.status in (400, 404, 411)
    assert json.loads(answer.read())["retryable"] is False


@pytest.mark.parametrize("uid", [2**63 - 1024, 2**63 - 1])
@pytest.mark.parametrize(("method", "rest"), [("GET", "/tasks"), ("POST", "/tasks/x/complete"), ("DELETE", "")])
def test_a_uid_that_is_reserved_for_the_canary_is_refused(api: Caller, uid: int, method: str, rest: str) -> None:
    status, problem = api.call(method, f"/api/v1/users/{uid}{rest}", {"event_id": "e"} if method == "POST" else None)

    assert (status, problem["code"], problem["pointer"]) == (400, "bad_request", "path/uid")
    assert "reserved for the canary" in problem["detail"]
