"""What is known of a user: his attributes, read as the types that the registry says they have.

Pure. A value that is missing, or that is not of its type, is *unknown*, and nothing is ever compared with it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Set
from datetime import datetime, timedelta, timezone
from typing import Any, Literal, TypeAlias

import msgspec

from apps.tasks.config.documents import Attribute, ValueType
from apps.tasks.config.values import parse_date, parse_version

Known: TypeAlias = Any
"""A value as comparisons take it: number, text, bool, microseconds since 1970 for a date, a tuple of ints for a version."""

Values: TypeAlias = dict[str, Known | None]
"""By attribute, every one that a condition asks for; None: unknown."""

WhyUnknown: TypeAlias = Literal["missing", "wrong_type", "not_registered"]

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
MICROSECOND = timedelta(microseconds=1)


class NotOfType(ValueError):
    """The value is not one of its attribute's type."""


class Profile(msgspec.Struct, frozen=True):
    """A user as the profile system and the caller describe him, as JSON holds it.

    `from_caller` names what the caller passed, `outdated` what is older than it should be, because the profile system does not answer.
    """

    uid: int
    attributes: Mapping[str, object] = msgspec.field(default_factory=dict)
    from_caller: Set[str] = frozenset()
    outdated: frozenset[str] = frozenset()


def read_number(value: object) -> Known:
    if type(value) is int:  # most are
        return value
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
    """A day is the moment at which it begins in UTC."""
    moment = parse_date(value)
    if moment is None:
        raise NotOfType(value)
    # Comparing whole numbers is cheaper than comparing moments, and it is done far more often than this.
    return (moment - EPOCH) // MICROSECOND


def read_version(value: object) -> Known:
    """1.10 is later than 1.9; 1.10.0 is the same as 1.10."""
    parts = parse_version(value)
    if parts is None:
        raise NotOfType(value)
    return parts


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
        self._readers = {name: READERS[each.type] for name, each in attributes.items()}
        self._nothing_given: Values = dict.fromkeys(asked)
        for name, each in attributes.items():
            self._nothing_given[name] = None if each.default is None else READERS[each.type](each.default)

    def read(self, given: Mapping[str, object]) -> Values:
        """What is known of a user: a default stands in for what is missing, never for what is wrong."""
        values = dict(self._nothing_given)
        if not given:
            return values
        for name in self._readers:
            values[name] = self.read_one(name, given)
        return values

    def read_one(self, name: str, given: Mapping[str, object]) -> Known | None:
        """Of one that nobody has registered, None."""
        value, reader = given.get(name), self._readers.get(name)
        if value is None or reader is None:
            return self._nothing_given.get(name)
        try:
            return reader(value)
        except NotOfType:
            return None

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
