"""From which address a request came, behind our own proxies.

Each proxy adds the address that it was asked from to the end of X-Forwarded-For; what stands before it was written by whoever asked,
and may be invented. So the list is read from its end, and only for as long as the one who speaks is a proxy of ours (`web.proxies`).
"""

from __future__ import annotations

import ipaddress
from functools import lru_cache

from django.conf import settings
from django.http import HttpRequest

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def client_address(request: HttpRequest) -> str:
    """The address as text; empty when the server knows none (a local socket) and no proxy says one."""
    return find_client(request.META.get("REMOTE_ADDR", ""), request.META.get("HTTP_X_FORWARDED_FOR", ""), settings.PROXIES)


@lru_cache(maxsize=1024)  # asked for with every request; most come from the same few
def find_client(asked_by: str, forwarded_for: str, proxies: tuple[str, ...]) -> str:
    """`asked_by` is who holds the connection, `forwarded_for` the header, `proxies` networks like 10.0.0.0/24 or single addresses."""
    ours = _networks(proxies)
    client = _address(asked_by)
    hops = [part.strip() for part in forwarded_for.split(",") if part.strip()]
    while client is not None and any(client in network for network in ours) and hops:
        before = _address(hops.pop())
        if before is None:  # a proxy of ours would not write this: stay with what is certain
            break
        client = before
    return str(client) if client is not None else ""


@lru_cache
def _networks(proxies: tuple[str, ...]) -> tuple[Network, ...]:
    return tuple(ipaddress.ip_network(proxy) for proxy in proxies)


def _address(text: str) -> Address | None:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    # A server that listens on IPv6 sees IPv4 clients like ::ffff:10.0.0.1.
    return getattr(address, "ipv4_mapped", None) or address
