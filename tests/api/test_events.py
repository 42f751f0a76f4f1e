"""POST users/{uid}/events: one event, told to every task that listens, once for each event id."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from django.db import OperationalError

from apps.tasks.config.documents import Attribute, Caps, Claim, Condition, EventType, Feed, Period, Task
from tests.api.conftest import Caller
from tests.stack import published
from tests.stack.waiting import eventually
from workers.protocol import Change

_names = itertools.count()

Publish = Callable[..., list[Task]]


def now() -> datetime:
    return datetime.now(timezone.utc)


@pytest.fixture
def event_type(uid: int) -> str:
    return f"match-{uid}-{next(_names)}"


@pytest.fixture
def publish(django_on_stack: Any, event_type: str) -> Publish:
    """Tasks that count this test's event, live; each given as the fields that it is about."""

    def make(*fields: dict[str, Any]) -> list[Task]:
        from apps.tasks.live_bundle import live

        feed = Feed(event=event_type)
        made = [published.task(**{"target": 3, "kind": "counter", "feeds": (feed,), **each}) for each in fields]
        registered = EventType(name=event_type, attributes={"mode": "text", "rival": "text"})
        published.publish_tasks(registered, *made)
        eventually(lambda: made[-1].code in live().bundle.by_code)
        return made

    return make


@pytest.fixture
def tell(api: Caller, uid: int, event_type: str) -> Callable[..., tuple[int, dict[str, Any]]]:
    def send(event_id: str, **more: Any) -> tuple[int, dict[str, Any]]:
        return api.call("POST", f"/api/v1/users/{more.pop('user', uid)}/events", {"event_id": event_id, "type": event_type, **more})

    return send


Tell = Callable[..., tuple[int, dict[str, Any]]]


def test_an_event_counts_for_every_task_that_listens(publish: Publish, tell: Tell, uid: int) -> None:
    one, other, _off = publish({"target": 2}, {"target": 1, "kind": "single", "points": 50}, {"switched_off": True})

    status, body = tell("e1")

    assert status == 200
    assert (body["uid"], body["event_id"], body["applied"], body["version"], body["points"]) == (uid, "e1", True, 1, 50)
    assert sorted(body["tasks"], key=lambda task: str(task["progress"] == task["target"])) == [
        {
            "code": code,
            "period": "once",
            "state": state,
            "progress": 1,
            "target": target,
            "completed_now": state == "completed",
            "points": points,
            "resets_at": None,
            "claimed_now": False,
            "reasons": [],
        }
        for code, state, target, points in ((one.code, "in_progress", 2, 0), (other.code, "completed", 1, 50))
    ]
    assert [(each["code"], each["reasons"][0]["code"]) for each in body["not_counted"]] == [(_off.code, "inactive")]


def test_the_filter_looks_at_the_events_own_attributes(publish: Publish, tell: Tell, event_type: str) -> None:
    ranked = Condition(attribute="mode", operator="=", value="ranked")
    publish({"feeds": (Feed(event=event_type, where=(ranked,)),)})

    assert tell("e1", attributes={"mode": "casual"})[1]["tasks"] == []
    assert tell("e2", attributes={"mode": "ranked"})[1]["tasks"][0]["progress"] == 1


def test_conditions_look_at_the_user_not_at_the_event(publish: Publish, tell: Tell, uid: int) -> None:
    level = f"level_{uid}"
    published.publish_tasks(Attribute(name=level, type="number", source="request"))
    publish({"conditions": ((Condition(attribute=level, operator=">=", value=30),),)})

    assert tell("e1", attributes={level: 30})[1]["not_counted"][0]["reasons"][0]["code"] == "attribute_unknown"
    assert tell("e2", profile={level: 29})[1]["not_counted"][0]["reasons"][0]["code"] == "condition_unmet"
    assert tell("e3", profile={level: 30})[1]["tasks"][0]["progress"] == 1


