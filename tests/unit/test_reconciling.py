"""A draft and what is live, brought together: properties that hold whatever both have changed."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from apps.tasks.config.documents import Attribute, Configuration, Task, Text, to_plain
from apps.tasks.publishing.reconciling import (
    Item,
    brought_back,
    changed_keys,
    plain_at,
    reconcile,
    reconcile_roll_back,
    what_rolls_back,
    with_authors,
)

BEGAN = datetime(2026, 1, 1, tzinfo=timezone.utc)


def task(code: str, **fields: Any) -> Task:
    return Task(**{"code": code, "starts_at": BEGAN, "texts": {"en": Text(name=code)}, **fields})


def configuration(*documents: Any) -> Configuration:
    return Configuration().changed({("task" if isinstance(each, Task) else "attribute", _key(each)): each for each in documents})


def _key(document: Any) -> str:
    return document.code if isinstance(document, Task) else document.name


configurations = st.dictionaries(
    st.sampled_from("abcd"), st.builds(dict, points=st.integers(0, 2), weight=st.integers(0, 1), archived=st.booleans()), max_size=4
).map(lambda tasks: configuration(*(task(code, **fields) for code, fields in tasks.items())))


def items(base: Configuration, mine: Configuration) -> dict[tuple[str, str], Item]:
    return {(kind, key): Item(plain_at(base, kind, key), plain_at(mine, kind, key)) for kind, key in changed_keys(base, mine)}


@given(configurations, configurations)
def test_on_its_own_base_a_draft_is_what_its_editor_wrote(base: Configuration, mine: Configuration) -> None:
    found = reconcile(items(base, mine), base)

    assert found.conflicts == []
    assert found.on(base) == mine


@given(configurations, configurations)
def test_a_draft_that_changes_nothing_leaves_everything_as_it_is(base: Configuration, live: Configuration) -> None:
    assert reconcile(items(base, base), live).on(live) == live


@given(configurations, configurations, configurations)
def test_a_field_that_only_the_others_changed_is_theirs_and_one_that_both_changed_is_told(
    base: Configuration, mine: Configuration, live: Configuration
) -> None:
    found = reconcile(items(base, mine), live)

    merged = found.on(live)
    told = {(conflict.key, *conflict.path) for conflict in found.conflicts}
    for code in base.tasks.keys() & mine.tasks.keys() & live.tasks.keys():
        for field in ("points", "weight", "archived"):
            was, is_mine, is_live = (getattr(each.tasks[code], field) for each in (base, mine, live))
            got = getattr(merged.tasks[code], field)
            if is_mine in (was, is_live):
                assert got == is_live
            elif is_live == was:
                assert got == is_mine
            else:
                assert (code, field) in told


@given(configurations, configurations)
def test_a_roll_back_brings_back_all_and_archives_what_was_not_there(target: Configuration, live: Configuration) -> None:
    after = reconcile_roll_back(what_rolls_back(target, live), live, target, live)

    assert after.conflicts == []
    result = after.on(live)
    assert {code: result.tasks[code] for code in target.tasks} == target.tasks
    assert all(result.tasks[code].archived for code in live.tasks.keys() - target.tasks.keys())


@given(configurations, configurations, configurations)
def test_what_came_after_a_roll_back_was_begun_is_told_unless_it_is_the_same(
    target: Configuration, base: Configuration, live: Configuration
) -> None:
    found = reconcile_roll_back(what_rolls_back(target, base), base, target, live)

    told = {(conflict.kind, conflict.key) for conflict in found.conflicts}
    for kind, key in changed_keys(base, live):
        theirs = plain_at(live, kind, key)
        assert (kind, key) in told or theirs == brought_back(kind, key, target, live)


def test_attributes_are_taken_away_and_tasks_are_archived() -> None:
    old, new = configuration(task("a")), configuration(task("a"), task("b"), Attribute(name="level", type="number"))

    found = what_rolls_back(old, new)

    assert found[("attribute", "level")].document is None
    assert found[("task", "b")].document == to_plain(msgspec.structs.replace(task("b"), archived=True))


def test_a_conflict_names_the_newest_revision_that_changed_the_document() -> None:
    base, mine, live = (configuration(task("a", points=points)) for points in (1, 2, 3))
    conflicts = reconcile(items(base, mine), live).conflicts
    change = {"kind": "task", "key": "a"}

    (told,) = with_authors(conflicts, [(8, "li", BEGAN, [change]), (7, "wang", BEGAN, [change]), (9, "zhao", BEGAN, [])])

    assert (told.revision, told.by, str(told)) == (8, "li", "task a.points")
