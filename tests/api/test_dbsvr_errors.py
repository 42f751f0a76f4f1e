"""What a caller is told when the DBSvr cannot answer: each error of the wire as a problem, and two of them for real."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from deploy.local.private_stack import PrivateStack
from tests.api.conftest import Caller
from workers import protocol


@pytest.mark.parametrize("error", list(protocol.ERRORS.values()), ids=list(protocol.ERRORS))
@pytest.mark.parametrize("is_write", [False, True])
def test_every_error_of_the_wire_has_its_answer(error: type[protocol.DBSvrError], is_write: bool) -> None:
    from apps.tasks.api.problems import problem_of

    problem = problem_of(error(retry_after_ms=2500), is_write)

    assert problem is not None
    expected = {
        "BADARG": (400, "bad_request"),
        "TOOBIG": (413, "too_big"),
        "OVERLOADED": (503, "overloaded"),
        "MASTERDOWN": (503, "master_down"),
        "NOTOWNER": (503, "no_owner"),
        "UNREACHABLE": (503, "unreachable"),
        "TIMEOUT": (504, "timeout"),
        "OLDRULES": (503, "not_ready"),
        "UNSEEN": (503, "not_ready"),
        "DAMAGED": (503, "not_ready"),
    }.get(error.code, (502, "dbsvr_fault"))
    assert (problem.status, problem.code) == expected
    assert problem.retryable == error.retryable
    assert problem.outcome_unknown == (error.outcome_unknown and is_write)
    assert problem.headers == ({"Retry-After": "3"} if problem.status == 503 else {})


def test_an_error_without_a_code_is_a_fault_of_the_dbsvr() -> None:
    from apps.tasks.api.problems import problem_of

    problem = problem_of(protocol.DBSvrError("what?"), is_write=True)

    assert problem is not None
    assert (problem.status, problem.code) == (502, "dbsvr_fault")


def test_a_stopped_front_is_unreachable_and_then_well_again(
    api: Caller, uid: int, stack: PrivateStack, make_task: Callable[..., Any]
) -> None:
    task = make_task()
    stack.front.kill()
    try:
        status, problem = api.complete(uid, task.code, "e1")

        assert (status, problem["retryable"], problem["outcome_unknown"]) in [(503, True, True), (504, True, True)]
        assert status == 504 or api.headers["Retry-After"]
    finally:
        stack.front.start()
        stack.wait_until_serving()

    status, body = api.complete(uid, task.code, "e1")
    assert (status, body["version"]) == (200, 1)


def test_a_frozen_front_is_a_timeout_whose_outcome_is_unknown(
    api: Caller, uid: int, stack: PrivateStack, make_task: Callable[..., Any]
) -> None:
    task = make_task()
    stack.front.freeze()
    try:
        status, problem = api.complete(uid, task.code, "e1")

        assert (status, problem["code"], problem["retryable"], problem["outcome_unknown"]) == (504, "timeout", True, True)
    finally:
        stack.front.thaw()
        stack.wait_until_serving()

    status, body = api.complete(uid, task.code, "e1")
    assert (status, body["version"], body["points"]) == (200, 1, 10)
