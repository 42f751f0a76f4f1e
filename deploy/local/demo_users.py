"""Ten thousand demo users, each a little further in the demo tasks than nothing: 10^12 + n and 10^9 + n, n = 0 … 4,999.

So each of two DBSvrs owns half of them. They go in as everything does, by TASK.FINISH through the DBSvr that owns them, pipelined. What a
user has done is drawn from his number, and so is the event id: a second run, or the rest of an interrupted one, changes nothing.
`redis-benchmark -p 7302 -r 5000 … 1__rand_int__` asks for exactly those of the upper half.
"""

from __future__ import annotations

import os
import random
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone

import msgspec
import redis

from apps.tasks.config.documents import USER_ZONE, WHOLE, Task, from_plain
from apps.tasks.evaluation.periods import clock_of, zone_named
from deploy.local.front_client import front_client
from deploy.local.terminal import ProgressBar
from tasksys_site.configuration import Configuration, load
from workers.protocol import Change, decode_snapshot, encode

FIRST_DEMO_USERS = (10**12, 10**9)
"""Of each half."""
IN_ONE_HALF = 5_000
DEMO_USERS = len(FIRST_DEMO_USERS) * IN_ONE_HALF
IN_ONE_PIPELINE = 250
ALL_WITHIN_S = 180.0


class DemoUsersFailed(Exception):
    """The DBSvr did not take the demo users in; the message is its last error."""


@dataclass(frozen=True)
class DemoTask:
    """A task that anybody can do now, in the period that runs now."""

    number: int
    code: str
    target: int
    points: int
    period: Callable[[datetime], str]
    """The key of the period in which a moment lies."""


def demo_tasks() -> list[DemoTask]:
    """The published tasks that everybody can do now, of the kinds that a count completes. Sets Django up."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tasksys_site.settings")
    import django

    django.setup()
    from django.db.models import Q

    from apps.tasks import models

    now = datetime.now(timezone.utc)
    live = models.Task.objects.filter(Q(ends_at__isnull=True) | Q(ends_at__gt=now), archived=False, switched_off=False, starts_at__lte=now)
    tasks = []
    for row in live.filter(kind__in=("single", "counter"), percentage_bp=WHOLE).exclude(time_zone=USER_ZONE).order_by("id"):
        document = from_plain("task", row.document)
        assert isinstance(document, Task)
        if not document.conditions and not document.prerequisites:
            tasks.append(_demo_task(row.id, document))
    return tasks


def _demo_task(number: int, task: Task) -> DemoTask:
    clock = clock_of(task.period, zone_named(task.period.zone), task.starts_at, task.ends_at)
    return DemoTask(number, task.code, task.target, task.points, lambda at: clock.period_at(at).key)


def change_of(task: DemoTask, value: int) -> Change:
    """Count `value` on in the task's present period."""
    period = task.period(datetime.now(timezone.utc))
    return Change(task=task.number, period=period, op="add", value=value, target=task.target, points=task.points)


def changes_of_user(number: int, tasks: Sequence[DemoTask]) -> list[Change]:
    """What demo user `number` has done: some tasks, of each a part or all. The same at every call on one day."""
    drawn = random.Random(number)
    chosen = drawn.sample(list(tasks), k=min(len(tasks), drawn.choice((1, 1, 2, 2, 3, 4))))
    return [change_of(task, drawn.randint(1, task.target)) for task in chosen]


def uid_of(number: int) -> int:
    """Demo user `number`, 0 … DEMO_USERS - 1. An even one and the odd one after it are in different halves."""
    return FIRST_DEMO_USERS[number % len(FIRST_DEMO_USERS)] + number // len(FIRST_DEMO_USERS)


def load_demo_users(configuration: Configuration, tasks: Sequence[DemoTask]) -> bool:
    """Load them all; False when they are there already. Raises DemoUsersFailed."""
    numbers: dict[str, list[int]] = {}
    for number in range(DEMO_USERS):
        numbers.setdefault(configuration.dbsvr.home_of(uid_of(number)), []).append(number)
    bar = ProgressBar("demo users", DEMO_USERS)
    until = time.monotonic() + ALL_WITHIN_S
    loaded = 0
    for instance, theirs in numbers.items():
        with front_client(configuration.instance(instance)) as client:
            if _is_loaded(client, theirs[-1]):
                continue
            for start in range(0, len(theirs), IN_ONE_PIPELINE):
                waiting: Iterable[int] = theirs[start : start + IN_ONE_PIPELINE]
                while waiting:
                    waiting, error = _finish_all(client, waiting, tasks)
                    if error is not None and time.monotonic() > until:
                        raise DemoUsersFailed(str(error))
                loaded += len(theirs[start : start + IN_ONE_PIPELINE])
                bar.show(loaded)
    if loaded:
        bar.end()
    return loaded > 0


def _is_loaded(client: redis.Redis, last: int) -> bool:
    """They go in by number, so the last one there means that all are."""
    return decode_snapshot(client.execute_command("TASK.GET", uid_of(last), "node-1")).version > 0


def _finish_all(client: redis.Redis, numbers: Iterable[int], tasks: Sequence[DemoTask]) -> tuple[list[int], Exception | None]:
    """Send one pipeline; who must be sent again, with the last error. The event id makes that safe."""
    numbers = list(numbers)
    pipeline = client.pipeline(transaction=False)
    for number in numbers:
        pipeline.execute_command("TASK.FINISH", uid_of(number), "node-1", f"demo-{number}", encode(changes_of_user(number, tasks)).decode())
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
