"""Drafts by the API: the same checks, the same approval by a person, the same conflicts as on the pages."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from typing import Any

import msgspec
import pytest

from apps.tasks.config.documents import Task, to_plain
from tests.api.conftest import Caller
from tests.stack.operators import operator
from tests.stack.published import publish_tasks, task

DRAFTS = "/api/v1/config/drafts"


def live_number() -> int:
    from apps.tasks.publishing.live import live_number

    return live_number()


def live(code: str) -> Task:
    from apps.tasks.publishing.live import live_configuration

    return live_configuration().tasks[code]


def send(api: Caller, *tasks: Task | dict[str, Any], base: int | None = None, more: str = "") -> tuple[int, dict[str, Any]]:
    """Import them into a draft."""
    base = live_number() if base is None else base
    body = {"schema": 1, "tasks": [each if isinstance(each, dict) else to_plain(each) for each in tasks]}
    answer = api.client.post(
        f"{DRAFTS}?base_revision={base}{more}",
        json.dumps(body),
        content_type="application/json",
        headers={"Authorization": f"Api-Key {api.key}"},
    )
    return answer.status_code, json.loads(answer.content)


def post(api: Caller, draft: dict[str, Any], step: str, **body: Any) -> tuple[int, dict[str, Any]]:
    answer = api.client.post(
        f"{DRAFTS}/{draft['draft']}/{step}",
        json.dumps({"edition": draft["edition"], **body}),
        content_type="application/json",
        headers={"Authorization": f"Api-Key {api.key}"},
    )
    return answer.status_code, json.loads(answer.content)


def approved(api: Caller, *tasks: Task, base: int | None = None) -> dict[str, Any]:
    """A draft that a program has made and a person has approved."""
    from apps.tasks.models import Draft
    from apps.tasks.publishing import review

    status, draft = send(api, *tasks, base=base)
    assert status == 201, draft
    status, asked = post(api, draft, "ask")
    assert (status, asked["state"]) == (200, "in_review")
    review.approve(Draft.objects.get(pk=draft["draft"]), draft["edition"], operator("reviewer"))
    return draft


def test_a_program_writes_a_person_approves_a_program_publishes(api: Caller) -> None:
    from apps.tasks.models import AuditEntry, Revision

    one = task()
    status, draft = send(api, one, more="&title=from+the+planning+sheet")
    assert (status, draft["state"], draft["faults"], draft["conflicts"]) == (201, "editing", [], [])
    assert any(one.code in sentence for sentence in draft["changes"])

    status, problem = post(api, draft, "publish", reason="a reason")
    assert (status, problem["code"], problem["cause"]) == (409, "draft_refused", "not_approved")

    draft = approved(api, one)
    status, published = post(api, draft, "publish", reason="a reason")

    revision = Revision.objects.get(pk=published["revision"])
    assert (status, published["etag"], revision.origin, revision.published_by) == (200, revision.etag, "api", "key:test all")
    assert live(one.code) == one
    assert AuditEntry.objects.filter(action="import", key=one.code, who="key:test all", draft=draft["draft"]).count() == 1


def test_what_is_exported_is_imported_without_a_change(api: Caller) -> None:
    publish_tasks(task())
    answer = api.client.get("/api/v1/config/documents", headers={"Authorization": f"Api-Key {api.key}"})

    again = api.client.post(
        f"{DRAFTS}?base_revision={answer['Config-Revision']}&dry_run=true",
        answer.content,
        content_type="application/json",
        headers={"Authorization": f"Api-Key {api.key}"},
    )

    body = json.loads(again.content)
    assert (again.status_code, body["changes"], body["conflicts"]) == (200, [], [])


def test_a_dry_run_says_all_and_keeps_nothing(api: Caller) -> None:
    from apps.tasks.models import AuditEntry, Draft

    before = Draft.objects.count(), AuditEntry.objects.count()

    status, draft = send(api, task(), more="&dry_run=true")

    assert (status, draft["draft"], len(draft["changes"])) == (200, None, 1)
    assert (Draft.objects.count(), AuditEntry.objects.count()) == before


def test_two_programs_from_one_base_the_second_sees_the_conflict_and_nothing_is_lost(api: Caller) -> None:
    one = task(points=10, weight=1)
    base = publish_tasks(one).number
    first = approved(api, msgspec.structs.replace(one, points=20), base=base)
    second = approved(api, msgspec.structs.replace(one, points=30, weight=2), base=base)
    assert post(api, first, "publish", reason="first")[0] == 200

    status, problem = post(api, second, "publish", reason="second")

    assert (status, problem["code"], problem["retryable"]) == (409, "conflict", False)
    (conflict,) = problem["conflicts"]
    assert (conflict["key"], conflict["path"], conflict["base"], conflict["mine"], conflict["theirs"]) == (one.code, ["points"], 10, 30, 20)
    assert (conflict["revision"], conflict["by"]) == (base + 1, "key:test all")
    assert live(one.code).points == 20

    where = {"kind": "task", "key": one.code, "path": ["points"], "take": "theirs", "seen": base + 1}
    status, resolved = post(api, second, "resolve", **where)
    assert (status, resolved["conflicts"], resolved["state"], resolved["edition"]) == (200, [], "editing", second["edition"] + 1)


def test_documents_made_from_an_old_revision_conflict_when_they_are_imported(api: Caller) -> None:
    one = task(points=10)
    base = publish_tasks(one).number
    publish_tasks(msgspec.structs.replace(one, points=20))

    _status, draft = send(api, msgspec.structs.replace(one, points=30), base=base)

    assert [conflict["theirs"] for conflict in draft["conflicts"]] == [20]


def test_a_schedule_by_the_api_is_answered_with_the_draft(api: Caller) -> None:
    from apps.tasks.publishing import publish

    one = task(points=10)
    base = publish_tasks(one).number
    at = (datetime.now(timezone.utc) + timedelta(hours=1)).isoformat()
    draft = approved(api, msgspec.structs.replace(one, points=20), base=base)

    status, answer = post(api, draft, "publish", reason="later", at=at)

    assert (status, answer["state"], datetime.fromisoformat(answer["publish_at"])) == (202, "scheduled", datetime.fromisoformat(at))
    publish.fire_due(datetime.now(timezone.utc) + timedelta(hours=2))
    assert live(one.code).points == 20
    late = approved(api, task())
    status, problem = post(api, late, "publish", reason="late", at="2020-01-01T00:00:00Z")
    assert (status, problem["cause"]) == (409, "too_late")


@pytest.mark.parametrize(
    ("wrong", "place", "code"),
    [
        ({"ends_at": "2000-01-01T00:00:00Z"}, "ends_at", "ends_before_start"),
        ({"caps": {"total": 0}}, "caps/total", None),
        ({"period": {"kind": "daily", "zone": "Mars/Olympus"}}, "period/zone", "zone_unknown"),
        ({"prerequisites": [{"task": "no-such-task"}]}, "prerequisites/0/task", "prerequisite_unknown"),
    ],
)
def test_what_is_wrong_is_told_with_its_place_and_never_asked_a_review_for(
    api: Caller, wrong: dict[str, Any], place: str, code: str | None
) -> None:
    one = task()
    pointer = f"/tasks/{one.code}/{place}"

    status, draft = send(api, {**to_plain(one), **wrong})
    faults = {fault["pointer"]: fault for fault in draft["faults"]}
    assert status == 201
    assert faults[pointer]["level"] == "fault"
    assert faults[pointer]["text"]
    assert code in (None, faults[pointer]["code"])

    status, problem = post(api, draft, "ask")
    assert (status, problem["code"]) == (422, "invalid_configuration")
    assert pointer in [fault["pointer"] for fault in problem["faults"]]


def test_a_cycle_is_told(api: Caller) -> None:
    one, other = task(), task()
    codes = (one.code, other.code)

    _status, draft = send(
        api,
        {**to_plain(one), "prerequisites": [{"task": other.code}]},
        {**to_plain(other), "prerequisites": [{"task": one.code}]},
    )

    assert [fault["code"] for fault in draft["faults"]] == ["cycle"]
    assert draft["faults"][0]["pointer"].split("/")[2] in codes


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ('{"schema": 1, "tasks": [{"code": "x", "starts_at": "yesterday"}]}', "/tasks/x/starts_at"),
        ('{"schema": 1, "tasks": [{"code": "x", "starts_at": "2026-01-01T00:00:00Z", "pionts": 3}]}', "/tasks/x/pionts"),
        ('{"schema": 1, "tasks": [{"code": "x", "starts_at": "2026-01-01T00:00:00Z", "points": "3"}]}', "/tasks/x/points"),
        ('{"tasks": []}', None),
        ("[", None),
        ('{"schema": 1', None),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_with_the_place(api: Caller, body: str, place: str | None) -> None:
    status, problem = api.call("POST", f"{DRAFTS}?base_revision={live_number()}", body)

    assert (status, problem["code"]) == (422, "invalid_configuration")
    assert problem["faults"][0]["text"]
    assert problem.get("pointer") == place


def test_the_base_must_be_named_and_be_there(api: Caller) -> None:
    assert api.call("POST", DRAFTS, {"schema": 1})[1]["pointer"] == "query/base_revision"
    assert api.call("POST", f"{DRAFTS}?base_revision=99999999", {"schema": 1})[1]["code"] == "unknown_revision"


def test_an_older_edition_is_refused_with_the_present_one(api: Caller) -> None:
    _status, draft = send(api, task())

    status, problem = post(api, {**draft, "edition": 1}, "ask")

    assert (status, problem["cause"], problem["edition"]) == (409, "stale", draft["edition"])


def test_drafts_take_a_key_with_the_scope_admin(keys: dict[str, str], api: Caller) -> None:
    _status, draft = send(api, task())
    for scope in ("read", "write"):
        assert send(Caller(keys[scope]), task())[0] == 403
        assert Caller(keys[scope]).call("GET", f"{DRAFTS}/{draft['draft']}")[0] == 403
        for step in ("ask", "resolve", "publish"):
            assert post(Caller(keys[scope]), draft, step)[0] == 403
    assert api.call("GET", f"{DRAFTS}/99999999")[1]["code"] == "unknown_draft"
