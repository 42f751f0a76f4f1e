"""Documents for tests, and the short way to have them live: published at once, without the steps of a draft.

For tests that need a configuration and are not about how it came to be.
"""

from __future__ import annotations

import itertools
import random
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

from apps.tasks.config.documents import Attribute, EventType, Task, Text, UserList

if TYPE_CHECKING:
    from apps.tasks.models import Revision

_numbers = itertools.count(random.randrange(10**9, 10**10) * 1000)
BEGAN = datetime.now(timezone.utc).replace(microsecond=0) - timedelta(days=40)


def task(code: str | None = None, **fields: Any) -> Task:
    """A valid task that began a while ago; the test says the one thing that it is about."""
    given: dict[str, Any] = {"code": code or f"task-{next(_numbers)}", "starts_at": BEGAN, "points": 10, "texts": texts("A task")}
    given["kind"] = "counter" if fields.get("target", 1) > 1 else "single"
    return Task(**{**given, **fields})


def texts(name: str, description: str = "") -> dict[str, Text]:
    """In both languages, so that no test is told of a missing one."""
    return {language: Text(name=name, description=description) for language in ("en", "zh-hans")}


def publish_tasks(*documents: Task | Attribute | EventType | UserList) -> Revision:
    """Make the documents live, beside what is; each replaces the one with its code or name. History counts for new tasks."""
    from apps.tasks.config.documents import TYPES, key_of
    from apps.tasks.models.records import Origin
    from apps.tasks.publishing.revisions import alone, write_revision

    kinds = {type_: kind for kind, type_ in TYPES.items()}
    with alone() as live:
        configuration = live.configuration.changed({(kinds[type(each)], key_of(each)): each for each in documents})
        return write_revision(live, configuration, None, "for a test", Origin.COMMAND, in_flight="apply", history_counts=True)


def number_of(code: str) -> int:
    """Under which users' records refer to the published task."""
    from apps.tasks.models import Task as TaskRow

    return TaskRow.objects.get(code=code).id
