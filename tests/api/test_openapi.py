"""The schema says what the API does: real answers are held against it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from apps.tasks.config.documents import Period
from tests.api.conftest import Caller


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
    assert {(path, method) for path, methods in schema["paths"].items() for method in methods} == {
        ("/api/v1/users/{uid}/tasks", "get"),
        ("/api/v1/users/{uid}/tasks/{code}/complete", "post"),
        ("/api/v1/users/{uid}", "delete"),
        ("/api/v1/explain", "post"),
    }
    assert schema["components"]["securitySchemes"]["ApiKey"]["name"] == "Authorization"


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
    check(schema, complete, "post", 404, "application/problem+json", api.complete(uid, "no-such-task", "e")[1])


def test_the_examples_fit_the_schema(schema: dict[str, Any]) -> None:
    found = 0
    for path, methods in schema["paths"].items():
        for method, call in methods.items():
            for status, answer in call["responses"].items():
                for media_type, content in answer["content"].items():
                    for example in content.get("examples", {}).values():
                        check(schema, path, method, int(status), media_type, example["value"])
                        found += 1
    assert found == 4 + sum(len(call["responses"]) - 1 for methods in schema["paths"].values() for call in methods.values())


def test_every_error_answer_is_a_problem_with_a_sentence(schema: dict[str, Any]) -> None:
    for methods in schema["paths"].values():
        for call in methods.values():
            errors = {status: answer for status, answer in call["responses"].items() if status != "200"}
            assert {"400", "401", "403", "503", "504"} <= errors.keys()
            assert all(list(answer["content"]) == ["application/problem+json"] and answer["description"] for answer in errors.values())
