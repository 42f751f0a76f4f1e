"""`manage.py create_operator`: an account for the admin and the console, with a random password that is shown once."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.tasks.key_files import write_key


class Command(BaseCommand):
    help = "Create an operator who may do everything, with a random password. An existing one is left as he is, unless --reset is given."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", nargs="?", default="operator")
        parser.add_argument("--file", type=Path, help="write the password there, readable by the owner alone, instead of printing it")
        parser.add_argument("--reset", action="store_true", help="give an existing operator a new password")

    def handle(self, *args: Any, **options: Any) -> None:
        users = get_user_model().objects
        user = users.filter(username=options["name"]).first()
        if user is not None and not options["reset"]:
            raise CommandError(f"there is an account {options['name']!r} already; --reset gives it a new password")
        password = secrets.token_urlsafe(12)
        if user is None:
            users.create_superuser(options["name"], password=password)
        else:
            user.set_password(password)
            user.save(update_fields=["password"])
        if options["file"]:
            write_key(options["file"], password)
            self.stdout.write(f"The password of {options['name']} is in {options['file']}.")
        else:
            self.stdout.write(f"{options['name']}: {password}")
