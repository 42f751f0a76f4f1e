"""The published tasks as rows: what lists search and filter by. Only the rows of tasks that a revision changes are written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.conf import settings

from apps.tasks.config import documents
from apps.tasks.models import Task, TaskCondition, TaskPrerequisite, TaskText

ROWS_AT_ONCE = 500


def project(changed: Mapping[str, documents.Task], revision: int) -> dict[str, int]:
    """Write these tasks' rows; the numbers of all tasks, by code. A new task gets its number here, and keeps it for ever."""
    numbers = dict(Task.objects.values_list("code", "id"))
    rows = [Task(id=numbers.get(code), revision=revision, **columns(task)) for code, task in changed.items()]
    updated = sorted(set(columns(next(iter(changed.values())))) - {"code"}) if changed else []
    for each in ([row for row in rows if row.id is not None], [row for row in rows if row.id is None]):
        Task.objects.bulk_create(each, batch_size=ROWS_AT_ONCE, update_conflicts=True, update_fields=[*updated, "revision"])
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
        "document": documents.to_plain(task),
    }


def name_of(task: documents.Task) -> str:
    """In the installation's language; where there is none, in the first that there is."""
    text = task.texts.get(settings.LANGUAGE_CODE) or next((task.texts[language] for language in sorted(task.texts)), None)
    return text.name if text is not None else ""


def _replace_rows_of(changed: Mapping[str, documents.Task], numbers: Mapping[str, int]) -> None:
    ids = [numbers[code] for code in changed]
    texts, conditions, prerequisites = [], [], []
    for code, task in changed.items():
        number = numbers[code]
        texts += [
            TaskText(task_id=number, language=language, name=text.name, description=text.description)
            for language, text in task.texts.items()
        ]
        conditions += [
            TaskCondition(task_id=number, group=group, row=row, attribute=each.attribute, operator=each.operator, value=each.value)
            for group, rows in enumerate(task.conditions)
            for row, each in enumerate(rows)
        ]
        needed = {each.task: each.state for each in task.prerequisites}
        prerequisites += [
            TaskPrerequisite(task_id=number, needs_id=numbers[needs], state=state) for needs, state in needed.items() if needs in numbers
        ]
    for model, rows in ((TaskText, texts), (TaskCondition, conditions), (TaskPrerequisite, prerequisites)):
        for first in range(0, len(ids), ROWS_AT_ONCE):
            model.objects.filter(task_id__in=ids[first : first + ROWS_AT_ONCE])._raw_delete("default")
        model.objects.bulk_create(rows, batch_size=ROWS_AT_ONCE * 2)
