"""Every endpoint: which scope each method needs. An endpoint without a line here fails the test."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.urls import NoReverseMatch, URLPattern, URLResolver, get_resolver, reverse

from apps.tasks.scopes import ADMIN, READ, SCOPES, WRITE
from tests.api.conftest import Caller

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")

ENDPOINTS: dict[str, dict[str, str]] = {
    "api-user-tasks": {"GET": READ},
    "api-user-prompts": {"GET": READ},
    "api-user-events": {"POST": WRITE},
    "api-complete-task": {"POST": WRITE},
    "api-accept-task": {"POST": WRITE},
    "api-claim-reward": {"POST": WRITE},
    "api-revert-progress": {"POST": WRITE},
    "api-users-batch": {"POST": READ},
    "api-events-batch": {"POST": WRITE},
    "api-user": {"DELETE": ADMIN},
    "api-explain": {"POST": READ},
    "api-config": {"GET": READ},
    "api-config-revisions": {"GET": READ},
    "api-config-revision": {"GET": READ},
    "api-config-documents": {"GET": READ},
    "api-drafts": {"GET": ADMIN, "POST": ADMIN},
    "api-draft": {"GET": ADMIN},
    "api-draft-ask": {"POST": ADMIN},
    "api-draft-resolve": {"POST": ADMIN},
    "api-draft-publish": {"POST": ADMIN},
}

ARGUMENTS: dict[str, Any] = {"code": "no-such-task", "number": 1, "revision": 1}
CASES = [(name, method) for name in ENDPOINTS for method in METHODS]


def named_endpoints() -> set[str]:
    def walk(patterns: list[Any], route: str) -> Iterator[str]:
        for pattern in patterns:
            here = route + str(pattern.pattern)
            if isinstance(pattern, URLResolver):
                yield from walk(pattern.url_patterns, here)
            elif isinstance(pattern, URLPattern) and here.startswith("api/v1/"):
                yield pattern.name or here

    return set(walk(get_resolver().url_patterns, ""))


def address_of(name: str, uid: int) -> str:
    for arguments in ({}, {"uid": uid}, {"uid": uid, "code": ARGUMENTS["code"]}, *({key: value} for key, value in ARGUMENTS.items())):
        try:
            return reverse(name, kwargs=arguments)
        except NoReverseMatch:  # another set of arguments
            continue
    raise AssertionError(f"say in ARGUMENTS what {name} takes")


def test_every_endpoint_has_its_line_and_every_line_its_endpoint() -> None:
    assert named_endpoints() == set(ENDPOINTS)


@pytest.mark.parametrize(("name", "method"), CASES)
def test_a_key_does_what_its_scope_says_and_no_more(name: str, method: str, keys: dict[str, str], uid: int, stack: Any) -> None:
    needed = ENDPOINTS[name].get(method)
    for scope in SCOPES:
        status, body = Caller(keys[scope]).call(method, address_of(name, uid), {} if method != "GET" else None)

        if needed is None:
            assert status == 405, f"{method} {name} is not in ENDPOINTS and was answered {status}"
        elif scope == needed:
            assert status not in (401, 403, 405), (scope, status)
        else:
            assert (status, body["code"]) == (403, "scope_missing"), (scope, status)
            assert needed in body["detail"], "the refusal names the scope that is wanted"


@pytest.mark.parametrize(("name", "method"), [(name, method) for name, methods in ENDPOINTS.items() for method in methods])
@pytest.mark.parametrize("key", [None, "tsk_00000000_unknown", "", "x" * 5000])
def test_without_a_key_nothing_is_done(name: str, method: str, key: str | None, uid: int, stack: Any) -> None:
    status, body = Caller(key).call(method, address_of(name, uid), {} if method != "GET" else None)

    assert (status, body["code"]) == (401, "not_authenticated")
