"""GET users/{uid}/tasks: what a user may do, and how far he is."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any

from apps.tasks.config.documents import Period
from tests.api.conftest import Caller
from tests.stack import published
from tests.stack.waiting import eventually


def of(body: dict[str, Any], code: str) -> dict[str, Any]:
    (only,) = [task for task in body["tasks"] if task["code"] == code]
    return only  # type: ignore[no-any-return]


def codes(body: dict[str, Any]) -> set[str]:
    return {task["code"] for task in body["tasks"]}


def test_an_unknown_user_has_done_nothing(api: Caller, uid: int, make_task: Callable[..., Any]) -> None:
    task = make_task(target=3, points=50, texts=published.texts("A task", "Ask them."))

    status, body = api.tasks(uid)

    assert status == 200
    assert (body["uid"], body["version"], body["points"]) == (uid, 0, 0)
    shown = of(body, task.code)
    assert (shown["state"], shown["progress"], shown["target"], shown["points"]) == ("available", 0, 3, 50)
    assert (shown["name"], shown["description"], shown["reasons"]) == ("A task", "Ask them.", [])


def test_what_he_completed_is_shown_at_once(api: Caller, uid: int, make_task: Callable[..., Any]) -> None:
    task = make_task()
    api.tasks(uid)  # a copy may now lie on a cache node

    api.complete(uid, task.code, "e1")
    status, body = api.tasks(uid)

    shown = of(body, task.code)
    assert (status, body["version"], body["points"]) == (200, 1, 10)
    assert (shown["state"], shown["progress"]) == ("completed", 1)
    completed_at = datetime.fromisoformat(shown["completed_at"])
    assert abs(datetime.now(timezone.utc) - completed_at) < timedelta(minutes=1)


def test_progress_made_elsewhere_is_in_progress(api: Caller, uid: int, make_task: Callable[..., Any]) -> None:
    from apps.cachesync.task_interface import task_interface
    from workers.protocol import Change

    task = make_task(target=3)
    task_interface().finish(uid, "e1", [Change(task=task.id, period="once", op="add", value=2, target=3, points=10)])

    _status, body = api.tasks(uid)

    assert (of(body, task.code)["state"], of(body, task.code)["progress"]) == ("in_progress", 2)


def test_a_daily_task_says_when_it_resets(api: Caller, uid: int, make_task: Callable[..., Any]) -> None:
    task = make_task(period=Period(kind="daily", zone="Asia/Shanghai"))

    _status, body = api.tasks(uid)

    resets_at = datetime.fromisoformat(of(body, task.code)["resets_at"])
    assert (resets_at.hour, resets_at.minute) == (16, 0)
    assert timedelta(0) < resets_at - datetime.now(timezone.utc) <= timedelta(days=1)


def test_what_cannot_be_done_is_listed_only_when_asked_for(api: Caller, uid: int, make_task: Callable[..., Any]) -> None:
    now = datetime.now(timezone.utc)
    off, ended = make_task(switched_off=True), make_task(ends_at=now - timedelta(days=1))
    upcoming = make_task(starts_at=now + timedelta(days=1))

    _status, usual = api.tasks(uid)
    _status, asked = api.tasks(uid, "?status=unavailable")

    assert not {off.code, ended.code, upcoming.code} & codes(usual)
    for task, reason in ((off, "inactive"), (ended, "ended"), (upcoming, "not_started")):
        assert [found["code"] for found in of(asked, task.code)["reasons"]] == [reason]


def test_states_can_be_chosen(api: Caller, uid: int, make_task: Callable[..., Any]) -> None:
    done, undone = make_task(), make_task()
    api.complete(uid, done.code, "e1")

    assert codes(api.tasks(uid, "?status=completed")[1]) == {done.code}
    chosen = codes(api.tasks(uid, "?status=available,in_progress")[1])
    assert undone.code in chosen
    assert done.code not in chosen


def test_reasons_speak_the_language_asked_for(api: Caller, uid: int, make_task: Callable[..., Any]) -> None:
    task = make_task(switched_off=True)

    english = of(api.tasks(uid, "?status=unavailable&lang=en")[1], task.code)["reasons"][0]["text"]
    chinese = of(api.tasks(uid, "?status=unavailable&lang=zh-hans")[1], task.code)["reasons"][0]["text"]

    assert english == "The task is switched off."
    assert chinese == "任务已停用。"


def test_a_uid_of_2_to_the_53_or_more_is_text(api: Caller) -> None:
    assert api.tasks(2**53 - 1)[1]["uid"] == 2**53 - 1
    assert api.tasks(2**53)[1]["uid"] == str(2**53)
    assert api.tasks(2**63 - 1025)[1]["uid"] == str(2**63 - 1025)


def test_leading_zeros_name_the_same_user(api: Caller, uid: int) -> None:
    assert api.tasks(f"000{uid}")[1]["uid"] == uid


def test_a_publication_is_seen_within_two_seconds(api: Caller, uid: int, make_task: Callable[..., Any]) -> None:
    task = make_task()
    published.publish_tasks(published.task(task.code, texts=published.texts("Another name")))

    eventually(lambda: of(api.tasks(uid)[1], task.code)["name"] == "Another name", within_s=2)


def test_an_archived_task_is_gone_within_two_seconds(api: Caller, uid: int, make_task: Callable[..., Any]) -> None:
    task = make_task()
    published.publish_tasks(published.task(task.code, archived=True))

    eventually(lambda: task.code not in codes(api.tasks(uid)[1]), within_s=2)
    assert api.complete(uid, task.code, "e1")[0] == 404


def test_answers_are_not_to_be_stored_on_the_way(api: Caller, uid: int) -> None:
    api.tasks(uid)

    assert api.headers["Cache-Control"] == "no-store"
