"""What an API key may do. Pure."""

from __future__ import annotations

READ, WRITE, ADMIN = "read", "write", "admin"
SCOPES = (READ, WRITE, ADMIN)


def unknown_scopes(scopes: list[str]) -> list[str]:
    return [scope for scope in scopes if scope not in SCOPES]
