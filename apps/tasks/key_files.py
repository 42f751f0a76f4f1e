"""An API key kept in a file that only its owner reads: for the demo, and for programs that are set up by a script."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from apps.tasks.keys import create_api_key, digest
from apps.tasks.models import ApiKey


def write_key(path: Path, text: str) -> None:
    """Readable by the owner alone from its first byte on, and there as a whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f".{path.name}.new")
    new.unlink(missing_ok=True)
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text + "\n")
    new.replace(path)


def key_in_file(name: str, scopes: Iterable[str], path: Path) -> bool:
    """See to it that the file holds a valid key. True when a new one had to be made."""
    if path.is_file() and ApiKey.objects.filter(sha256=digest(path.read_text().strip()), revoked_at__isnull=True).exists():
        return False
    _key, text = create_api_key(name, scopes)
    write_key(path, text)
    return True
