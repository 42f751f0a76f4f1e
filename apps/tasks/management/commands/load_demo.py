"""`manage.py load_demo`: the demo's configuration, published, and an API key to call with. What is there already stays as it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from apps.tasks.config.documents import KINDS
from apps.tasks.config.faults import refusals
from apps.tasks.config.words import say_fault
from apps.tasks.demo import TESTERS, demo_configuration
from apps.tasks.key_files import key_in_file
from apps.tasks.models.records import Origin
from apps.tasks.publishing import lists
from apps.tasks.publishing.drafts import faults_of
from apps.tasks.publishing.revisions import alone, write_revision
from apps.tasks.scopes import SCOPES


class Command(BaseCommand):
    help = "Publish the demo's tasks, and write a demo API key with all scopes into a file under var/."

    def add_arguments(self, parser: CommandParser) -> None:
        default = settings.VAR_DIR / "demo-api-key"
        parser.add_argument("--key-file", type=Path, default=default, help=f"where the demo API key goes (default: {default})")

    def handle(self, *args: Any, **options: Any) -> None:
        said = self._publish()
        is_new = key_in_file("demo", SCOPES, options["key_file"])
        if options["verbosity"] > 0:
            self.stdout.write(said)
            self.stdout.write(f"The demo API key {'is now' if is_new else 'is'} in {options['key_file']}.")

    def _publish(self) -> str:
        demo = demo_configuration(timezone.now().replace(hour=0, minute=0, second=0, microsecond=0))
        with alone() as live:
            missing = {
                (kind, key): document
                for kind in KINDS
                for key, document in demo.of_kind(kind).items()
                if key not in live.configuration.of_kind(kind)
            }
            if not missing:
                return "The demo is there already."
            lists.store(TESTERS)
            configuration = live.configuration.changed(missing)
            if faults := refusals(faults_of(configuration, live.configuration)):
                said = "\n".join(f"{fault.pointer}: {say_fault(fault)}" for fault in faults)
                raise CommandError(f"the demo does not fit to what is there:\n{said}")
            revision = write_revision(live, configuration, None, "The demo.", Origin.COMMAND, history_counts=True)
        return f"{len(missing)} documents of the demo are live as revision {revision.number}."