def test_an_event_that_feeds_nothing_is_not_written(publish: Publish, tell: Tell) -> None:
    publish({"ends_at": now() - timedelta(days=1)})

    status, body = tell("e1")

    assert (status, body["applied"], body["version"], body["tasks"]) == (200, False, 0, [])
    assert body["not_counted"][0]["reasons"][0] == {"code": "ended", "text": "The task has ended."}


def test_fifty_identical_events_in_parallel_count_once_with_fifty_equal_answers(
    keys: dict[str, str], publish: Publish, event_type: str, uid: int
) -> None:
    publish({"target": 1, "kind": "single"}, {"target": 3})
    body = {"event_id": "e1", "type": event_type}

    with ThreadPoolExecutor(10) as pool:
        answers = list(pool.map(lambda _n: Caller(keys["all"]).call("POST", f"/api/v1/users/{uid}/events", body), range(50)))

    assert {status for status, _body in answers} == {200}
    assert sum(body["applied"] for _status, body in answers) == 1
    assert {(body["version"], body["points"], str(body["tasks"])) for _status, body in answers} == {(1, 10, str(answers[0][1]["tasks"]))}


def test_a_repeat_is_answered_with_its_first_result_when_the_task_is_no_longer_open(publish: Publish, tell: Tell, event_type: str) -> None:
    (task,) = publish({"target": 1, "kind": "single"})
    _status, first = tell("e1")
    published.publish_tasks(published.task(task.code, kind="single", feeds=(Feed(event=event_type),), switched_off=True))
    fresh = itertools.count()
    eventually(lambda: tell(f"new-{next(fresh)}")[1]["not_counted"][0]["reasons"][0]["code"] == "inactive", within_s=3)

    status, again = tell("e1")

    assert (status, again["applied"], again["tasks"]) == (200, False, first["tasks"])


def test_an_event_exactly_at_the_start_counts_and_one_exactly_at_the_end_does_not(publish: Publish, tell: Tell) -> None:
    start, end = (now() - timedelta(hours=5)).replace(microsecond=0), (now() - timedelta(hours=1)).replace(microsecond=0)
    publish({"starts_at": start, "ends_at": end, "target": 9})
    instant = timedelta(microseconds=1)

    def counted(event_id: str, at: datetime) -> bool:
        return bool(tell(event_id, at=at.isoformat())[1]["tasks"])

    assert not counted("before", start - instant)
    assert counted("start", start)
    assert counted("last", end - instant)
    assert not counted("end", end)


def test_an_event_that_comes_too_late_says_so(publish: Publish, tell: Tell) -> None:
    publish({"late_window_s": 600})

    _status, body = tell("e1", at=(now() - timedelta(seconds=660)).isoformat())

    assert body["not_counted"][0]["reasons"][0]["code"] == "too_late"


def test_different_values_are_counted_once_each(publish: Publish, tell: Tell) -> None:
    publish({"mode": "distinct", "distinct_by": "rival", "target": 5})

    seen = [
        tell(f"e{place}", attributes={"rival": rival})[1]["tasks"][0]["progress"]
        for place, rival in enumerate(["anna", "ben", "anna", "cai"])
    ]

    assert seen == [1, 2, 2, 3]
    assert tell("none")[1]["not_counted"][0]["reasons"][0]["code"] == "member_missing"


