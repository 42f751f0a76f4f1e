"""What an audit entry changed: the two states side by side, place by place.

Pure. A place is the way to a value in the document, such as `texts.en.name` or `tiers.2.points`; numbers count from 1, as people do.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Side:
    """One place. None: there is nothing at this place on this side."""

    place: str
    before: str | None
    after: str | None

    @property
    def differs(self) -> bool:
        return self.before != self.after

    @property
    def change(self) -> str:
        if self.before is None:
            return "added"
        if self.after is None:
            return "removed"
        return "changed" if self.differs else "same"


def sides(before: object, after: object) -> list[Side]:
    """Every place of both, those of `before` in its order, then those that `after` has alone."""
    old, new = dict(_places(before)), dict(_places(after))
    return [Side(place, old.get(place), new.get(place)) for place in [*old, *(place for place in new if place not in old)]]


def differing(before: object, after: object) -> list[Side]:
    return [side for side in sides(before, after) if side.differs]


def as_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)


def _places(value: object, way: str = "") -> Iterator[tuple[str, str]]:
    if not way and (value is None or value == {}):
        return
    if isinstance(value, dict) and value:
        for name, inner in value.items():
            yield from _places(inner, f"{way}.{name}" if way else str(name))
    elif isinstance(value, list) and any(isinstance(inner, dict | list) for inner in value):
        for number, inner in enumerate(value, 1):
            yield from _places(inner, f"{way}.{number}" if way else str(number))
    else:
        yield way, as_text(value)
