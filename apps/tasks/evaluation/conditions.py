"""Condition rows over what is known of a user: all rows of a group, one group of several.

Pure. Compiled when a bundle is loaded: a row becomes a closure that knows its comparison. An outcome is met (True), unmet (False) or
unknown (None), and only met is met: `level != 40` is not met by a user whose level nobody knows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from apps.tasks.config.documents import OPERATORS, Attribute, Condition
from apps.tasks.evaluation.attributes import READERS, Known, NotOfType, Registry, Values

Outcome: TypeAlias = bool | None
Test: TypeAlias = Callable[[Values], Outcome]


class BadCondition(ValueError):
    """The row makes no sense: an operator that its attribute's type lacks, or a value of another type."""


@dataclass(frozen=True, slots=True)
class Row:
    """One condition, ready to be asked."""

    condition: Condition
    test: Test


Groups: TypeAlias = tuple[tuple[Row, ...], ...]


def compile_groups(groups: Sequence[Sequence[Condition]], registry: Registry) -> Groups:
    """Raises BadCondition."""
    return tuple(tuple(Row(row, compile_row(row, registry.attributes.get(row.attribute))) for row in group) for group in groups)


def compile_row(condition: Condition, attribute: Attribute | None) -> Test:
    """Raises BadCondition. An attribute that is not registered is unknown of everybody."""
    if attribute is None:
        return _unknown
    if condition.operator not in OPERATORS[attribute.type]:
        raise BadCondition(f"{condition.attribute}: a {attribute.type} has no {condition.operator}")
    try:
        return _test(condition, attribute)
    except (NotOfType, TypeError) as error:
        raise BadCondition(f"{condition.attribute} {condition.operator}: the value does not fit a {attribute.type}") from error


def outcome_of(groups: Groups, values: Values) -> Outcome:
    """No group: everybody."""
    outcome: Outcome = not groups
    for group in groups:
        of_group = outcome_of_group(group, values)
        if of_group:
            return True
        if of_group is None:
            outcome = None
    return outcome


def outcome_of_group(group: Sequence[Row], values: Values) -> Outcome:
    outcome: Outcome = True
    for row in group:
        met = row.test(values)
        if not met:
            if met is None:
                outcome = None
            else:
                return False
    return outcome


def nearest_group(groups: Groups, values: Values) -> int:
    """The place of the group that lacks least to be met: of it, reasons are given. The first of several."""
    return min(range(len(groups)), key=lambda place: sum(1 for row in groups[place] if not row.test(values)))


def _unknown(values: Values) -> Outcome:
    return None


def _test(condition: Condition, attribute: Attribute) -> Test:  # one branch for each operator, no more
    name, operator, given = condition.attribute, condition.operator, condition.value
    read = READERS[attribute.type]
    if operator == "exists":
        return lambda values: True if name in values else None
    if operator in ("in", "not_in"):
        among = frozenset(read(each) for each in _list(given))
        if operator == "in":
            return lambda values: None if (value := values.get(name)) is None else value in among
        return lambda values: None if (value := values.get(name)) is None else value not in among
    if operator == "between":
        first, last = (read(each) for each in _list(given, length=2))
        if attribute.type == "date":
            return lambda values: None if (value := values.get(name)) is None else first <= value < last
        return lambda values: None if (value := values.get(name)) is None else first <= value <= last
    return _comparison(name, operator, read(given))


def _comparison(name: str, operator: str, wanted: Known) -> Test:
    match operator:
        case "=":
            return lambda values: None if (value := values.get(name)) is None else value == wanted
        case "!=":
            return lambda values: None if (value := values.get(name)) is None else value != wanted
        case "<" | "before":
            return lambda values: None if (value := values.get(name)) is None else value < wanted
        case "<=":
            return lambda values: None if (value := values.get(name)) is None else value <= wanted
        case ">":
            return lambda values: None if (value := values.get(name)) is None else value > wanted
        case ">=" | "after":
            return lambda values: None if (value := values.get(name)) is None else value >= wanted
        case "contains":
            return lambda values: None if (value := values.get(name)) is None else wanted in value
    raise BadCondition(f"there is no operator {operator}")


def _list(value: object, length: int | None = None) -> Sequence[object]:
    if not isinstance(value, list | tuple) or (length is not None and len(value) != length):
        raise NotOfType(value)
    return value
