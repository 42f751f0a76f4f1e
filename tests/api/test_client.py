"""The Python client against the real server, over HTTP: every method once, with what comes back in its type."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from apps.tasks.config.documents import Claim, EventType, Feed
from deploy.local.private_stack import PrivateStack
from tasksys_client import AsyncTasksysClient, Event, EventOutcome, NotEligible, Problem, TasksysClient, UserQuestion, UserTasks
from tests.stack import published
from tests.stack.waiting import eventually
from tests.stack.web_process import WebProcess


@pytest.fixture(scope="module")
def tasksys(web: WebProcess, keys: dict[str, str]) -> Iterator[TasksysClient]:
    with TasksysClient(web.address, keys["all"]) as client:
        yield client


@pytest.fixture
def publish(make_task: Callable[..., Any], tasksys: TasksysClient) -> Callable[..., str]:
    """A task that the server knows when its code is handed out."""

    def publish(**fields: Any) -> str:
        code = str(make_task(**fields).code)
        eventually(lambda: code in {task.code for task in tasksys.explain(7).tasks})
        return code

    return publish


def test_a_task_is_read_completed_repeated_and_explained(tasksys: TasksysClient, publish: Callable[..., str], uid: int) -> None:
    code = publish(target=1, points=10)

    before = next(task for task in tasksys.tasks(uid).tasks if task.code == code)
    done = tasksys.complete(uid, code, event_id="e1")
    again = tasksys.complete(uid, code, event_id="e1")

    assert (before.state, before.points, before.reasons) == ("available", 10, ())
    assert (done.applied, done.task.completed_now, done.task.points, done.points) == (True, True, 10, 10)
    assert (again.applied, again.task, again.version) == (False, done.task, done.version)
    (explained,) = tasksys.explain(uid, codes=[code]).tasks
    assert explained.state == "completed"
    assert all(check.outcome == "met" for check in explained.checks)
    with pytest.raises(Problem) as unknown:
        tasksys.complete(uid, "no-such-task")
    assert (unknown.value.code, unknown.value.retryable) == ("unknown_task", False)
    assert unknown.value.request_id


def test_events_feed_tasks_and_a_claim_gives_the_points(tasksys: TasksysClient, publish: Callable[..., str], uid: int) -> None:
    published.publish_tasks(EventType(name=f"shot-{uid}"))
    code = publish(target=3, points=50, claim=Claim(mode="by_claim"), feeds=(Feed(event=f"shot-{uid}"),))

    first = tasksys.record_event(uid, f"shot-{uid}", value=2)
    with pytest.raises(NotEligible) as too_early:
        tasksys.claim(uid, code)
    one, unknown = tasksys.record_events([Event(uid=uid, type=f"shot-{uid}"), Event(uid=uid + 1, type="nothing-of-the-kind")])
    claimed = tasksys.claim(uid, code)

    assert [(task.code, task.progress) for task in first.tasks] == [(code, 2)]
    assert too_early.value.reasons
    assert isinstance(one, EventOutcome)
    assert one.tasks[0].completed_now
    assert isinstance(unknown, Problem)
    assert (claimed.task.state, claimed.points) == ("claimed", 50)


def test_progress_can_be_accepted_and_taken_back(tasksys: TasksysClient, publish: Callable[..., str], uid: int) -> None:
    published.publish_tasks(EventType(name=f"shot-{uid}"))
    code = publish(target=5, claim=Claim(mode="accept_first"), feeds=(Feed(event=f"shot-{uid}"),))

    accepted = tasksys.accept(uid, code)
    tasksys.record_event(uid, f"shot-{uid}", value=3)
    reverted = tasksys.revert(uid, code, value=2)

    assert (accepted.task.progress, reverted.task.progress) == (0, 1)


def test_many_are_read_at_once_prompts_and_the_configuration(tasksys: TasksysClient, publish: Callable[..., str], uid: int) -> None:
    code = publish()

    users = tasksys.tasks_of_many([uid, UserQuestion(uid + 1, {"level": 3}), 0])
    config = tasksys.config()

    assert [type(each) for each in users] == [UserTasks, UserTasks, Problem]
    assert len(tasksys.prompts(uid, limit=1).tasks) == 1
    assert config is not None
    assert code in {task["code"] for task in config.bundle["tasks"]}
    assert tasksys.config(config.etag) is None
    assert tasksys.revision(config.bundle["revision"]).bundle["revision"] == config.bundle["revision"]


def test_a_user_is_erased(tasksys: TasksysClient, publish: Callable[..., str], uid: int) -> None:
    done = tasksys.complete(uid, publish())

    gone = tasksys.erase(uid)

    assert gone.applied
    assert gone.version > done.version
    assert tasksys.tasks(uid).points == 0


def test_the_same_with_asyncio_many_at_once(
    web: WebProcess, keys: dict[str, str], stack: PrivateStack, publish: Callable[..., str], uid: int
) -> None:
    code = publish()

    async def complete_all() -> list[int]:
        async with AsyncTasksysClient(web.address, keys["all"]) as client:
            done = await asyncio.gather(*(client.complete(uid + 300_000_000 + number, code) for number in range(20)))
            return [each.version for each in done]

    assert asyncio.run(complete_all()) == [1] * 20
