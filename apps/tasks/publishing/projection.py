"""The published tasks as rows: what lists search and filter by. Only the rows of tasks that a revision changes are written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.conf import settings

from apps.tasks.config import documents
from apps.tasks.models import Task, TaskCondition, TaskPrerequisite, TaskText
from apps.tasks.publishing.many_rows import as_json, insert_rows

IDS_AT_ONCE = 1_000


def project(changed: Mapping[str, documents.Task], revision: int) -> dict[str, int]:
    """Write these tasks' rows; the numbers of all tasks, by code. A new task gets its number here, and keeps it for ever."""
    numbers = dict(Task.objects.values_list("code", "id"))
    if not changed:
        return numbers
    rows = {code: {**columns(task), "revision": revision} for code, task in changed.items()}
    fields = tuple(next(iter(rows.values())))
    # With its number a row that is there keeps it, and takes none of those that new ones get.
    insert_rows(Task, ("id", *fields), ((numbers[code], *row.values()) for code, row in rows.items() if code in numbers), replacing=True)
    insert_rows(Task, fields, (tuple(row.values()) for code, row in rows.items() if code not in numbers))
    if any(code not in numbers for code in changed):
        numbers = dict(Task.objects.values_list("code", "id"))
    _replace_rows_of(changed, numbers)
    return numbers


def columns(task: documents.Task) -> dict[str, Any]:
    """What the row says of the document, besides its number and revision."""
    return {
        "code": task.code,
        "name": name_of(task)[:200],
        "kind": task.kind,
        "category": task.category,
        "weight": task.weight,
        "starts_at": task.starts_at,
        "ends_at": task.ends_at,
        "period": task.period.kind,
        "time_zone": task.period.zone,
        "target": task.tiers[-1].target if task.tiers else task.target,
        "points": sum(tier.points for tier in task.tiers) if task.tiers else task.points,
        "cap_per_user": task.caps.per_user,
        "cap_total": task.caps.total,
        "cap_per_period": task.caps.per_period,
        "points_budget": task.caps.points_budget,
        "percentage_bp": task.release.percentage_bp,
        "switched_off": task.switched_off,
        "archived": task.archived,
        "document": documents.encode(task).decode(),
    }


def name_of(task: documents.Task) -> str:
    """In the installation's language; where there is none, in the first that there is."""
    text = task.texts.get(settings.LANGUAGE_CODE) or next((task.texts[language] for language in sorted(task.texts)), None)
    return text.name if text is not None else ""


def _replace_rows_of(changed: Mapping[str, documents.Task], numbers: Mapping[str, int]) -> None:
    ids = [numbers[code] for code in changed]
    for model in (TaskText, TaskCondition, TaskPrerequisite):
        for first in range(0, len(ids), IDS_AT_ONCE):
            model.objects.filter(task_id__in=ids[first : first + IDS_AT_ONCE])._raw_delete("default")
    insert_rows(
        TaskText,
        ("task", "language", "name", "description"),
        ((numbers[code], language, text.name, text.description) for code, task in changed.items() for language, text in task.texts.items()),
    )
    insert_rows(
        TaskCondition,
        ("task", "group", "row", "attribute", "operator", "value"),
        (
            (numbers[code], group, row, each.attribute, each.operator, as_json(each.value))
            for code, task in changed.items()
            for group, rows in enumerate(task.conditions)
            for row, each in enumerate(rows)
        ),
    )
    insert_rows(
        TaskPrerequisite,
        ("task", "needs", "state"),
        (
            (numbers[code], numbers[needs], state)
            for code, task in changed.items()
            for needs, state in {each.task: each.state for each in task.prerequisites}.items()
        ),
    )
