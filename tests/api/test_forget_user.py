"""DELETE users/{uid}: progress and points go, the version goes on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.api.conftest import Caller


def test_a_forgotten_user_has_done_nothing(api: Caller, uid: int, make_task: Callable[..., Any]) -> None:
    task = make_task()
    api.complete(uid, task.code, "e1")

    status, body = api.forget(uid, "erase")

    assert (status, body["uid"], body["event_id"], body["applied"], body["version"]) == (200, uid, "erase", True, 2)
    _status, after = api.tasks(uid)
    assert (after["points"], after["version"]) == (0, 2)
    assert {shown["state"] for shown in after["tasks"]} <= {"available"}


def test_an_old_event_cannot_bring_his_points_back(api: Caller, uid: int, make_task: Callable[..., Any]) -> None:
    task = make_task()
    api.complete(uid, task.code, "e1")
    api.forget(uid, "erase")

    _status, again = api.complete(uid, task.code, "e1")

    assert (again["applied"], again["points"]) == (False, 0)


def test_erasing_again_with_the_same_event_id_erases_nothing_new(api: Caller, uid: int, make_task: Callable[..., Any]) -> None:
    task = make_task()
    api.forget(uid, "erase")
    api.complete(uid, task.code, "e1")

    status, body = api.forget(uid, "erase")

    assert (status, body["applied"]) == (200, False)
    assert api.tasks(uid)[1]["points"] == 10


def test_the_event_id_may_stand_in_the_query_or_be_left_out(api: Caller, uid: int) -> None:
    status, body = api.call("DELETE", f"/api/v1/users/{uid}?event_id=erase-1")
    assert (status, body["event_id"]) == (200, "erase-1")

    status, made = api.forget(uid)
    assert status == 200
    assert made["applied"]
    assert made["event_id"] not in ("", "erase-1")


def test_two_event_ids_that_differ_are_refused(api: Caller, uid: int) -> None:
    status, problem = api.call("DELETE", f"/api/v1/users/{uid}?event_id=a", headers={"Idempotency-Key": "b"})

    assert (status, problem["pointer"]) == (400, "header/Idempotency-Key")
