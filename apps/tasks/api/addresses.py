"""Which endpoint an address belongs to.

Every address of the API is made of fixed parts and `<str:name>` between slashes, as `urls` lists them for Django and the schema. So it is
found by comparing a few parts, for a fifth of what Django's resolver takes, which knows addresses of every kind.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

from django.http import Http404, HttpResponse
from django.urls import URLPattern

View = Callable[..., HttpResponse]

_NAMED = re.compile(r"<str:([a-z_]+)>")


class Address(NamedTuple):
    """`fixed` and `named`: the parts by their place."""

    route: str
    view: View
    fixed: tuple[tuple[int, str], ...]
    named: tuple[tuple[int, str], ...]


class Addresses:
    def __init__(self, patterns: Iterable[URLPattern]) -> None:
        """Raises ValueError for an address of another kind."""
        self._by_length: dict[int, list[Address]] = {}
        for pattern in patterns:
            address = _address_of(str(pattern.pattern), pattern.callback)
            self._by_length.setdefault(len(address.fixed) + len(address.named), []).append(address)

    def find(self, path: str) -> tuple[Address, dict[str, str]]:
        """The address, and the texts of its named parts. The first that fits counts. Raises Http404."""
        parts = path.split("/")
        for address in self._by_length.get(len(parts), ()):
            for place, text in address.fixed:
                if parts[place] != text:
                    break
            else:
                arguments = {name: parts[place] for place, name in address.named}
                if "" not in arguments.values():
                    return address, arguments
        raise Http404


def _address_of(route: str, view: View) -> Address:
    fixed, named = [], []
    for place, part in enumerate(route.split("/")):
        found = _NAMED.fullmatch(part)
        if found is not None:
            named.append((place, found[1]))
        elif "<" in part:
            raise ValueError(f"{route}: only <str:name> between slashes is read here")
        else:
            fixed.append((place, part))
    return Address(route, view, tuple(fixed), tuple(named))