def test_a_cap_of_three_completes_three_users_and_the_others_keep_their_progress(publish: Publish, tell: Tell, uid: int) -> None:
    publish({"target": 1, "kind": "single", "caps": Caps(total=3)})

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda n: tell("e1", user=uid + 10**14 + n)[1]["tasks"][0], range(12)))

    assert sum(each["completed_now"] for each in answers) == 3
    capped = [each for each in answers if not each["completed_now"]]
    assert {(each["state"], each["progress"], each["points"], each["reasons"][0]["code"]) for each in capped} == {
        ("in_progress", 1, 0, "cap_reached")
    }


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"type": "match"}, "#/event_id"),
        ({"event_id": "", "type": "match"}, "#/event_id"),
        ({"event_id": "e"}, "#/type"),
        ({"event_id": "e", "type": "no-such-type"}, "#/type"),
        ({"event_id": "e", "type": "match", "value": -1}, "#/value"),
        ({"event_id": "e", "type": "match", "value": 2**53}, "#/value"),
        ({"event_id": "e", "type": "match", "value": 1.5}, "#/value"),
        ({"event_id": "e", "type": "match", "at": "2026-11-30"}, "#/at"),
        ({"event_id": "e", "type": "match", "at": "2999-11-30T00:00:00Z"}, "#/at"),
        ({"event_id": "e", "type": "match", "at": "2001-11-30T00:00:00Z"}, "#/at"),
        ({"event_id": "e", "type": "match", "attributes": []}, "#/attributes"),
        ({"event_id": "e", "type": "match", "more": 1}, "#/more"),
        ([], "#"),
        ("{", "#"),
    ],
)
def test_what_is_wrong_is_pointed_at(publish: Publish, api: Caller, uid: int, body: Any, pointer: str) -> None:
    publish({})

    status, problem = api.call("POST", f"/api/v1/users/{uid}/events", body)

    assert (status, problem["code"], problem["pointer"]) == (400, "bad_request", pointer)
    assert api.tasks(uid)[1]["version"] == 0


# -- a publication that others have heard of first


def test_an_event_of_a_user_who_has_met_newer_rules_waits_for_them(
    publish: Publish, tell: Tell, api: Caller, uid: int, event_type: str
) -> None:
    (task,) = publish({"target": 5})
    _write_by_newer_rules(task, uid)
    with ThreadPoolExecutor(2) as pool:
        one = pool.submit(tell, "e1")
        item = {"uid": uid, "event_id": "e2", "type": event_type}
        other = pool.submit(Caller(api.key).call, "POST", "/api/v1/events:batch", {"items": [item]})
        published.publish_tasks(published.task(task.code, kind="counter", target=6, feeds=task.feeds))

        assert one.result()[0] == 200
        assert other.result()[1]["items"][0]["result"]["applied"]

    assert next(each for each in api.tasks(uid)[1]["tasks"] if each["code"] == task.code)["progress"] == 3


def test_rules_that_do_not_come_in_time_are_told_as_not_ready_and_nothing_is_done(publish: Publish, tell: Tell, uid: int) -> None:
    (task,) = publish({"target": 5})
    _write_by_newer_rules(task, uid, ahead=1000)

    status, problem = tell("e1")

    assert (status, problem["code"], problem["retryable"], problem["outcome_unknown"]) == (503, "not_ready", True, False)


def _write_by_newer_rules(task: Task, uid: int, ahead: int = 1) -> None:
    """As another logic node does, which knows a revision that is not here yet."""
    from apps.cachesync.task_interface import task_interface
    from apps.tasks.live_bundle import live

    number, revision = published.number_of(task.code), live().revision + ahead
    task_interface().finish(uid, "other", [Change(task=number, period="once", op="add", value=1, target=5, revision=revision)])


@pytest.mark.long
def test_a_publication_under_load_loses_no_event_and_counts_none_twice(
    keys: dict[str, str], publish: Publish, api: Caller, uid: int, event_type: str
) -> None:
    (task,) = publish({"target": 1_000})
    body, targets = {"type": event_type}, itertools.count(1_001)

    def send(n: int) -> int:
        if n % 50 == 25:
            published.publish_tasks(published.task(task.code, kind="counter", target=next(targets), feeds=task.feeds))
        path = f"/api/v1/users/{uid + 10**14 + n % 7}/events"
        return Caller(keys["all"]).call("POST", path, {"event_id": f"e{n // 2}-{n % 7}", **body})[0]

    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(send, [n for n in range(210) for _twice in range(2)]))

    told = {(n % 7, f"e{n // 2}-{n % 7}") for n in range(210)}
    progress = [api.tasks(uid + 10**14 + n, "?status=in_progress")[1]["tasks"][0]["progress"] for n in range(7)]
    assert set(answers) == {200}
    assert progress == [sum(user == n for user, _event in told) for n in range(7)]


# -- the steps of one task


