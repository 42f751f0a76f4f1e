"""Ten thousand demo users: 10^12 + n, n = 0 … 9,999, each a little further in the demo tasks than nothing.

They go in as everything does, by TASK.FINISH through the DBSvr, pipelined. What a user has done is drawn from his own number, and so
is the event id: a second run, or the rest of an interrupted one, changes nothing. `redis-benchmark -r 10000 … 1__rand_int__`
asks for exactly these users.
"""

from __future__ import annotations

import os
import random
import sys
import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import msgspec
import redis

from deploy.local.front_client import front_client
from deploy.local.terminal import ProgressBar
from tasksys_site.configuration import Configuration, load
from workers.protocol import Change, decode_snapshot, encode

if TYPE_CHECKING:
    from apps.tasks.decisions import CompiledTask

FIRST_DEMO_USER = 10**12
DEMO_USERS = 10_000
IN_ONE_PIPELINE = 250
ALL_WITHIN_S = 180.0


class DemoUsersFailed(Exception):
    """The DBSvr did not take the demo users in; the message is its last error."""


def demo_tasks() -> list[CompiledTask]:
    """The tasks that can be done now. Sets Django up."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tasksys_site.settings")
    import django

    django.setup()
    from django.utils import timezone

    from apps.tasks.decisions import reasons_against
    from apps.tasks.models import Task
    from apps.tasks.selectors import compile_task

    now = timezone.now()
    tasks = [compile_task(task) for task in Task.objects.order_by("id")]
    return [task for task in tasks if not reasons_against(task, now)]


def change_of(task: CompiledTask, value: int) -> Change:
    """Count `value` on in the task's present period."""
    from django.utils import timezone

    from apps.tasks.periods import period_at

    period = period_at(task.period, task.zone, timezone.now())
    return Change(task=task.number, period=period.key, op="add", value=value, target=task.target, points=task.points)


def changes_of_user(number: int, tasks: Sequence[CompiledTask]) -> list[Change]:
    """What demo user `number` has done: some tasks, of each a part or all. The same at every call on one day."""
    drawn = random.Random(number)
    chosen = drawn.sample(list(tasks), k=min(len(tasks), drawn.choice((1, 1, 2, 2, 3, 4))))
    return [change_of(task, drawn.randint(1, task.target)) for task in chosen]


def load_demo_users(configuration: Configuration, tasks: Sequence[CompiledTask]) -> bool:
    """Load them all; False when they are there already. Raises DemoUsersFailed."""
    instance = next(iter(configuration.dbsvr.instances.values()))
    with front_client(instance) as client:
        if _is_loaded(client):
            return False
        bar = ProgressBar("demo users", DEMO_USERS)
        until = time.monotonic() + ALL_WITHIN_S
        for first in range(0, DEMO_USERS, IN_ONE_PIPELINE):
            waiting: Iterable[int] = range(first, first + IN_ONE_PIPELINE)
            while waiting:
                waiting, error = _finish_all(client, waiting, tasks)
                if error is not None and time.monotonic() > until:
                    raise DemoUsersFailed(str(error))
            bar.show(first + IN_ONE_PIPELINE)
        bar.end()
    return True


def _is_loaded(client: redis.Redis) -> bool:
    """They go in by number, so the last one there means that all are."""
    return decode_snapshot(client.execute_command("TASK.GET", FIRST_DEMO_USER + DEMO_USERS - 1, "node-1")).version > 0


def _finish_all(client: redis.Redis, numbers: Iterable[int], tasks: Sequence[CompiledTask]) -> tuple[list[int], Exception | None]:
    """Send one pipeline; who must be sent again, with the last error. The event id makes that safe."""
    numbers = list(numbers)
    pipeline = client.pipeline(transaction=False)
    for number in numbers:
        pipeline.execute_command(
            "TASK.FINISH", FIRST_DEMO_USER + number, "node-1", f"demo-{number}", encode(changes_of_user(number, tasks)).decode()
        )
    try:
        answers = pipeline.execute(raise_on_error=False)
    except redis.RedisError as error:
        return numbers, error
    refused = [(number, answer) for number, answer in zip(numbers, answers, strict=True) if isinstance(answer, Exception)]
    return [number for number, _answer in refused], refused[-1][1] if refused else None


def main() -> int:
    tasks = demo_tasks()
    if not tasks:
        print("  – no demo users: there is no task that can be done now")
        return 0
    try:
        load_demo_users(load(), tasks)
    except (DemoUsersFailed, redis.RedisError, msgspec.MsgspecError) as error:
        print(f"The demo users could not be loaded: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
