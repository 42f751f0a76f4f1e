"""POST users/{uid}/tasks/{code}/complete: once for each event id, at the event's own time."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from apps.tasks.config.documents import Period
from tests.api.conftest import Caller
from tests.stack import published
from tests.stack.waiting import eventually


def now() -> datetime:
    return datetime.now(timezone.utc)


def test_completing_gives_the_points_once(api: Caller, uid: int, make_task: Callable[..., Any]) -> None:
    task = make_task(target=3, points=50)

    status, body = api.complete(uid, task.code, "e1")

    assert status == 200
    assert (body["uid"], body["event_id"], body["applied"], body["version"], body["points"]) == (uid, "e1", True, 1, 50)
    assert body["task"] == {
        "code": task.code,
        "period": "once",
        "state": "completed",
        "progress": 3,
        "target": 3,
        "completed_now": True,
        "points": 50,
        "resets_at": None,
    }


def test_a_repeated_event_answers_its_first_result(api: Caller, uid: int, make_task: Callable[..., Any]) -> None:
    one, other = make_task(), make_task(points=7)
    _status, first = api.complete(uid, one.code, "e1")
    api.complete(uid, other.code, "e2")

    status, again = api.complete(uid, one.code, "e1")

    assert status == 200
    assert (again["applied"], again["task"]) == (False, first["task"])
    assert (again["version"], again["points"]) == (2, 17)  # the user as he is now


def test_another_event_for_a_completed_task_gives_nothing(api: Caller, uid: int, make_task: Callable[..., Any]) -> None:
    task = make_task()
    api.complete(uid, task.code, "e1")

    status, body = api.complete(uid, task.code, "e2")

    assert (status, body["points"], body["task"]["state"], body["task"]["completed_now"]) == (200, 10, "completed", False)


def test_fifty_parallel_clicks_are_one_event(keys: dict[str, str], uid: int, make_task: Callable[..., Any]) -> None:
    task = make_task()

    lost = []

    def click(number: int) -> tuple[int, Any]:
        """As a logic server does: what was not answered in time is sent again."""
        for _ in range(10):
            answer = Caller(keys["all"]).complete(uid, task.code, "click")
            if answer[0] not in (503, 504):
                break
            lost.append(number)
        return answer

    with ThreadPoolExecutor(10) as pool:
        answers = list(pool.map(click, range(50)))

    assert {status for status, _body in answers} == {200}
    applied = sum(body["applied"] for _status, body in answers)
    assert applied == 1 or (lost and not applied), "none, if it was the first answer that was lost"
    assert {body["version"] for _status, body in answers} == {1}
    assert {(body["points"], str(body["task"])) for _status, body in answers} == {(10, str(answers[0][1]["task"]))}


def test_the_same_event_id_of_two_users_is_two_events(api: Caller, uid: int, make_task: Callable[..., Any]) -> None:
    task = make_task()

    assert api.complete(uid, task.code, "e1")[1]["applied"]
    assert api.complete(uid + 10**12, task.code, "e1")[1]["applied"]


def test_an_event_id_used_for_another_task_is_a_conflict(api: Caller, uid: int, make_task: Callable[..., Any]) -> None:
    one, other = make_task(), make_task()
    api.complete(uid, one.code, "e1")

    status, problem = api.complete(uid, other.code, "e1")

    assert (status, problem["code"], problem["pointer"], problem["retryable"]) == (409, "event_id_conflict", "#/event_id", False)
    assert api.tasks(uid)[1]["points"] == 10


@pytest.mark.parametrize(
    ("fields", "reasons"),
    [
        ({"switched_off": True}, ["inactive"]),
        ({"starts_at": now() + timedelta(days=1)}, ["not_started"]),
        ({"ends_at": now() - timedelta(days=1)}, ["ended"]),
        ({"ends_at": now() - timedelta(days=1), "switched_off": True}, ["inactive", "ended"]),
    ],
)
def test_what_cannot_be_done_is_refused_with_reasons(
    api: Caller, uid: int, make_task: Callable[..., Any], fields: dict[str, Any], reasons: list[str]
) -> None:
    task = make_task(**fields)

    status, problem = api.complete(uid, task.code, "e1")

    assert (status, problem["code"], problem["retryable"]) == (409, "not_eligible", False)
    assert [reason["code"] for reason in problem["reasons"]] == reasons
    assert all(reason["text"] for reason in problem["reasons"])
    assert api.tasks(uid)[1]["version"] == 0


def test_the_event_counts_at_its_own_time(api: Caller, uid: int, make_task: Callable[..., Any]) -> None:
    task = make_task(ends_at=now() - timedelta(days=1))

    status, body = api.complete(uid, task.code, "e1", at=(now() - timedelta(days=2)).isoformat())

    assert (status, body["applied"]) == (200, True)


def test_the_window_holds_its_start_and_not_its_end(api: Caller, uid: int, make_task: Callable[..., Any]) -> None:
    start, end = (now() - timedelta(days=5)).replace(microsecond=0), (now() - timedelta(days=1)).replace(microsecond=0)
    task = make_task(starts_at=start, ends_at=end, period=Period(kind="daily"))

    assert api.complete(uid, task.code, "before", at=(start - timedelta(milliseconds=1)).isoformat())[0] == 409
    assert api.complete(uid, task.code, "start", at=start.isoformat())[0] == 200
    assert api.complete(uid, task.code, "last", at=(end - timedelta(milliseconds=1)).isoformat())[0] == 200
    assert api.complete(uid, task.code, "end", at=end.isoformat())[0] == 409


def test_a_daily_task_is_completed_anew_each_day(api: Caller, uid: int, make_task: Callable[..., Any]) -> None:
    task = make_task(period=Period(kind="daily", zone="Asia/Shanghai"))
    at = now().replace(hour=12, minute=0, second=0, microsecond=0) - timedelta(days=2)

    _status, first = api.complete(uid, task.code, "e1", at=at.isoformat())
    _status, same_day = api.complete(uid, task.code, "e2", at=(at + timedelta(hours=3)).isoformat())
    _status, next_day = api.complete(uid, task.code, "e3", at=(at + timedelta(hours=4)).isoformat())

    assert first["task"]["period"] == at.date().isoformat()
    assert datetime.fromisoformat(first["task"]["resets_at"]) == at + timedelta(hours=4)
    assert not same_day["task"]["completed_now"]
    assert next_day["task"]["period"] == (at + timedelta(days=1)).date().isoformat()
    assert (next_day["task"]["completed_now"], next_day["points"]) == (True, 20)


def test_the_offset_of_at_is_heeded(api: Caller, uid: int, make_task: Callable[..., Any]) -> None:
    task = make_task(period=Period(kind="daily"))
    day = (now() - timedelta(days=2)).date()

    _status, body = api.complete(uid, task.code, "e1", at=f"{day}T01:00:00+02:00")

    assert body["task"]["period"] == (day - timedelta(days=1)).isoformat()


def test_a_repeat_after_the_window_has_closed_still_answers_its_first_result(api: Caller, uid: int, make_task: Callable[..., Any]) -> None:
    task = make_task(period=Period(kind="daily"))
    _status, first = api.complete(uid, task.code, "e1")
    published.publish_tasks(published.task(task.code, period=Period(kind="daily"), switched_off=True))
    fresh = itertools.count()
    eventually(lambda: api.complete(uid, task.code, f"new-{next(fresh)}")[0] == 409, within_s=3)

    status, again = api.complete(uid, task.code, "e1")

    assert (status, again["applied"], again["task"]) == (200, False, first["task"])


def test_a_repeat_on_another_day_answers_the_first_day(api: Caller, uid: int, make_task: Callable[..., Any]) -> None:
    task = make_task(period=Period(kind="daily"))
    at = now() - timedelta(days=3)
    _status, first = api.complete(uid, task.code, "e1", at=at.isoformat())

    _status, again = api.complete(uid, task.code, "e1")

    assert again["task"] == first["task"]
    assert again["task"]["period"] == at.date().isoformat()


def test_a_user_beyond_2_to_the_53_is_the_very_one(api: Caller, make_task: Callable[..., Any], uid: int) -> None:
    task = make_task()
    large = 2**63 - 1 - uid

    assert api.complete(large, task.code, "e1")[1]["uid"] == str(large)
    assert api.tasks(large - 1)[1]["version"] == 0
    assert api.tasks(large)[1]["version"] == 1
