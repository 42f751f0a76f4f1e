"""Conditions: typed comparisons, and what is not known, which never counts as met."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.tasks.config.documents import OPERATORS, Attribute, Condition, ValueType
from apps.tasks.config.values import is_of_type
from apps.tasks.evaluation.attributes import Registry
from apps.tasks.evaluation.conditions import BadCondition, Outcome, compile_groups, compile_row, lacking, outcome_of

SAMPLES: dict[ValueType, list[Any]] = {
    "number": [0, -1, 28, 30, 2.5, 2**60],
    "text": ["", "cn", "CN-east"],
    "boolean": [True, False],
    "date": ["2026-11-30", "2026-11-30T08:00:00+08:00", "2026-12-01T00:00:00Z"],
    "version": ["1.9", "1.10", "1.10.0", "2"],
}
WRONG: dict[ValueType, list[Any]] = {
    "number": ["30", True, math.nan, math.inf, [], {}],
    "text": [30, True, ["cn"]],
    "boolean": [0, 1, "true"],
    "date": [20261130, "30.11.2026", "tomorrow", "2026-13-01", "20261130", True],
    "version": [1.1, "v1", "1.", "1.2-beta", "", "1.2.3.4.5.6.7.8.9"],
}


def outcome(kind: ValueType, operator: str, wanted: Any, actual: Any, **more: Any) -> Outcome:
    registry = Registry({"it": Attribute(name="it", type=kind, **more)})
    row = compile_row(Condition(attribute="it", operator=operator, value=wanted), registry.attributes["it"])  # type: ignore[arg-type]
    return outcome_of(row, registry.read({} if actual is ... else {"it": actual}))


def wanted_of(kind: ValueType, operator: str) -> Any:
    samples = SAMPLES[kind]
    return {"in": samples, "not_in": samples, "between": [samples[0], samples[1]], "exists": None}.get(operator, samples[0])


EVERY = [(kind, operator) for kind, operators in OPERATORS.items() for operator in operators]


@pytest.mark.parametrize(("kind", "operator"), EVERY)
def test_what_is_missing_or_of_another_type_is_unknown_under_every_operator(kind: ValueType, operator: str) -> None:
    for actual in (..., None, *WRONG[kind]):
        assert outcome(kind, operator, wanted_of(kind, operator), actual) is None


@pytest.mark.parametrize(
    ("kind", "operator", "wanted", "met", "unmet"),
    [
        ("number", "=", 30, [30, 30.0], [29]),
        ("number", "!=", 30, [29], [30]),
        ("number", "<", 30, [29, -1], [30]),
        ("number", "<=", 30, [30], [30.5]),
        ("number", ">", 30, [30.5], [30]),
        ("number", ">=", 30, [30, 2**60], [29]),
        ("number", "in", [1, 2], [1, 2.0], [3]),
        ("number", "not_in", [1, 2], [3], [1]),
        ("number", "between", [1, 3], [1, 3], [0.9, 3.1]),
        ("number", "exists", None, [0], []),
        ("text", "=", "cn", ["cn"], ["CN"]),
        ("text", "contains", "east", ["cn-east"], ["east"[:-1]]),
        ("text", "in", ["cn", "sg"], ["sg"], ["us"]),
        ("boolean", "=", True, [True], [False]),
        ("boolean", "!=", True, [False], [True]),
        ("date", "before", "2026-11-30", ["2026-11-29", "2026-11-29T23:59:59Z", "2026-11-29T23:59:59"], ["2026-11-30"]),
        ("date", "after", "2026-11-30", ["2026-11-30", "2026-12-01"], ["2026-11-29T23:59:59.999999Z", "2026-11-30T07:59:59+08:00"]),
        ("date", "between", ["2026-11-01", "2026-12-01"], ["2026-11-01", "2026-11-30"], ["2026-10-31", "2026-12-01"]),
        ("version", "=", "1.10", ["1.10", "1.10.0"], ["1.1"]),
        ("version", ">", "1.9", ["1.10", "2"], ["1.9", "1.8.99"]),
        ("version", "between", ["1.2", "1.10"], ["1.2.1", "1.9", "1.10"], ["1.10.1", "1.1"]),
    ],
)
def test_known_values_are_compared(kind: ValueType, operator: str, wanted: Any, met: list[Any], unmet: list[Any]) -> None:
    assert [outcome(kind, operator, wanted, actual) for actual in met] == [True] * len(met)
    assert [outcome(kind, operator, wanted, actual) for actual in unmet] == [False] * len(unmet)


def test_a_default_stands_in_for_what_is_missing_but_not_for_what_is_wrong() -> None:
    assert outcome("number", "=", 0, ..., default=0) is True
    assert outcome("number", "exists", None, None, default=0) is True
    assert outcome("number", "=", 0, "0", default=0) is None


def test_an_attribute_that_is_not_registered_is_unknown() -> None:
    row = compile_row(Condition(attribute="it", operator="!=", value=1), None)

    assert outcome_of(row, Registry({}, ["it"]).read({"it": 2})) is None


@pytest.mark.parametrize(
    ("kind", "operator", "value"),
    [
        ("boolean", ">", True),
        ("text", "<", "a"),
        ("number", ">=", "30"),
        ("number", "in", 3),
        ("number", "between", [1]),
        ("number", "between", [1, 2, 3]),
        ("date", "before", "soon"),
        ("version", "in", ["1.0", "new"]),
        ("number", "=", None),
    ],
)
def test_a_row_that_makes_no_sense_is_refused(kind: ValueType, operator: str, value: Any) -> None:
    with pytest.raises(BadCondition, match="it"):
        compile_row(Condition(attribute="it", operator=operator, value=value), Attribute(name="it", type=kind))  # type: ignore[arg-type]


NAMES = ("a", "b", "c")
rows = st.builds(
    Condition,
    attribute=st.sampled_from((*NAMES, "unregistered")),
    operator=st.sampled_from(["=", "!=", "<", ">="]),
    value=st.integers(0, 3),
)
groups = st.lists(st.lists(rows, min_size=1, max_size=3), max_size=3)
known = st.dictionaries(st.sampled_from(NAMES), st.one_of(st.integers(0, 3), st.none(), st.just("wrong")))


@given(groups=groups, given_values=known)
def test_groups_are_met_only_by_what_would_hold_whatever_the_unknown_values_are(
    groups: list[list[Condition]], given_values: dict[str, Any]
) -> None:
    registry = Registry({name: Attribute(name=name, type="number") for name in NAMES}, ["unregistered"])
    compiled = compile_groups(groups, registry)
    values = registry.read(given_values)

    is_met = not lacking(compiled, values)

    assert is_met == (not groups or any(all(outcome_of(row, values) is True for row in group) for group in compiled))
    if is_met:
        unknown = [name for name in NAMES if values[name] is None]
        for guess in itertools.product(range(4), repeat=len(unknown)):
            assert not lacking(compiled, {**values, **dict(zip(unknown, guess, strict=True))})


@given(groups=groups.filter(bool), given_values=known)
def test_what_is_lacking_is_of_the_group_that_lacks_least(groups: list[list[Condition]], given_values: dict[str, Any]) -> None:
    registry = Registry({name: Attribute(name=name, type="number") for name in NAMES}, ["unregistered"])
    compiled, values = compile_groups(groups, registry), registry.read(given_values)

    fewest = min(sum(outcome_of(row, values) is not True for row in group) for group in compiled)

    assert len(lacking(compiled, values)) == fewest


@given(
    kind=st.sampled_from(list(SAMPLES)),
    value=st.one_of(
        st.integers(),
        st.floats(),
        st.text(max_size=12),
        st.booleans(),
        st.dates().map(str),
        st.datetimes().map(lambda moment: moment.isoformat()),
        st.lists(st.integers(0, 20), min_size=1, max_size=4).map(lambda parts: ".".join(map(str, parts))),
    ),
)
def test_what_validation_lets_pass_as_a_value_can_be_compared_with(kind: ValueType, value: Any) -> None:
    """Else a published task would be left out."""
    operator = OPERATORS[kind][0] if kind != "date" else "before"
    if is_of_type(value, kind):
        compile_row(Condition(attribute="it", operator=operator, value=value), Attribute(name="it", type=kind))
