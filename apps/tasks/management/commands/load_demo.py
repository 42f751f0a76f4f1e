"""`manage.py load_demo`: the demo tasks and an API key to call them with. What is there already stays as it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser
from django.utils import timezone

from apps.tasks.demo import DEMO_TASKS, task_fields
from apps.tasks.key_files import key_in_file
from apps.tasks.models import Task
from apps.tasks.scopes import SCOPES


class Command(BaseCommand):
    help = "Load the demo tasks, and write a demo API key with all scopes into a file under var/."

    def add_arguments(self, parser: CommandParser) -> None:
        default = settings.VAR_DIR / "demo-api-key"
        parser.add_argument("--key-file", type=Path, default=default, help=f"where the demo API key goes (default: {default})")

    def handle(self, *args: Any, **options: Any) -> None:
        midnight = timezone.now().replace(hour=0, minute=0, second=0, microsecond=0)
        added = sum(self._add(task_fields(demo, midnight)) for demo in DEMO_TASKS)
        is_new = key_in_file("demo", SCOPES, options["key_file"])
        if options["verbosity"] > 0:
            self.stdout.write(f"{added} demo tasks added, {len(DEMO_TASKS) - added} were there.")
            self.stdout.write(f"The demo API key {'is now' if is_new else 'is'} in {options['key_file']}.")

    def _add(self, fields: dict[str, Any]) -> bool:
        if Task.objects.filter(code=fields["code"]).exists():
            return False
        task = Task(**fields)
        task.full_clean()
        task.save()
        return True
