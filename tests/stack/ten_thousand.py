"""Ten thousand tasks on the way of every draft, timed: what `manage.py shell` runs on a stack of its own.

Prints one JSON object: seconds by step, and seconds of processor time where the step is a publication.
"""

from __future__ import annotations

import json
import time

from apps.tasks.config.documents import Attribute, Condition, Tier
from apps.tasks.publishing import drafts, publish, review
from tests.stack.operators import approve, draft_with, operator
from tests.stack.published import task

TASKS = 10_000


def run() -> dict[str, float]:
    """Import all, publish all; then what operators do on top of them: one change, a switch, a bulk edit, a roll back."""
    wang, li = operator("wang"), operator("li")
    took: dict[str, float] = {}
    conditions = ((Condition(attribute="level", operator=">=", value=3), Condition(attribute="vip", operator="=", value=True)),)
    tasks = [
        task(f"task-{number:05}", conditions=conditions, kind="tiers", tiers=(Tier(target=1, points=1), Tier(target=5, points=9)), points=0)
        for number in range(TASKS)
    ]
    documents = {("task", each.code): each for each in tasks}
    registry = {("attribute", "level"): Attribute(name="level", type="number"), ("attribute", "vip"): Attribute(name="vip", type="boolean")}

    def timed(step: str, began: float, cpu: float) -> None:
        took[step], took[f"{step}, cpu"] = time.monotonic() - began, time.process_time() - cpu

    draft = drafts.open_draft(wang)
    began, cpu = time.monotonic(), time.process_time()
    drafts.save_documents(draft, draft.edition, {**registry, **documents}, wang, action="import")
    timed("import 10,000", began, cpu)
    began, cpu = time.monotonic(), time.process_time()
    review.ask(draft, draft.edition, wang)
    timed("check 10,000", began, cpu)
    review.approve(draft, draft.edition, li)
    began, cpu = time.monotonic(), time.process_time()
    first = publish.publish(draft, draft.edition, wang, "all of them")
    timed("publish 10,000 new", began, cpu)

    draft = approve(draft_with(wang, task("task-00042", points=7)), by=li)
    began, cpu = time.monotonic(), time.process_time()
    publish.publish(draft, draft.edition, wang, "one of them")
    timed("publish 1 of 10,000", began, cpu)

    began, cpu = time.monotonic(), time.process_time()
    publish.switch("task-00077", True, wang, "stop")
    timed("switch 1 of 10,000", began, cpu)

    draft = publish.roll_back(first.number, wang, "back")
    began, cpu = time.monotonic(), time.process_time()
    publish.publish(draft, draft.edition, wang, "back")
    timed("roll back", began, cpu)

    draft = approve(draft_with(wang, *(task(each.code, conditions=conditions, points=3, weight=2) for each in tasks)), by=li)
    began, cpu = time.monotonic(), time.process_time()
    revision = publish.publish(draft, draft.edition, wang, "heavier")
    timed("publish 10,000 changed", began, cpu)
    took["bundle, MB"], took["bundle packed, MB"] = revision.bundle_bytes / 1e6, len(revision.bundle) / 1e6
    return took


print(json.dumps(run()))
