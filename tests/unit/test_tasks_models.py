"""What may be said of a task, told to operators in sentences; and that a list's filter and its column say the same."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import connections
from django.db.models import Q

from apps.tasks.demo import DEMO_TASKS, task_fields
from apps.tasks.models import Task
from apps.tasks.selectors import compile_task
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


def faults(of: Task) -> dict[str, list[str]]:
    """What full_clean says, without the questions that it would ask a database."""
    try:
        of.clean_fields()
        of.clean()
    except ValidationError as error:
        return error.message_dict
    return {}


def test_a_task_needs_little() -> None:
    assert faults(task()) == {}


@pytest.mark.parametrize(
    ("fields", "field", "sentence"),
    [
        ({"code": "Log in"}, "code", "small letters"),
        ({"code": "-log-in"}, "code", "small letters"),
        ({"code": "log-in\n"}, "code", "small letters"),
        ({"code": ""}, "code", "cannot be blank"),
        ({"code": "x" * 65}, "code", "64"),
        ({"name": ""}, "name", "cannot be blank"),
        ({"ends_at": NOW}, "ends_at", "later than the start"),
        ({"ends_at": NOW - timedelta(days=1)}, "ends_at", "later than the start"),
        ({"period": "hourly"}, "period", "not a valid choice"),
        ({"time_zone": "Mars/Olympus"}, "time_zone", "is no time zone"),
        ({"time_zone": "../etc/passwd"}, "time_zone", "is no time zone"),
        ({"target": 0}, "target", "greater than or equal to 1"),
        ({"target": 2**53}, "target", "less than or equal to"),
        ({"points": -1}, "points", "greater than or equal to 0"),
        ({"points": 2**53}, "points", "less than or equal to"),
    ],
)
def test_a_wrong_field_is_named_with_a_sentence(fields: dict[str, Any], field: str, sentence: str) -> None:
    said = faults(task(**fields))

    assert list(said) == [field]
    assert sentence in " ".join(said[field])


def test_the_states_divide_all_tasks() -> None:
    moments = [NOW - timedelta(days=1), NOW, NOW + timedelta(days=1)]
    tasks = [task(starts_at=start, ends_at=end, active=active) for start in moments for end in [*moments, None] for active in (True, False)]

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


def test_the_demo_tasks_are_sound_and_varied() -> None:
    tasks = [Task(**task_fields(demo, NOW)) for demo in DEMO_TASKS]

    assert [faults(one) for one in tasks] == [{}] * len(tasks)
    assert len({one.code for one in tasks}) == len(tasks) >= 12
    assert {state_of(one, NOW) for one in tasks} == set(TaskState)


def test_a_task_whose_zone_is_not_known_here_is_refused_with_its_name() -> None:
    with pytest.raises(ValueError, match="Mars/Olympus"):
        compile_task(task(time_zone="Mars/Olympus"))
