"""`manage.py create_operator`: an account for the admin and the console, with a random password that is shown once.

Without `--role` it is an administrator's, who may do everything. It also unlocks: `--reset` lifts the locks of the account.
"""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from apps.tasks.key_files import write_key
from apps.tasks.people.audit import PASSWORD, note, note_rights
from apps.tasks.people.locks import unlock


class Command(BaseCommand):
    help = (
        "Create an operator with a random password: an administrator, or with --role one of that role. "
        "An existing one is left as he is; --reset gives him a new password and unlocks him."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", nargs="?", default="operator")
        parser.add_argument("--file", type=Path, help="write the password there, readable by the owner alone, instead of printing it")
        parser.add_argument("--reset", action="store_true", help="give an existing operator a new password, and lift his locks")
        parser.add_argument("--role", action="append", default=[], help="a group that he belongs to, instead of an administrator's rights")

    def handle(self, *args: Any, **options: Any) -> None:
        users = get_user_model().objects
        user = users.filter(username=options["name"]).first()
        if user is not None and not options["reset"]:
            raise CommandError(f"there is an account {options['name']!r} already; --reset gives it a new password")
        groups = list(Group.objects.filter(name__in=options["role"]))
        unknown = sorted(set(options["role"]) - {group.name for group in groups})
        if unknown:
            known = ", ".join(Group.objects.order_by("name").values_list("name", flat=True))
            raise CommandError(f"no such role: {', '.join(unknown)} (there are: {known})")
        password = secrets.token_urlsafe(12)
        with transaction.atomic():
            if user is None:
                create = users.create_user if groups else users.create_superuser
                user = create(options["name"], password=password, is_staff=True)
                user.groups.set(groups)
                note_rights(user, None)
            else:
                user.set_password(password)
                user.save(update_fields=["password"])
                unlock(user.get_username())
                note(PASSWORD, user.get_username())
        if options["file"]:
            write_key(options["file"], password)
            self.stdout.write(f"The password of {options['name']} is in {options['file']}.")
        else:
            self.stdout.write(f"{options['name']}: {password}")
