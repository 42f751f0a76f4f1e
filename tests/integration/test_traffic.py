"""Per task and day: what the master's worker counts, writes down with a beat, and what lists read of it."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from datetime import date, datetime, timedelta, timezone

import pytest

from apps.tasks.traffic import NONE, traffic_of, traffic_of_all
from deploy.local.private_stack import PrivateStack
from tests.stack.locks import HeldLock
from tests.stack.task_client import TaskClient, change, new_event_id
from tests.stack.waiting import eventually

MakeStack = Callable[..., PrivateStack]
UID = 7_100_000_000


@pytest.fixture
def stack(make_stack: MakeStack) -> PrivateStack:
    return make_stack()


@pytest.fixture
def client(stack: PrivateStack) -> Iterator[TaskClient]:
    client = TaskClient(stack)
    yield client
    client.close()


def counted(stack: PrivateStack, task: int) -> tuple[int, int]:
    rows = stack.master.execute(
        "SELECT COALESCE(SUM(started), 0), COALESCE(SUM(completed), 0) FROM task_traffic WHERE task_id = %s", "tasksys_user", (task,)
    )
    return int(rows[0][0]), int(rows[0][1])


def test_begun_and_completed_are_counted_once_however_often_an_event_is_sent(stack: PrivateStack, client: TaskClient) -> None:
    twice = new_event_id()
    for _ in range(2):
        client.finish(UID, twice, [change(task=11, target=2), change(task=12, target=1)])
    client.finish(UID, None, [change(task=11, target=2)])
    client.finish(UID, None, [change(task=11, target=2)])
    client.finish(UID + 1, None, [change(task=11, target=2, value=2), change(task=11, target=2)])
    client.finish(UID + 1, None, [change(task=11, target=2, period="2026-11-30")])

    eventually(lambda: counted(stack, 11) == (3, 2), within_s=5)
    assert counted(stack, 12) == (1, 1)


def test_while_writes_come_without_a_pause_it_is_written_all_the_same(stack: PrivateStack, client: TaskClient) -> None:
    until, sent = time.monotonic() + 3, 0
    while time.monotonic() < until and counted(stack, 13)[0] == 0:
        client.finish(UID + sent, None, [change(task=13)])
        sent += 1

    assert 0 < counted(stack, 13)[0] <= sent
    eventually(lambda: counted(stack, 13) == (sent, 0), within_s=5)


def test_a_locked_or_missing_table_keeps_no_beat_and_no_write_waiting(stack: PrivateStack, client: TaskClient) -> None:
    client.finish(UID, None, [change(task=14)])
    eventually(lambda: counted(stack, 14) == (1, 0), within_s=5)
    lock = HeldLock(stack.master, "LOCK TABLES task_traffic WRITE", "tasksys_user")
    try:
        took = []
        for number in range(30):
            began = time.monotonic()
            client.finish(UID + number, None, [change(task=15)])
            took.append(time.monotonic() - began)
            assert eventually(lambda: stack.stats()["master"]["beat_age_ms"] < 1_500, within_s=5)  # type: ignore[index]
    finally:
        lock.release()
    assert max(took) < 1, max(took)
    epoch = stack.stats()["master"]["epoch"]  # type: ignore[index]

    stack.master.execute("RENAME TABLE task_traffic TO elsewhere", "tasksys_user")
    for number in range(30):
        client.finish(UID + number, None, [change(task=16)])
    stack.master.execute("RENAME TABLE elsewhere TO task_traffic", "tasksys_user")

    eventually(lambda: counted(stack, 15) == (30, 0), within_s=25)
    eventually(lambda: counted(stack, 16) == (30, 0), within_s=25)
    assert stack.stats()["master"]["epoch"] == epoch  # type: ignore[index]


def test_days_long_past_are_forgotten_by_the_dbsvr_that_counted_them(stack: PrivateStack, client: TaskClient) -> None:
    stack.master.execute("INSERT INTO task_traffic VALUES ('2020-01-01', 17, 'a', 5, 5), ('2020-01-01', 17, 'b', 5, 5)", "tasksys_user")
    client.finish(UID, None, [change(task=17)])

    eventually(lambda: counted(stack, 17) == (6, 5), within_s=5)


@pytest.fixture
def tasks_of_days(django_on_stack: PrivateStack) -> tuple[int, int]:
    """Two tasks, the first with traffic of several days at two DBSvrs."""
    first, second = random.randrange(10**8, 10**9), random.randrange(10**8, 10**9)
    today = datetime.now(timezone.utc).date()
    for instance, back, started, completed in (("a", 0, 5, 2), ("b", 0, 1, 1), ("a", 6, 10, 9), ("a", 7, 100, 100)):
        django_on_stack.master.execute(
            "INSERT INTO task_traffic (day, task_id, instance, started, completed) VALUES (%s, %s, %s, %s, %s)",
            "tasksys_user",
            (today - timedelta(days=back), first, instance, started, completed),
        )
    return first, second


def test_lists_read_today_and_the_last_days_of_all_dbsvrs_together(tasks_of_days: tuple[int, int]) -> None:
    first, second = tasks_of_days
    today = datetime.now(timezone.utc).date()

    found = traffic_of([first, second])

    assert found[second] == NONE
    assert found[second].completion is None
    traffic = found[first]
    assert (traffic.started_today, traffic.completed_today) == (6, 3)
    assert (traffic.started_recent, traffic.completed_recent) == (16, 12)
    assert traffic.completion == 0.75
    assert traffic.by_day == ((today - timedelta(days=6), 10, 9), (today, 6, 3))
    assert traffic_of([first], days=8)[first].started_recent == 116
    assert traffic_of_all()[first] == traffic
    assert second not in traffic_of_all()
    assert traffic_of([]) == {}
    assert isinstance(traffic.by_day[0][0], date)
