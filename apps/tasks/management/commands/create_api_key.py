"""`manage.py create_api_key NAME --scopes read write`: a new key, printed once or written into a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.tasks.key_files import write_key
from apps.tasks.keys import create_api_key
from apps.tasks.scopes import READ, SCOPES


class Command(BaseCommand):
    help = "Make an API key. It is shown now and never again."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="which program uses it")
        parser.add_argument("--scopes", nargs="+", default=[READ], choices=SCOPES, help="what it may do (default: read)")
        parser.add_argument("--requests-per-s", type=int, help="it may make so many requests a second (default: as many as it likes)")
        parser.add_argument("--burst", type=int, help="so many at once after a pause (default: those of one second)")
        parser.add_argument("--file", type=Path, help="write it there, readable by the owner alone, instead of printing it")

    def handle(self, *args: Any, **options: Any) -> None:
        name = options["name"].strip()
        if not 1 <= len(name) <= 100:
            raise CommandError("the name must have 1 to 100 characters")
        for option in ("requests_per_s", "burst"):
            if options[option] is not None and options[option] < 1:
                raise CommandError(f"--{option.replace('_', '-')}: at least 1")
        _key, text = create_api_key(name, options["scopes"], options["requests_per_s"], options["burst"])
        if options["file"]:
            write_key(options["file"], text)
            self.stdout.write(f"The key is in {options['file']}.")
        else:
            self.stdout.write(text)
