"""Secrets: random, each in a file of its own that only its owner can read. Made once, then kept."""

from __future__ import annotations

import os
import secrets
from pathlib import Path


def ensure_secret(path: Path, random_bytes: int = 48) -> bool:
    """Make the secret unless it is there; whether it was made now."""
    if path.exists():
        return False
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    # Written under another name first: an interrupted run leaves no half secret behind.
    new = path.with_name(path.name + ".new")
    with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="ascii") as file:
        file.write(secrets.token_urlsafe(random_bytes) + "\n")
    new.rename(path)
    return True
