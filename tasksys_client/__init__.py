"""A client of the Tasksys REST API in Python: typed, over httpx, with and without asyncio. Needs httpx and msgspec, and nothing of Tasksys.

    from tasksys_client import TasksysClient

    with TasksysClient("http://127.0.0.1:7380", key) as tasksys:
        for task in tasksys.tasks(42).tasks:
            print(task.name, task.state, task.progress, task.target)
        done = tasksys.complete(42, "log-in-today")

Whatever may be sent again is sent again by itself, within one deadline, a write always with the same event id. docs/clients.md.
"""

from __future__ import annotations

from tasksys_client.asynchronous import AsyncTasksysClient
from tasksys_client.blocking import TasksysClient
from tasksys_client.errors import BadAnswer, NotEligible, Problem, TasksysError, Unanswered
from tasksys_client.events import Event, UserQuestion, new_event_id
from tasksys_client.exchange import Patience
from tasksys_client.shapes import (
    Check,
    EventOutcome,
    ExplainedTask,
    ExplainedUser,
    Forgotten,
    PublishedConfig,
    Reason,
    Step,
    StepTask,
    Task,
    UserTasks,
)

__all__ = [
    "AsyncTasksysClient",
    "BadAnswer",
    "Check",
    "Event",
    "EventOutcome",
    "ExplainedTask",
    "ExplainedUser",
    "Forgotten",
    "NotEligible",
    "Patience",
    "Problem",
    "PublishedConfig",
    "Reason",
    "Step",
    "StepTask",
    "Task",
    "TasksysClient",
    "TasksysError",
    "Unanswered",
    "UserQuestion",
    "UserTasks",
    "new_event_id",
]