@pytest.fixture
def step(api: Caller, uid: int) -> Callable[..., tuple[int, dict[str, Any]]]:
    def take(name: str, code: str, event_id: str, **more: Any) -> tuple[int, dict[str, Any]]:
        return api.call("POST", f"/api/v1/users/{uid}/tasks/{code}/{name}", {"event_id": event_id, **more})

    return take


def test_nothing_counts_before_a_task_is_accepted(publish: Publish, tell: Tell, step: Tell) -> None:
    (task,) = publish({"claim": Claim(mode="accept_first")})

    assert tell("early")[1]["not_counted"][0]["reasons"][0]["code"] == "not_accepted"
    status, body = step("accept", task.code, "a1")
    assert (status, body["applied"], body["task"]["progress"], body["task"]["state"]) == (200, True, 0, "in_progress")
    assert tell("e1")[1]["tasks"][0]["progress"] == 1
    assert step("accept", task.code, "a1")[1]["task"] == body["task"]


def test_a_claim_clicked_fifty_times_grants_once(
    keys: dict[str, str], publish: Publish, tell: Tell, step: Tell, uid: int, api: Caller
) -> None:
    (task,) = publish({"target": 1, "kind": "single", "points": 50, "claim": Claim(mode="by_claim")})
    path = f"/api/v1/users/{uid}/tasks/{task.code}/claim"
    assert step("claim", task.code, "early")[1]["reasons"][0]["code"] == "not_completed"
    assert (tell("e1")[1]["points"], api.tasks(uid, "?status=claimable")[1]["tasks"][0]["code"]) == (0, task.code)

    with ThreadPoolExecutor(10) as pool:
        answers = list(pool.map(lambda n: Caller(keys["all"]).call("POST", path, {"event_id": f"click-{n // 2}"}), range(50)))

    granted = [body for status, body in answers if status == 200]
    assert {(str(body["task"]), body["points"]) for body in granted} == {(str(granted[0]["task"]), 50)}
    assert (granted[0]["task"]["claimed_now"], granted[0]["task"]["points"], granted[0]["task"]["state"]) == (True, 50, "claimed")
    assert len({body["event_id"] for body in granted}) == 1
    assert sum(body["applied"] for body in granted) == 1
    assert {problem["reasons"][0]["code"] for status, problem in answers if status == 409} == {"already_claimed"}
    assert api.tasks(uid)[1]["points"] == 50


def test_yesterdays_reward_is_claimed_by_its_period(publish: Publish, tell: Tell, step: Tell, api: Caller, uid: int) -> None:
    daily, at = Period(kind="daily"), now() - timedelta(days=1)
    (task,) = publish({"target": 1, "kind": "single", "period": daily, "claim": Claim(mode="by_claim", grace_s=2 * 86_400)})
    tell("e1", at=(at + timedelta(minutes=5)).isoformat())
    (waiting,) = api.tasks(uid, "?status=claimable")[1]["tasks"][0]["still_claimable"]

    assert step("claim", task.code, "c1")[0] == 409
    status, body = step("claim", task.code, "c2", period=waiting["period"])

    assert (status, body["task"]["claimed_now"], body["task"]["period"], body["points"]) == (200, True, waiting["period"], 10)
    assert step("claim", task.code, "c3", period="no period!")[1]["pointer"] == "#/period"


def test_a_refund_takes_progress_back_and_points_where_the_task_says_so(publish: Publish, tell: Tell, step: Tell) -> None:
    stays, goes = publish({"target": 2}, {"target": 2, "revert_takes_back": True, "points": 7})
    assert (tell("e1", value=2)[1]["points"], step("revert", stays.code, "nothing-yet", at=None)[0]) == (17, 200)

    _status, kept = step("revert", stays.code, "r1")
    _status, taken = step("revert", goes.code, "r2")

    assert (kept["task"]["progress"], kept["task"]["state"], kept["task"]["points"]) == (0, "completed", 0)
    assert (taken["task"]["progress"], taken["task"]["state"], taken["task"]["points"], taken["points"]) == (1, "in_progress", -7, 10)
    assert step("revert", goes.code, "r2")[1]["task"] == taken["task"]


