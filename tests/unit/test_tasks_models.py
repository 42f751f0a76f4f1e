"""That a list's filter and its column say the same of a task, and that the demo is sound."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from django.db import connections
from django.db.models import Q

from apps.tasks.config.validate import validate
from apps.tasks.demo import TESTERS, demo_configuration
from apps.tasks.models import Task
from apps.tasks.publishing.lists import text_of
from apps.tasks.publishing.projection import columns
from apps.tasks.task_state import TaskState, state_of, tasks_in

NOW = datetime(2026, 11, 30, 12, tzinfo=timezone.utc)


@pytest.fixture(autouse=True)
def no_database(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is tested here asks no database, whoever else in this process has one open."""

    def refuse(*arguments: object) -> None:
        raise AssertionError("a unit test asks the database")

    for connection in connections.all():
        monkeypatch.setattr(connection, "cursor", refuse)


def task(**fields: Any) -> Task:
    given: dict[str, Any] = {"code": "log-in", "name": "Log in", "starts_at": NOW, **fields}
    return Task(**given)


def test_the_states_divide_all_tasks() -> None:
    moments = [NOW - timedelta(days=1), NOW, NOW + timedelta(days=1)]
    tasks = [
        task(starts_at=start, ends_at=end, switched_off=off, archived=archived)
        for start in moments
        for end in [*moments, None]
        for off in (True, False)
        for archived in (True, False)
    ]

    for one in tasks:
        matching = [state for state in TaskState if _matches(tasks_in(state, NOW), one)]

        assert matching == [state_of(one, NOW)]


def _matches(condition: Q, one: Task) -> bool:
    """The condition evaluated in plain Python, for the few lookups that tasks_in uses."""
    results = []
    for child in condition.children:
        if isinstance(child, Q):
            results.append(_matches(child, one))
            continue
        name, _sep, lookup = str(child[0]).partition("__")
        value, given = getattr(one, name), child[1]
        if lookup == "isnull":
            results.append((value is None) == given)
        elif lookup == "":
            results.append(value == given)
        else:
            results.append(value is not None and {"lte": value <= given, "gt": value > given}[lookup])
    return all(results) if condition.connector == Q.AND else any(results)


def test_the_demo_has_no_fault_and_something_of_everything() -> None:
    demo = demo_configuration(NOW.replace(hour=0))
    tasks = list(demo.tasks.values())

    assert validate(demo) == []
    assert {state_of(Task(**columns(one)), NOW) for one in tasks} == set(TaskState) - {TaskState.ARCHIVED}
    assert {one.kind for one in tasks} == {"single", "counter", "tiers", "streak"}
    assert any(one.conditions for one in tasks)
    assert any(one.prerequisites for one in tasks)
    assert any(0 < one.release.percentage_bp < 10_000 for one in tasks)
    assert all(one.texts.keys() == {"en", "zh-hans"} for one in tasks)


def test_the_demos_list_names_its_own_contents() -> None:
    import hashlib

    (testers,) = demo_configuration(NOW).lists.values()

    assert list(TESTERS) == sorted(set(TESTERS))
    assert (testers.count, testers.sha256) == (len(TESTERS), hashlib.sha256(text_of(TESTERS)).hexdigest())


def test_the_row_of_a_task_with_tiers_has_the_last_target_and_all_points() -> None:
    row = columns(demo_configuration(NOW).tasks["weekly-matches"])

    assert (row["target"], row["points"], row["name"]) == (20, 80, "A week of matches")
