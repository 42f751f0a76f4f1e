"""How often a key may ask, through the API: 429 with Retry-After, shared by processes, and changed while all runs."""

from __future__ import annotations

import time
from typing import Any

import pytest

from deploy.local.private_stack import PrivateStack
from tests.api.conftest import Caller
from tests.api.test_api_keys import status_over_http
from tests.stack.waiting import eventually
from tests.stack.web_process import WebProcess

TASKS = "/api/v1/users/42/tasks"


@pytest.fixture
def limited(keys: dict[str, str], stack: PrivateStack) -> tuple[Any, Caller]:
    """A key that may ask three times at once, and then once a second."""
    from apps.tasks.keys import create_api_key, recognise

    key, text = create_api_key("limited", ["read"], requests_per_s=1, burst=3)
    eventually(lambda: recognise(text))
    return key, Caller(text)


def test_who_asks_too_often_is_told_when_to_come_back(limited: tuple[Any, Caller]) -> None:
    _key, caller = limited

    answers = [caller.call("GET", TASKS) for _ in range(8)]

    statuses = [status for status, _body in answers]
    assert statuses[:3] == [200, 200, 200]
    assert 429 in statuses[3:]
    refused = next(body for status, body in answers if status == 429)
    assert (refused["code"], refused["retryable"], refused["outcome_unknown"]) == ("rate_limited", True, False)
    eventually(lambda: caller.call("GET", TASKS)[0] == 429)
    assert int(caller.headers["Retry-After"]) >= 1


def test_other_keys_go_on(limited: tuple[Any, Caller], api: Caller) -> None:
    _key, caller = limited
    eventually(lambda: caller.call("GET", TASKS)[0] == 429)

    assert api.call("GET", TASKS)[0] == 200


def test_processes_share_one_limit(limited: tuple[Any, Caller], web: WebProcess) -> None:
    key, caller = limited
    type(key).objects.filter(pk=key.pk).update(burst=6)
    key.refresh_from_db()
    key.save()
    eventually(lambda: status_over_http(web, caller.key or "") in (200, 429))

    began = time.monotonic()
    both = [status for _ in range(20) for status in (caller.call("GET", TASKS)[0], status_over_http(web, caller.key or ""))]

    assert both.count(200) <= 6 + (time.monotonic() - began) * 1 + 1
    assert set(both) == {200, 429}


def test_a_changed_limit_counts_within_seconds(limited: tuple[Any, Caller]) -> None:
    key, caller = limited
    eventually(lambda: caller.call("GET", TASKS)[0] == 429)

    key.requests_per_s = None
    key.burst = None
    key.save()

    eventually(lambda: all(caller.call("GET", TASKS)[0] == 200 for _ in range(10)), within_s=6)


def test_a_broker_that_is_gone_refuses_nobody_who_keeps_within_the_limit(limited: tuple[Any, Caller], stack: PrivateStack) -> None:
    _key, caller = limited
    stack.broker.stop()
    try:
        statuses = [caller.call("GET", TASKS)[0] for _ in range(6)]
    finally:
        stack.broker.start()

    assert statuses[0] == 200
    assert statuses[-1] == 429
