"""Which quotas a process looks at, and that what it could not read is unknown."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import OperationalError

from apps.tasks import quotas
from apps.tasks.config.documents import Caps, Period
from apps.tasks.evaluation.bundle import Bundle
from apps.tasks.live_bundle import live_bundle
from apps.tasks.quotas import QuotaLook, capped_tasks, quota_keys
from tests.unit.evaluating import NOW, bundle, task


def test_only_tasks_with_a_cap_that_all_share_are_looked_at() -> None:
    live = bundle(task("a"), task("b", caps=Caps(per_user=1)), task("c", caps=Caps(total=1)), task("d", caps=Caps(points_budget=9)))

    assert [each.code for each in capped_tasks(live)] == ["c", "d"]


def test_the_keys_are_those_that_an_event_of_these_days_may_ask_for() -> None:
    daily = Period(kind="daily", zone="user", fallback_zone="Asia/Shanghai")
    live = bundle(task("a", caps=Caps(total=1)), task("b", caps=Caps(per_period=1), period=daily))

    found = quota_keys(live, live.tasks, NOW)

    assert found == {(1, "total"), (1, "points"), (1, "once"), (2, "total"), (2, "points")} | {
        (2, (NOW + timedelta(days=apart)).date().isoformat()) for apart in (-1, 0, 1)
    }


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What is asked of the database, and at most what it answers (the last one for good)."""
    answers: list[Any] = []

    def read(keys: set[tuple[int, str]]) -> dict[tuple[int, str], int]:
        answer = answers[0] if len(answers) == 1 else answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return dict(answer)

    monkeypatch.setattr(quotas, "_read", read)
    monkeypatch.setattr(quotas, "LOOK_EVERY_S", 0.0)
    return answers


def serve(monkeypatch: pytest.MonkeyPatch, live: Bundle | None) -> None:
    monkeypatch.setattr(type(live_bundle), "known", property(lambda self: live))


def test_what_could_not_be_read_for_a_while_is_unknown(monkeypatch: pytest.MonkeyPatch, looked: list[Any]) -> None:
    serve(monkeypatch, bundle(task(caps=Caps(total=1))))
    look = QuotaLook()
    assert look.known() is None

    looked[:] = [{(1, "total"): 1}, OperationalError("away")]
    look.look()
    look.look()
    assert look.known() == {(1, "total"): 1}, "a moment ago it was so"
    monkeypatch.setattr(quotas, "KNOWN_FOR_S", 0.0)
    assert look.known() is None


def test_nothing_is_asked_while_no_task_has_such_a_cap(monkeypatch: pytest.MonkeyPatch, looked: list[Any]) -> None:
    look = QuotaLook()
    for live in (None, bundle(task())):
        serve(monkeypatch, live)
        look.look()  # would find nothing to answer with

    assert look.known() is None
