"""What is known of a user: his attributes, read as the types that the registry says they have.

Pure. A value that is missing, or that is not of its type, is *unknown*, and nothing is ever compared with it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timezone
from typing import Any, Literal, TypeAlias

from apps.tasks.config.documents import Attribute, ValueType

Known: TypeAlias = Any
"""A value as comparisons take it: number, text, bool, microseconds since 1970 for a date, a tuple of ints for a version."""

Values: TypeAlias = dict[str, Known | None]
"""By attribute, every one that a condition asks for; None: unknown."""

WhyUnknown: TypeAlias = Literal["missing", "wrong_type", "not_registered"]

_VERSION = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9}){0,7}\Z")
_EPOCH_ORDINAL = date(1970, 1, 1).toordinal()
_DAY_US = 86_400_000_000


class NotOfType(ValueError):
    """The value is not one of its attribute's type."""


@dataclass(frozen=True, slots=True)
class Profile:
    """A user as the profile system and the caller describe him, as JSON holds it. `from_caller` names what the caller passed."""

    uid: int
    attributes: Mapping[str, object] = field(default_factory=dict)
    from_caller: frozenset[str] = frozenset()


def read_number(value: object) -> Known:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise NotOfType(value)
    return value


def read_text(value: object) -> Known:
    if not isinstance(value, str):
        raise NotOfType(value)
    return value


def read_boolean(value: object) -> Known:
    if not isinstance(value, bool):
        raise NotOfType(value)
    return value


def read_date(value: object) -> Known:
    """A day is the moment at which it begins in UTC; a moment needs its offset."""
    if not isinstance(value, str):
        raise NotOfType(value)
    try:
        if len(value) == len("2026-11-30"):
            return (date.fromisoformat(value).toordinal() - _EPOCH_ORDINAL) * _DAY_US
        moment = datetime.fromisoformat(value)
        if "T" not in value or moment.tzinfo is None:
            raise NotOfType(value)
        in_utc = moment.astimezone(timezone.utc)
    except (ValueError, OverflowError) as error:
        raise NotOfType(value) from error
    seconds = in_utc.hour * 3600 + in_utc.minute * 60 + in_utc.second
    return (in_utc.toordinal() - _EPOCH_ORDINAL) * _DAY_US + seconds * 1_000_000 + in_utc.microsecond


def read_version(value: object) -> Known:
    """1.10 is later than 1.9; 1.10.0 is the same as 1.10."""
    if not isinstance(value, str) or not _VERSION.match(value):
        raise NotOfType(value)
    parts = [int(part) for part in value.split(".")]
    while len(parts) > 1 and parts[-1] == 0:
        parts.pop()
    return tuple(parts)


READERS: dict[ValueType, Callable[[object], Known]] = {
    "number": read_number,
    "text": read_text,
    "boolean": read_boolean,
    "date": read_date,
    "version": read_version,
}
"""How a JSON value becomes a known one. Each raises NotOfType."""


class Registry:
    """The attributes that a bundle's conditions may ask for. `asked`: those that they do ask for; one that is not registered is unknown."""

    def __init__(self, attributes: Mapping[str, Attribute], asked: Iterable[str] = ()) -> None:
        """Raises NotOfType for a default that is not of its attribute's type."""
        self.attributes = attributes
        self._readers = [(name, READERS[each.type]) for name, each in attributes.items()]
        self._nothing_given: Values = dict.fromkeys(asked)
        for name, each in attributes.items():
            self._nothing_given[name] = None if each.default is None else READERS[each.type](each.default)

    def read(self, given: Mapping[str, object]) -> Values:
        """What is known of a user: a default stands in for what is missing, never for what is wrong."""
        values = dict(self._nothing_given)
        for name, reader in self._readers:
            value = given.get(name)
            if value is not None:
                try:
                    values[name] = reader(value)
                except NotOfType:
                    values[name] = None
        return values

    def why_unknown(self, name: str, given: Mapping[str, object]) -> WhyUnknown:
        """Asked of an attribute whose value is None."""
        if name not in self.attributes:
            return "not_registered"
        return "missing" if given.get(name) is None else "wrong_type"

    def as_given(self, name: str, given: Mapping[str, object]) -> object:
        """The value that counts, as JSON holds it."""
        value = given.get(name)
        if value is not None or name not in self.attributes:
            return value
        return self.attributes[name].default
