"""Each template is a valid task as soon as it has a code, and its form is filled in both languages."""

from __future__ import annotations

from datetime import datetime, timezone

import msgspec
import pytest

from apps.tasks.config.documents import Configuration, Period, Task
from apps.tasks.config.limits import REQUIRED_LANGUAGES
from apps.tasks.config.meaning import say_task
from apps.tasks.config.validate import validate
from apps.tasks.screens.gallery_tasks import TEMPLATES

FRESH = Task(code="", starts_at=datetime(2026, 12, 1, tzinfo=timezone.utc), period=Period(zone="Asia/Shanghai"))


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_template_has_no_fault_and_no_warning(name: str) -> None:
    task = msgspec.structs.replace(TEMPLATES[name].fill(FRESH), code="a")

    assert validate(Configuration(tasks={"a": task})) == []
    assert all(task.texts[language].name for language in REQUIRED_LANGUAGES)
    assert task.period.zone == "Asia/Shanghai", "the operator's own zone stays"
    assert say_task(task, Configuration())