def test_what_may_have_been_swept_is_not_taken_back_and_so_never_earned_twice(publish: Publish, tell: Tell, step: Tell) -> None:
    """The task began to take points back after its grants had been swept."""
    from apps.tasks.models import SweptTask

    (task,) = publish({"target": 1, "kind": "single", "revert_takes_back": True, "points": 7})
    assert tell("e1")[1]["points"] == 7
    swept = SweptTask.objects.create(task=published.number_of(task.code), gone_before=now().date() + timedelta(days=1))

    _status, kept = step("revert", task.code, "r1")
    assert (kept["task"]["progress"], kept["task"]["state"], kept["points"]) == (0, "completed", 7)
    assert tell("e2")[1]["points"] == 7

    swept.delete()
    assert step("revert", task.code, "r2")[1]["points"] == 0


def test_completing_what_has_nothing_left_to_give_is_refused(publish: Publish, api: Caller, uid: int) -> None:
    (task,) = publish({"caps": Caps(points_budget=15), "target": 1, "kind": "single"})

    assert api.complete(uid, task.code, "e1")[0] == 200
    for event_id in ("e1", "e1"):
        status, problem = api.complete(uid + 10**14, task.code, event_id)
        assert (status, problem["code"], problem["reasons"][0]["code"]) == (409, "not_eligible", "cap_reached")
    assert api.tasks(uid + 10**14)[1]["points"] == 0
    eventually(lambda: caps_left(api, uid, task.code) == {"per_user": None, "total": None, "per_period": None, "points_budget": 5})


def caps_left(api: Caller, uid: int, code: str) -> Any:
    return api.call("POST", "/api/v1/explain", {"uid": uid, "tasks": [code]})[1]["tasks"][0]["caps_left"]


def test_an_unknown_task_is_a_404_for_every_step(step: Tell, publish: Publish) -> None:
    publish({})
    for name in ("complete", "accept", "claim", "revert"):
        status, problem = step(name, "no-such-task", "e1")
        assert (status, problem["code"], problem["pointer"]) == (404, "unknown_task", "path/code")


# -- what to show, and batches


def test_prompts_are_few_and_the_nearly_complete_come_first(publish: Publish, tell: Tell, api: Caller, uid: int) -> None:
    heavy, near = publish({"target": 9, "weight": 2_000_000_000, "feeds": ()}, {"target": 2, "weight": 1_999_999_999})
    tell("e1")

    _status, body = api.call("GET", f"/api/v1/users/{uid}/prompts?limit=2")

    assert [task["code"] for task in body["tasks"]] == [near.code, heavy.code]
    assert len(api.call("GET", f"/api/v1/users/{uid}/prompts")[1]["tasks"]) == 3
    for limit in ("0", "51", "x", ""):
        assert api.call("GET", f"/api/v1/users/{uid}/prompts?limit={limit}")[1]["pointer"] == "query/limit"


def test_each_item_of_a_batch_has_its_own_result(publish: Publish, api: Caller, uid: int, event_type: str) -> None:
    publish({"target": 5})
    good = {"uid": uid, "event_id": "e1", "type": event_type}
    items = [
        good,
        {**good, "uid": 0},
        {**good, "event_id": "e2", "value": 2},
        {**good, "event_id": "bad id"},
        good,
        {**good, "uid": uid + 1, "type": "no-such-type"},
        {**good, "uid": str(uid + 2), "at": "2999-01-01T00:00:00Z"},
        {**good, "uid": uid + 10**14},
    ]

    status, body = api.call("POST", "/api/v1/events:batch", {"items": items})

    assert status == 200
    found = body["items"]
    assert [(place, it["problem"]["code"], it["problem"]["pointer"]) for place, it in enumerate(found) if "problem" in it] == [
        (1, "bad_request", "#/items/1/uid"),
        (3, "bad_request", "#/items/3/event_id"),
        (5, "bad_request", "#/items/5/type"),
        (6, "bad_request", "#/items/6/at"),
    ]
    results = {place: it["result"] for place, it in enumerate(found) if "result" in it}
    assert {place: (it["uid"], it["applied"], it["tasks"][0]["progress"]) for place, it in results.items()} == {
        0: (uid, True, 1),
        2: (uid, True, 3),
        4: (uid, False, 1),
        7: (uid + 10**14, True, 1),
    }
    assert api.tasks(uid)[1]["version"] == 2


