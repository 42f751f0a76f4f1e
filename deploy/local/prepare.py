"""What Django prepares before the programs start: tables, the accounts of two people, demo tasks, static files.

A process of its own (`python -m deploy.local.prepare`), under the migrations account, so that whoever starts the stack needs
no Django. Every step does nothing when there is nothing to do.
"""

from __future__ import annotations

import hashlib
import os
from io import StringIO
from pathlib import Path
from typing import Any

from deploy.local.pieces import LocalStack
from tasksys_site.configuration import load

OPERATOR, REVIEWER = "operator", "reviewer"
"""An administrator, and the second person without whom nothing that he has changed is published."""


def prepare() -> None:
    os.environ["DJANGO_SETTINGS_MODULE"] = "tasksys_site.migration_settings"
    import django
    from django.core.management import call_command

    django.setup()
    for alias in ("default", "userdata"):
        call_command("migrate", database=alias, interactive=False, verbosity=0)
    stack = LocalStack(load())
    _ensure_account(OPERATOR, stack.operator_password_file)
    _ensure_account(REVIEWER, stack.reviewer_password_file, role=[REVIEWER])
    call_command("load_demo", verbosity=0)
    _collect_static_files()


def _ensure_account(name: str, file: Path, **options: Any) -> None:
    """The account and its password file come together: whoever deletes the file gets a new password at the next start."""
    from django.contrib.auth import get_user_model
    from django.core.management import call_command

    if not file.exists() or not get_user_model().objects.filter(username=name).exists():
        call_command("create_operator", name, file=file, reset=True, verbosity=0, stdout=StringIO(), **options)


def _collect_static_files() -> None:
    """Compressing and naming them by content takes seconds, so it is done only when one has changed."""
    from django.conf import settings
    from django.contrib.staticfiles.finders import get_finders
    from django.core.management import call_command

    digest = hashlib.sha256(settings.STORAGES["staticfiles"]["BACKEND"].encode())
    for finder in get_finders():
        for name, storage in finder.list(None):
            found = Path(storage.path(name)).stat()
            digest.update(f"{name} {found.st_size} {found.st_mtime_ns}\n".encode())
    collected = Path(settings.STATIC_ROOT) / ".collected"
    if not collected.is_file() or collected.read_text() != digest.hexdigest():
        call_command("collectstatic", interactive=False, clear=True, verbosity=0)
        collected.write_text(digest.hexdigest())


if __name__ == "__main__":
    prepare()
