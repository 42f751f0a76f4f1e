"""Condition rows over what is known of a user: all rows of a group, one group of several.

Pure. Compiled when a bundle is loaded: a row becomes a check of a known value. Whether the value is known at all is asked before any check:
so no comparison, a negation least of all, can be met by what nobody knows.

One task is asked row by row (`lacking`, which says what is lacking). All tasks of a bundle are asked attribute by attribute (`Table`, which
only says whether something is): there are far fewer attributes than rows, and users share their values.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TypeAlias

from apps.tasks.config.documents import OPERATORS, Attribute, Condition
from apps.tasks.evaluation.attributes import READERS, Known, NotOfType, Registry, Values

Outcome: TypeAlias = bool | None

MOST_VALUES = 512
"""Of one attribute. A level or a region has fewer; what has more (a balance) is asked anew, at the price of its own rows."""


class BadCondition(ValueError):
    """The row makes no sense: an operator that its attribute's type lacks, or a value of another type."""


Row: TypeAlias = tuple[str, Callable[[Known], bool], Condition]
"""One condition, ready to be asked: its attribute, the check (only ever given a known value), the row itself. A plain tuple, since
a thousand are taken apart for each user, and Python does that fastest."""
Group: TypeAlias = tuple[Row, ...]
Groups: TypeAlias = tuple[Group, ...]


def compile_groups(groups: Sequence[Sequence[Condition]], registry: Registry) -> Groups:
    """Raises BadCondition."""
    return tuple(tuple(compile_row(row, registry.attributes.get(row.attribute)) for row in group) for group in groups)


def compile_row(condition: Condition, attribute: Attribute | None) -> Row:
    """Raises BadCondition. An attribute that is not registered is unknown of everybody."""
    if attribute is None:
        return (condition.attribute, _never, condition)
    if condition.operator not in OPERATORS[attribute.type]:
        raise BadCondition(f"{condition.attribute}: a {attribute.type} has no {condition.operator}")
    try:
        return (condition.attribute, _check(condition, attribute), condition)
    except (NotOfType, TypeError) as error:
        raise BadCondition(f"{condition.attribute} {condition.operator}: the value does not fit a {attribute.type}") from error


def lacking(groups: Groups, values: Values) -> list[Row]:
    """The rows, of the group that lacks least, that are not met, unknown ones too. None when a group is met, or when there is no group."""
    least: list[Row] = []
    for group in groups:
        found: list[Row] = []
        for row in group:
            attribute, check, _condition = row
            value = values[attribute]
            if value is None or not check(value):
                found.append(row)
        if not found:
            return found
        if not least or len(found) < len(least):
            least = found
    return least


Check: TypeAlias = Callable[[Known], bool]


class Table:
    """The groups of many tasks by attribute: which of them a value of it leaves unmet, as the bits of one number.

    What was found for a value is kept as JSON holds the value, MOST_VALUES of each attribute: most users cost a look-up for each, and
    nothing is read. Values that are equal are read as equals and meet the same rows, but for true and 1.
    """

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._columns: dict[str, tuple[dict[object, int], list[tuple[Check, int]]]] = {}
        self._tasks: list[int] = []
        self._groups = 0
        self._lacking: dict[int, tuple[int, ...]] = {0: ()}

    def add(self, groups: Groups) -> int:
        """The bits of a task's groups; 0 without any. He lacks something of whom all of them are unmet."""
        bits = 0
        for group in groups:
            bit = 1 << self._groups
            for attribute, check, _condition in group:
                self._columns.setdefault(attribute, ({}, []))[1].append((check, bit))
            bits |= bit
            self._groups += 1
        self._tasks.append(bits)
        return bits

    def unmet(self, given: Mapping[str, object]) -> int:
        """The bits of all groups in which a row is not met. `given`: what is said of a user, as JSON holds it."""
        unmet, get = 0, given.get
        for attribute, (known, checks) in self._columns.items():
            value = get(attribute)
            if value is True or value is False:
                value = (value,)  # JSON has no tuples
            try:
                unmet |= known[value]
            except TypeError:  # a list or an object is of no type, and neither is this
                unmet |= self._bits((), attribute, given, known, checks)
            except KeyError:
                unmet |= self._bits(value, attribute, given, known, checks)
        return unmet

    def _bits(
        self, value: object, attribute: str, given: Mapping[str, object], known: dict[object, int], checks: Iterable[tuple[Check, int]]
    ) -> int:
        bits = known.get(value)
        if bits is None:
            bits = _unmet_by(self._registry.read_one(attribute, given), checks)
            if len(known) >= MOST_VALUES:
                known.clear()
            known[value] = bits
        return bits

    def lacking(self, unmet: int) -> tuple[int, ...]:
        """The places of the tasks, in the order in which they were added, of which no group is met. Users share this too."""
        places = self._lacking.get(unmet)
        if places is None:
            places = tuple(place for place, bits in enumerate(self._tasks) if bits and unmet & bits == bits)
            if len(self._lacking) >= MOST_VALUES:
                self._lacking = {0: ()}
            self._lacking[unmet] = places
        return places


def _unmet_by(value: Known | None, checks: Iterable[tuple[Check, int]]) -> int:
    bits = 0
    for check, bit in checks:
        if value is None or not check(value):
            bits |= bit
    return bits


def outcome_of(row: Row, values: Values) -> Outcome:
    """Met (True), unmet (False) or unknown (None)."""
    attribute, check, _condition = row
    value = values[attribute]
    return None if value is None else check(value)


def _never(value: Known) -> bool:
    return False


def _always(value: Known) -> bool:
    return True


def _check(condition: Condition, attribute: Attribute) -> Callable[[Known], bool]:
    """The comparison with its wanted value in it. Mostly calls in which no Python code runs: a thousand are made for each user."""
    given, read = condition.value, READERS[attribute.type]
    match condition.operator:
        case "exists":
            return _always
        case "in":
            return frozenset(read(each) for each in _list(given)).__contains__
        case "not_in":
            unwanted = frozenset(read(each) for each in _list(given))
            return lambda value: value not in unwanted
        case "between":
            first, last = (read(each) for each in _list(given, length=2))
            if attribute.type == "date":
                return lambda value: bool(first <= value < last)
            return lambda value: bool(first <= value <= last)
        case "contains":
            part = read(given)
            return lambda value: part in value
        case other:
            return partial(_SEEN_FROM_WANTED[other], read(given))


_SEEN_FROM_WANTED: dict[str, Callable[[Known, Known], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.gt,
    "before": operator.gt,
    "<=": operator.ge,
    ">": operator.lt,
    ">=": operator.le,
    "after": operator.le,
}
"""The wanted value is the first operand: level >= 30 is 30 <= level."""


def _list(value: object, length: int | None = None) -> Sequence[object]:
    if not isinstance(value, list | tuple) or (length is not None and len(value) != length):
        raise NotOfType(value)
    return value
