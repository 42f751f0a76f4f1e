"""`python -m bench.api_users FILE`: publishes the tasks of part `api`, makes its key, and lets users begin some of them.

In a process of its own, in the environment of its stack. The file gets, as JSON, what the part has to know.
"""

from __future__ import annotations

import json
import os
import random
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path
from urllib.parse import quote

import django
import msgspec

os.environ["DJANGO_SETTINGS_MODULE"] = "tasksys_site.settings"
django.setup()

from apps.cachesync.task_interface import task_interface  # noqa: E402
from apps.tasks.api import answers  # noqa: E402
from apps.tasks.api.task_answers import encode_tasks  # noqa: E402
from apps.tasks.config.documents import TYPES, Attribute, EventType, Feed, Period, Task, Text, key_of  # noqa: E402
from apps.tasks.keys import create_api_key  # noqa: E402
from apps.tasks.live_bundle import live  # noqa: E402
from apps.tasks.models.records import Origin  # noqa: E402
from apps.tasks.publishing.revisions import alone, write_revision  # noqa: E402
from bench import evaluate  # noqa: E402
from bench.api_facts import EVENT, FIRST_UID, PAYLOAD_VARIABLE, TASKS, THREADS_ALONE, USERS  # noqa: E402
from deploy.local.server_process import wait_until  # noqa: E402
from workers.protocol import Change  # noqa: E402

EVERY_OTHER = 2
"""Of a user's tasks he has begun or done every so many-th."""


def main() -> None:
    drawn = random.Random(7)
    attributes = [Attribute(name=f"a{number}", type="number") for number in range(evaluate.ATTRIBUTES)]
    tasks = [_task(number, drawn) for number in range(TASKS)]
    tasks[0] = msgspec.structs.replace(tasks[0], target=10**6, period=Period(), conditions=(), feeds=(Feed(event=EVENT),))
    event = EventType(name=EVENT)
    kinds = {type_: kind for kind, type_ in TYPES.items()}
    with alone() as current:
        documents = {(kinds[type(each)], key_of(each)): each for each in (*attributes, *tasks, event)}
        write_revision(
            current, current.configuration.changed(documents), None, "bench", Origin.COMMAND, in_flight="apply", history_counts=True
        )
    key = create_api_key("bench", ["read", "write"])[1]
    wait_until(lambda: len(live().bundle.tasks) == TASKS, 10)
    bundle = live().bundle
    interface = task_interface()
    queries = []
    for place in range(USERS + THREADS_ALONE):  # those to whom DbInterface alone writes are like the others
        values = {f"a{number}": drawn.randint(41, 60) for number in range(evaluate.ATTRIBUTES)}
        queries.append(quote(json.dumps({**values, "zone": "Asia/Shanghai"}, separators=(",", ":"))))
        uid = FIRST_UID + place
        profile = evaluate.Profile(uid, {**values, "zone": "Asia/Shanghai"})
        decided = evaluate.evaluate(bundle, profile, interface.get(uid), datetime.now(timezone.utc))
        changes = [
            Change(
                task=it.task.number, period=it.period.key, op="add", value=1 + place % 3, target=it.target, points=5, revision=it.revision
            )
            for place, it in enumerate(decided)
            if place % EVERY_OTHER
        ]
        snapshot = interface.finish(uid, "bench", changes).snapshot
    payload = answers.answer(answers.user_tasks(snapshot), [encode_tasks(decided, False, "en")]).content
    Path(os.environ[PAYLOAD_VARIABLE]).write_bytes(payload)
    Path(sys.argv[1]).write_text(json.dumps({"key": key, "attributes": queries, "task": bundle.by_code["task-0"].number}))


def _task(number: int, drawn: random.Random) -> Task:
    """Released to everybody, with conditions that every user of this bench meets."""
    task = evaluate.example_task(number, drawn)
    text = Text(
        name=f"Task {number} of the day", description="Do it once, and come back tomorrow for more.", button="Go", link="app://task"
    )
    return msgspec.structs.replace(
        task,
        code=f"task-{number}",
        conditions=evaluate.example_task(2 * number, drawn).conditions,
        texts={"en": text, "zh-hans": text},
        starts_at=datetime.now(timezone.utc).replace(microsecond=0) - timedelta(days=30),
        ends_at=datetime.now(timezone.utc).replace(microsecond=0) + timedelta(days=30),
        release=type(task.release)(),
        category="daily",
        icon="group",
    )


if __name__ == "__main__":
    main()
