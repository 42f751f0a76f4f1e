"""Two people change one document: what only one of them changed is taken, what both changed differently is shown."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.tasks.config.documents import from_plain
from apps.tasks.config.merge import MINE, THEIRS, Conflict, is_same, merge, settle, value_at, with_value
from tests.unit.config_strategies import MANY

BASE: dict[str, Any] = {
    "code": "daily-login",
    "starts_at": "2026-12-01T00:00:00Z",
    "points": 10,
    "texts": {"en": {"name": "Log in", "button": "Go"}},
    "period": {"kind": "daily", "zone": "Asia/Shanghai"},
    "conditions": [[{"attribute": "level", "operator": ">=", "value": 30}]],
}

text = st.fixed_dictionaries({"name": st.sampled_from(["a", "b", "c"])}, optional={"description": st.sampled_from(["", "d", "e"])})
row = st.fixed_dictionaries(
    {"attribute": st.just("x"), "operator": st.just("=")}, optional={"value": st.sampled_from([1, True, "1", None, 1.0])}
)
task = st.fixed_dictionaries(
    {"code": st.just("x"), "starts_at": st.sampled_from(["2026-12-01T00:00:00Z", "2026-12-02T00:00:00Z"])},
    optional={
        "points": st.integers(0, 2),
        "switched_off": st.booleans(),
        "ends_at": st.sampled_from([None, "2027-01-01T00:00:00Z"]),
        "texts": st.dictionaries(st.sampled_from(["en", "fr", "zh-hans"]), text),
        "period": st.fixed_dictionaries({}, optional={"kind": st.sampled_from(["once", "daily"]), "zone": st.sampled_from(["UTC", "GMT"])}),
        "caps": st.fixed_dictionaries({}, optional={"total": st.sampled_from([None, 1, 2]), "per_user": st.sampled_from([None, 1, 2])}),
        "streak": st.none() | st.fixed_dictionaries({"length": st.integers(2, 4)}, optional={"grace": st.integers(0, 2)}),
        "conditions": st.lists(st.lists(row, max_size=2), max_size=2),
        "tags": st.lists(st.sampled_from(["t", "u"]), max_size=2),
    },
)  # fmt: skip
document = st.none() | task


def leaves(plain: Any, path: tuple[str, ...] = ()) -> dict[tuple[str, ...], Any]:
    """Every value by its path. Null is absent."""
    if not isinstance(plain, dict):
        return {} if plain is None else {path: plain}
    return {inner: value for field, below in plain.items() for inner, value in leaves(below, (*path, field)).items()}


def is_told(conflicts: list[Conflict], path: tuple[str, ...]) -> bool:
    return any(path[: len(conflict.path)] == conflict.path or conflict.path[: len(path)] == path for conflict in conflicts)


@MANY
@given(document, document)
def test_a_side_that_changed_nothing_gives_way_to_the_other(base: Any, changed: Any) -> None:
    assert merge(base, changed, base).conflicts == merge(base, base, changed).conflicts == []
    assert is_same(leaves_of(merge(base, changed, base).document), leaves_of(changed))
    assert is_same(leaves_of(merge(base, base, changed).document), leaves_of(changed))


@MANY
@given(document, document)
def test_the_same_change_on_both_sides_is_no_conflict(base: Any, changed: Any) -> None:
    merged = merge(base, changed, changed)

    assert merged.conflicts == []
    assert is_same(leaves_of(merged.document), leaves_of(changed))


@MANY
@given(document, document, document)
def test_who_is_called_mine_decides_nothing_but_what_stands_at_a_conflict(base: Any, mine: Any, theirs: Any) -> None:
    one, other = merge(base, mine, theirs), merge(base, theirs, mine)

    mirrored = [Conflict(path, before, right, left) for path, before, left, right in other.conflicts]
    assert is_same([list(conflict) for conflict in one.conflicts], [list(conflict) for conflict in mirrored])
    for path in leaves(one.document).keys() | leaves(other.document).keys():
        if not is_told(one.conflicts, path):
            assert is_same(value_at(one.document, path), value_at(other.document, path))


@MANY
@given(document, document, document)
def test_no_change_of_anybody_is_lost(base: Any, mine: Any, theirs: Any) -> None:
    merged = merge(base, mine, theirs)

    before, got = leaves(base), leaves(merged.document)
    for side in (leaves(mine), leaves(theirs)):
        for path in before.keys() | side.keys():
            if not is_same(before.get(path), side.get(path)):
                assert is_same(got.get(path), side.get(path)) or is_told(merged.conflicts, path), path


@MANY
@given(document, document, document)
def test_nothing_appears_that_nobody_wrote(base: Any, mine: Any, theirs: Any) -> None:
    merged = merge(base, mine, theirs)

    for path, value in leaves(merged.document).items():
        assert any(is_same(value, value_at(side, path)) for side in (base, mine, theirs))


@MANY
@given(document, document, document)
def test_a_merged_task_is_a_task(base: Any, mine: Any, theirs: Any) -> None:
    merged = merge(base, mine, theirs)

    if merged.document is not None:
        from_plain("task", merged.document)


@MANY
@given(document, document, document, st.data())
def test_when_all_conflicts_are_decided_the_merge_has_what_was_chosen(base: Any, mine: Any, theirs: Any, data: st.DataObject) -> None:
    conflicts = merge(base, mine, theirs).conflicts
    chosen = {conflict.path: data.draw(st.sampled_from([MINE, THEIRS])) for conflict in conflicts}

    settled_base, settled_mine = base, mine
    for path, take in chosen.items():
        settled_base, settled_mine = settle(settled_base, settled_mine, theirs, path, take)
    merged = merge(settled_base, settled_mine, theirs)

    assert merged.conflicts == []
    for path, take in chosen.items():
        wanted = value_at(mine if take == MINE else theirs, path)
        assert is_same(leaves_of(value_at(merged.document, path)), leaves_of(wanted))


def leaves_of(plain: Any) -> list[Any]:
    return sorted(([list(path), value] for path, value in leaves(plain).items()), key=lambda leaf: leaf[0])


def test_different_fields_are_joined_and_the_same_field_is_a_conflict() -> None:
    mine = BASE | {"points": 20, "weight": 5}
    theirs = BASE | {"points": 15, "category": "daily"}

    merged = merge(BASE, mine, theirs)

    assert merged.document == BASE | {"points": 20, "weight": 5, "category": "daily"}
    assert merged.conflicts == [Conflict(("points",), 10, 20, 15)]


def test_fields_of_one_period_and_of_one_languages_text_are_joined() -> None:
    mine = BASE | {"period": {"kind": "weekly", "zone": "Asia/Shanghai"}, "texts": {"en": {"name": "Log in", "button": "Open"}}}
    theirs = BASE | {
        "period": {"kind": "daily", "zone": "Europe/Berlin"},
        "texts": {"en": {"name": "Come by", "button": "Go"}, "zh-hans": {"name": "登录"}},
    }

    merged = merge(BASE, mine, theirs)

    assert merged.conflicts == []
    assert merged.document is not None
    assert merged.document["period"] == {"kind": "weekly", "zone": "Europe/Berlin"}
    assert merged.document["texts"] == {"en": {"name": "Come by", "button": "Open"}, "zh-hans": {"name": "登录"}}


def test_a_period_that_was_the_default_on_one_side_is_joined_field_by_field() -> None:
    plain = {"code": "x", "starts_at": "2026-12-01T00:00:00Z"}

    merged = merge(plain, plain | {"period": {"kind": "daily"}}, plain | {"period": {"zone": "Asia/Shanghai"}})

    assert merged == (plain | {"period": {"kind": "daily", "zone": "Asia/Shanghai"}}, [])


def test_condition_rows_are_one_value() -> None:
    mine = BASE | {"conditions": [[{"attribute": "level", "operator": ">=", "value": 40}]]}
    theirs = BASE | {"conditions": []}

    assert [conflict.path for conflict in merge(BASE, mine, theirs).conflicts] == [("conditions",)]


def test_true_is_another_value_than_1() -> None:
    def with_flag(value: object) -> dict[str, Any]:
        return BASE | {"conditions": [[{"attribute": "flag", "operator": "=", "value": value}]]}

    assert merge(with_flag(1), with_flag(True), with_flag(1)).document == with_flag(True)
    assert [conflict.path for conflict in merge(with_flag(0), with_flag(True), with_flag(1)).conflicts] == [("conditions",)]


@pytest.mark.parametrize(
    ("base", "mine", "theirs"),
    [(BASE, None, BASE | {"points": 1}), (BASE, BASE | {"points": 1}, None), (None, BASE, BASE | {"points": 1})],
)
def test_removing_what_another_one_changed_and_adding_the_same_code_twice_are_conflicts_of_the_whole(
    base: Any, mine: Any, theirs: Any
) -> None:
    merged = merge(base, mine, theirs)

    assert merged.conflicts == [Conflict((), base, mine, theirs)]
    assert merged.document == mine
    for take, wanted in ((MINE, mine), (THEIRS, theirs)):
        assert merge(*settle(base, mine, theirs, (), take), theirs) == (wanted, [])


def test_a_streak_that_one_removes_and_another_one_changes_is_never_half_of_one() -> None:
    base = BASE | {"streak": {"length": 7}}

    merged = merge(base, BASE, BASE | {"streak": {"length": 7, "grace": 1}})

    assert merged.conflicts == [Conflict(("streak",), {"length": 7}, None, {"length": 7, "grace": 1})]


def test_a_value_is_put_in_its_place_and_taken_away_without_changing_the_original() -> None:
    assert with_value(BASE, ("texts", "fr", "name"), "Connexion") == BASE | {"texts": BASE["texts"] | {"fr": {"name": "Connexion"}}}
    assert with_value({"caps": {"total": 1}}, ("caps", "total"), None) == {}
    assert with_value(None, (), BASE) == BASE
    assert value_at(BASE, ("texts", "en", "name")) == "Log in"
    assert value_at(BASE, ("points", "x")) is None
    assert BASE["texts"] == {"en": {"name": "Log in", "button": "Go"}}
