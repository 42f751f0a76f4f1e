"""The schema says what the API does: real answers are held against it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from jsonschema import Draft202012Validator

from apps.tasks.config.documents import Claim, EventType, Feed, Period, Tier
from tests.api.conftest import Caller
from tests.stack.waiting import eventually


@pytest.fixture(scope="module")
def schema(django_on_stack: Any) -> dict[str, Any]:
    from django.test import Client

    answer = Client().get("/api/schema/?format=json")
    assert answer.status_code == 200
    found: dict[str, Any] = json.loads(answer.content)
    return found


def check(schema: dict[str, Any], path: str, method: str, status: int, media_type: str, body: Any) -> None:
    answer = schema["paths"][path][method]["responses"][str(status)]["content"][media_type]["schema"]
    # What the schema does not name is not answered: else a field could be forgotten there.
    components = json.loads(json.dumps(schema["components"]).replace('"type": "object"', '"type": "object", "additionalProperties": false'))
    Draft202012Validator({**answer, "components": components}).validate(body)


def test_the_calls_of_a_logic_server_are_described(schema: dict[str, Any]) -> None:
    assert schema["openapi"].startswith("3.")
    assert {(path, method) for path, methods in schema["paths"].items() for method in methods} >= {
        ("/api/v1/users/{uid}/tasks", "get"),
        ("/api/v1/users/{uid}/prompts", "get"),
        ("/api/v1/users/{uid}/events", "post"),
        ("/api/v1/users/{uid}/tasks/{code}/complete", "post"),
        ("/api/v1/users/{uid}/tasks/{code}/accept", "post"),
        ("/api/v1/users/{uid}/tasks/{code}/claim", "post"),
        ("/api/v1/users/{uid}/tasks/{code}/revert", "post"),
        ("/api/v1/users:batchGet", "post"),
        ("/api/v1/events:batch", "post"),
        ("/api/v1/users/{uid}", "delete"),
        ("/api/v1/explain", "post"),
        ("/api/v1/config", "get"),
        ("/api/v1/config/revisions/{number}", "get"),
        ("/api/v1/config/documents", "get"),
        ("/api/v1/config/drafts", "post"),
        ("/api/v1/config/drafts/{number}", "get"),
        ("/api/v1/config/drafts/{number}/ask", "post"),
        ("/api/v1/config/drafts/{number}/resolve", "post"),
        ("/api/v1/config/drafts/{number}/publish", "post"),
    }
    assert schema["components"]["securitySchemes"]["ApiKey"]["name"] == "Authorization"


def test_every_address_is_described(schema: dict[str, Any]) -> None:
    from apps.tasks.api.urls import urlpatterns

    described = {path.removeprefix("/api/v1/") for path in schema["paths"]}
    assert {str(each.pattern).replace("<str:", "{").replace(">", "}") for each in urlpatterns} == described


def test_real_answers_on_the_configuration_fit_the_schema(api: Caller, schema: dict[str, Any]) -> None:
    from tests.api.test_config_drafts import DRAFTS, approved, post, send
    from tests.stack.published import publish_tasks, task

    base = publish_tasks(one := task(points=1)).number
    draft = approved(api, msgspec.structs.replace(one, points=2), base=base)
    publish_tasks(msgspec.structs.replace(one, points=3))
    json_, problem, path = "application/json", "application/problem+json", "/api/v1/config/drafts/{number}"

    check(schema, "/api/v1/config", "get", 200, json_, api.call("GET", "/api/v1/config")[1])
    check(schema, "/api/v1/config/revisions", "get", 200, json_, api.call("GET", "/api/v1/config/revisions")[1])
    check(schema, "/api/v1/config/drafts", "get", 200, json_, api.call("GET", "/api/v1/config/drafts?limit=1")[1])
    check(schema, "/api/v1/config/documents", "get", 200, json_, api.call("GET", "/api/v1/config/documents")[1])
    check(schema, "/api/v1/config/drafts", "post", 201, json_, send(api, task(), {"code": "x", "starts_at": "2026-01-01T00:00:00Z"})[1])
    check(schema, "/api/v1/config/drafts", "post", 422, problem, send(api, {"code": 1})[1])
    check(schema, path, "get", 200, json_, api.call("GET", f"{DRAFTS}/{draft['draft']}")[1])
    check(schema, f"{path}/publish", "post", 409, problem, post(api, draft, "publish", reason="x")[1])
    check(schema, f"{path}/publish", "post", 409, problem, post(api, {**draft, "edition": 99}, "publish", reason="x")[1])
    check(schema, f"{path}/publish", "post", 200, json_, post(api, approved(api, task()), "publish", reason="x")[1])


def test_real_answers_fit_the_schema(api: Caller, uid: int, make_task: Callable[..., Any], schema: dict[str, Any]) -> None:
    daily, off = make_task(period=Period(kind="daily")), make_task(switched_off=True)
    complete = "/api/v1/users/{uid}/tasks/{code}/complete"

    for user in (uid, 2**63 - 1025):
        check(schema, "/api/v1/users/{uid}/tasks", "get", 200, "application/json", api.tasks(user)[1])
    check(schema, "/api/v1/users/{uid}/tasks", "get", 200, "application/json", api.tasks(uid, "?status=unavailable")[1])
    check(schema, complete, "post", 200, "application/json", api.complete(uid, daily.code, "e1")[1])
    check(schema, "/api/v1/users/{uid}", "delete", 200, "application/json", api.forget(uid, "e2")[1])
    check(schema, complete, "post", 409, "application/problem+json", api.complete(uid, off.code, "e3")[1])
    check(schema, complete, "post", 400, "application/problem+json", api.complete(uid, off.code, "")[1])
    check(schema, "/api/v1/users/{uid}/tasks", "get", 200, "application/json", api.tasks(uid, "?status=unavailable&reasons=values")[1])
    explained = api.call("POST", "/api/v1/explain", {"uid": uid})[1]
    check(schema, "/api/v1/explain", "post", 200, "application/json", explained)
    check(schema, "/api/v1/explain", "post", 400, "application/problem+json", api.call("POST", "/api/v1/explain", {"uid": 0})[1])
    check(schema, complete, "post", 404, "application/problem+json", api.complete(uid, "no-such-task", "e")[1])


def test_real_answers_on_events_and_steps_fit_the_schema(api: Caller, uid: int, schema: dict[str, Any]) -> None:
    from apps.tasks.live_bundle import live
    from tests.stack.published import publish_tasks, task

    type_ = EventType(name=f"match_{uid}")
    common: dict[str, Any] = {"feeds": (Feed(event=type_.name),)}
    tiers = task(kind="tiers", points=0, tiers=(Tier(target=1, points=5), Tier(target=9)), claim=Claim(mode="by_claim"), **common)
    accepted = task(claim=Claim(mode="accept_first"), **common)
    publish_tasks(type_, tiers, accepted)
    eventually(lambda: accepted.code in live().bundle.by_code)
    json_, problem, user = "application/json", "application/problem+json", f"/api/v1/users/{uid}"
    event = {"event_id": "e1", "type": type_.name}

    told = api.call("POST", f"{user}/events", event)[1]
    assert told["tasks"]
    assert told["not_counted"]
    check(schema, "/api/v1/users/{uid}/events", "post", 200, json_, told)
    check(
        schema, "/api/v1/users/{uid}/events", "post", 400, problem, api.call("POST", f"{user}/events", {"event_id": "e2", "type": "x"})[1]
    )
    steps = [("accept", accepted, "a", 200), ("claim", tiers, "c", 200), ("claim", tiers, "c2", 409), ("revert", tiers, "r", 200)]
    for name, of, event_id, status in steps:
        answered, body = api.call("POST", f"{user}/tasks/{of.code}/{name}", {"event_id": event_id})
        assert answered == status, body
        media_type = json_ if status == 200 else problem
        check(schema, f"/api/v1/users/{{uid}}/tasks/{{code}}/{name}", "post", status, media_type, body)
    check(schema, "/api/v1/users/{uid}/prompts", "get", 200, json_, api.call("GET", f"{user}/prompts")[1])
    items = [{"uid": uid, **event}, {"uid": 0, **event}]
    check(schema, "/api/v1/events:batch", "post", 200, json_, api.call("POST", "/api/v1/events:batch", {"items": items})[1])
    check(schema, "/api/v1/events:batch", "post", 413, problem, api.call("POST", "/api/v1/events:batch", {"items": items * 251})[1])
    users = api.call("POST", "/api/v1/users:batchGet", {"items": [{"uid": uid}, {"uid": 0}]})[1]
    check(schema, "/api/v1/users:batchGet", "post", 200, json_, users)


def test_the_examples_fit_the_schema(schema: dict[str, Any]) -> None:
    for path, methods in schema["paths"].items():
        for method, call in methods.items():
            for status, answer in call["responses"].items():
                for media_type, content in answer.get("content", {}).items():
                    assert content["examples"], (path, method, status)
                    for example in content["examples"].values():
                        check(schema, path, method, int(status), media_type, example["value"])


def test_every_error_answer_is_a_problem_with_a_sentence(schema: dict[str, Any]) -> None:
    for path, methods in schema["paths"].items():
        for call in methods.values():
            errors = {status: answer for status, answer in call["responses"].items() if status >= "400"}
            assert {"401", "403", "503"} <= errors.keys()
            assert {"400", "504"} <= errors.keys() or "/users/" not in path
            assert all(list(answer["content"]) == ["application/problem+json"] and answer["description"] for answer in errors.values())