def test_what_feeds_something_is_done_also_when_nobody_can_say_which_events_were_here_before(
    publish: Publish, api: Caller, uid: int, event_type: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from apps.tasks.services import batches

    def refuse(asked: object) -> set[tuple[int, str]]:
        raise OperationalError("the database is away")

    publish({"mode": "distinct", "distinct_by": "rival"})
    good = {"uid": uid, "event_id": "e1", "type": event_type, "attributes": {"rival": "anna"}}
    monkeypatch.setattr(batches, "known_events", refuse)

    found = api.call("POST", "/api/v1/events:batch", {"items": [good, {**good, "event_id": "e2", "attributes": {}}]})[1]["items"]

    assert found[0]["result"]["applied"]
    assert (found[1]["problem"]["code"], found[1]["problem"]["retryable"], found[1]["problem"]["outcome_unknown"]) == (
        "master_down",
        True,
        False,
    )


def test_a_batch_of_five_hundred_users_is_one_call(publish: Publish, api: Caller, uid: int, event_type: str) -> None:
    (task,) = publish({"target": 1, "kind": "single"})
    first_uid = uid + 10**15
    items = [{"uid": first_uid + n, "event_id": "e1", "type": event_type} for n in range(500)]

    first = api.call("POST", "/api/v1/events:batch", {"items": items})[1]["items"]
    again = api.call("POST", "/api/v1/events:batch", {"items": items})[1]["items"]
    users = api.call("POST", "/api/v1/users:batchGet?status=completed", {"items": [{"uid": first_uid + n} for n in range(500)]})[1]["items"]

    assert [it["result"]["tasks"] for it in first] == [it["result"]["tasks"] for it in again]
    assert ({it["result"]["applied"] for it in first}, {it["result"]["applied"] for it in again}) == ({True}, {False})
    assert [(it["result"]["uid"], it["result"]["points"]) for it in users] == [(first_uid + n, 10) for n in range(500)]
    assert {tuple(each["code"] for each in it["result"]["tasks"]) for it in users} == {(task.code,)}


def test_too_many_items_and_what_is_none_are_refused_as_a_whole(api: Caller, uid: int, event_type: str) -> None:
    for path in ("/api/v1/events:batch", "/api/v1/users:batchGet"):
        item = {"uid": uid, "event_id": "e", "type": event_type} if "events" in path else {"uid": uid}
        assert api.call("POST", path, {"items": [item] * 501})[1]["pointer"] == "#/items"
        assert api.call("POST", path, {"items": [item, {**item, "uid": []}]})[1]["pointer"] == "#/items/1/uid"
        assert api.call("POST", path, {"items": [item, {**item, "more": 1}]})[1]["pointer"] == "#/items/1/more"
        assert api.call("POST", path, {"items": [{**item, "attributes": {"x": "y" * 1024**2}}]})[0] == 413
    assert api.call("POST", "/api/v1/events:batch", {"items": [{"uid": uid, "type": "x"}]})[1]["pointer"] == "#/items/0/event_id"


def test_a_user_of_a_batch_who_is_none_has_a_problem_of_his_own(api: Caller, uid: int) -> None:
    nobody = [-1, 0, 2**63 - 1, 2**63, f"{uid} ", "-1"]  # the last uids are the canary's
    _status, body = api.call("POST", "/api/v1/users:batchGet", {"items": [{"uid": each} for each in (uid, *nobody, str(uid))]})

    first, *problems, last = body["items"]
    assert first["result"]["version"] == 0
    assert last == first
    assert [(it["problem"]["code"], it["problem"]["pointer"]) for it in problems] == [
        ("bad_request", f"#/items/{place}/uid") for place in range(1, 1 + len(nobody))
    ]
