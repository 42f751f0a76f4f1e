"""What both clients tell httpx alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import httpx

HEADERS = {"Accept": "application/json", "User-Agent": "tasksys-client"}


def key_header(key: str) -> dict[str, str]:
    return {"Authorization": f"Api-Key {key}"}


def settings(addresses: Sequence[str], connections: int) -> dict[str, Any]:
    return {
        "limits": httpx.Limits(max_connections=connections, max_keepalive_connections=connections),
        "trust_env": False,
        # Loading certificates takes a third of a second, and plain http needs none.
        "verify": any(address.startswith("https:") for address in addresses),
    }


def was_sent(error: httpx.HTTPError) -> bool:
    """Whether the server may have heard of the request."""
    return not isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout | httpx.UnsupportedProtocol)
