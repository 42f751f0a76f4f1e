"""POST explain: every check, on what is live or on a draft, at any moment."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from apps.tasks.config.documents import Attribute, Condition, Period, Release
from tests.api.conftest import Caller
from tests.stack import published
from tests.stack.waiting import eventually

RANK_30 = ((Condition(attribute="rank", operator=">=", value=30),),)


def explain(api: Caller, uid: Any, **body: Any) -> tuple[int, dict[str, Any]]:
    return api.call("POST", "/api/v1/explain", {"uid": uid, **body})


@pytest.fixture
def rank(make_task: Callable[..., Any]) -> None:
    from apps.tasks.publishing.live import live_configuration

    if "rank" not in live_configuration().attributes:
        published.publish_tasks(Attribute(name="rank", type="number"))


def only(body: dict[str, Any]) -> dict[str, Any]:
    (task,) = body["tasks"]
    return task  # type: ignore[no-any-return]


def test_a_condition_says_wanted_actual_and_where_the_value_comes_from(
    api: Caller, uid: int, rank: None, make_task: Callable[..., Any]
) -> None:
    task = make_task(conditions=RANK_30)

    status, body = explain(api, uid, attributes={"rank": 28}, tasks=[task.code])

    assert status == 200
    found = only(body)
    assert (found["code"], found["shown"], found["state"]) == (task.code, False, "unavailable")
    (failing,) = [check for check in found["checks"] if check.get("decides")]
    assert failing == {
        "check": "condition",
        "outcome": "unmet",
        "reason": "condition_unmet",
        "decides": True,
        "about": "rank",
        "operator": ">=",
        "wanted": 30,
        "actual": 28,
        "group": 1,
        "note": "caller",
    }
    assert only(explain(api, uid, attributes={"rank": 30}, tasks=[task.code])[1])["shown"]


def test_it_agrees_with_the_list_and_with_complete(api: Caller, uid: int, rank: None, make_task: Callable[..., Any]) -> None:
    task = make_task(conditions=RANK_30)

    _status, unavailable = api.tasks(uid, "?status=unavailable&reasons=values")
    (listed,) = [each for each in unavailable["tasks"] if each["code"] == task.code]
    assert [(reason["code"], reason["about"], reason["wanted"]) for reason in listed["reasons"]] == [("attribute_unknown", "rank", 30)]
    assert task.code in [each["code"] for each in api.tasks(uid, '?attributes={"rank":31}')[1]["tasks"]]
    status, problem = api.complete(uid, task.code, "e1", attributes={"rank": 29})
    assert (status, [reason["code"] for reason in problem["reasons"]]) == (409, ["condition_unmet"])
    assert api.complete(uid, task.code, "e1", attributes={"rank": 30})[0] == 200
    assert only(explain(api, uid, tasks=[task.code])[1])["state"] == "completed"


def test_time_travel_finds_the_period_of_that_moment(api: Caller, uid: int, make_task: Callable[..., Any]) -> None:
    task = make_task(period=Period(kind="daily", zone="Asia/Shanghai"), ends_at=datetime.now(timezone.utc) + timedelta(days=3))
    in_a_week = (datetime.now(timezone.utc) + timedelta(days=7)).isoformat()

    now, later = (only(explain(api, uid, tasks=[task.code], at=at)[1]) for at in (None, in_a_week))

    assert (now["shown"], later["shown"], later["zone"]) == (True, False, "Asia/Shanghai")
    assert later["period"] > now["period"]
    assert [check["reason"] for check in later["checks"] if check.get("decides")] == ["ended"]


def test_the_gray_release_shows_the_users_bucket(api: Caller, uid: int, make_task: Callable[..., Any]) -> None:
    found = only(explain(api, uid, tasks=[make_task(release=Release(percentage_bp=0)).code])[1])

    (share,) = [check for check in found["checks"] if check["check"] == "share"]
    assert (share["actual"], share["wanted"], found["percentage_bp"]) == (found["bucket"], 0, 0)


def test_all_tasks_are_explained_when_none_is_named(api: Caller, uid: int, make_task: Callable[..., Any]) -> None:
    codes = {make_task().code, make_task(switched_off=True).code}

    _status, body = explain(api, str(uid))

    assert codes <= {task["code"] for task in body["tasks"]}
    assert body["revision"] > 0


@pytest.mark.parametrize(
    ("body", "status", "pointer"),
    [
        ({"uid": 0}, 400, "#/uid"),
        ({"uid": "12a"}, 400, "#/uid"),
        ({"uid": -5}, 400, "#/uid"),
        ({"uid": 2**63}, 400, "#/uid"),
        ({"uid": 1.5}, 400, "#/uid"),
        ({}, 400, "#/uid"),
        ({"uid": 1, "at": "2026-11-30"}, 400, "#/at"),
        ({"uid": 1, "at": "9999-12-31T23:59:59Z"}, 400, "#/at"),
        ({"uid": 1, "at": "0001-01-01T00:00:00+14:00"}, 400, "#/at"),
        ({"uid": 1, "attributes": [1]}, 400, "#/attributes"),
        ({"uid": 1, "tasks": ["no-such-task"]}, 404, "#/tasks/0"),
        ({"uid": 1, "draft": 2_000_000_000}, 404, "#/draft"),
        ({"uid": 1, "draft": 2**70}, 404, "#/draft"),
        ({"uid": 1, "nonsense": 1}, 400, "#/nonsense"),
    ],
)
def test_what_is_wrong_is_pointed_at(api: Caller, body: dict[str, Any], status: int, pointer: str) -> None:
    found, problem = api.call("POST", "/api/v1/explain", body)

    assert (found, problem["pointer"]) == (status, pointer)


@pytest.mark.parametrize("query", ["attributes=", "attributes=[]", "attributes={", "attributes=%FF", "reasons=all"])
def test_a_query_that_makes_no_sense_is_pointed_at(api: Caller, query: str) -> None:
    status, problem = api.call("GET", f"/api/v1/users/42/tasks?{query}")

    assert (status, problem["pointer"]) == (400, f"query/{query.partition('=')[0]}")


def test_a_draft_is_explained_as_it_would_be_published_but_to_an_admin_key_alone(
    api: Caller, keys: dict[str, str], uid: int, make_task: Callable[..., Any]
) -> None:
    from django.contrib.auth.models import User

    from apps.tasks.publishing.drafts import open_draft, save_document

    task = make_task(points=10)
    editor, _made = User.objects.get_or_create(username="explain-editor")
    draft = open_draft(editor)
    save_document(draft, draft.edition, "task", published.task(task.code, points=77), editor)

    status, body = explain(api, uid, tasks=[task.code], draft=draft.pk)

    assert (status, only(body)["points"], body["draft"]) == (200, 77, draft.pk)
    assert only(explain(api, uid, tasks=[task.code])[1])["points"] == 10
    status, problem = explain(Caller(keys["read"]), uid, draft=draft.pk)
    assert (status, problem["code"], problem["pointer"]) == (403, "scope_missing", "#/draft")


def test_reading_needs_the_scope_read(keys: dict[str, str], uid: int) -> None:
    assert explain(Caller(keys["read"]), uid)[0] == 200
    assert explain(Caller(keys["write"]), uid)[0] == 403


def test_the_moment_of_the_attributes_is_the_callers(api: Caller, uid: int, make_task: Callable[..., Any]) -> None:
    mine = make_task(period=Period(kind="daily", zone="user", fallback_zone="UTC"))

    _status, first = api.complete(uid, mine.code, "e1", attributes={"zone": "Asia/Shanghai"})
    _status, moved = api.complete(uid, mine.code, "e2", attributes={"zone": "America/New_York"})

    assert first["task"]["completed_now"]
    assert not moved["task"]["completed_now"]  # his day in Shanghai still runs
    assert moved["task"]["period"] == first["task"]["period"]
    eventually(lambda: only(explain(api, uid, tasks=[mine.code])[1])["state"] == "completed")
