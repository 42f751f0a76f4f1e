from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.changes import apply_changes, clear, decode_results, encode_results
from workers.protocol import COMPLETED, IN_PROGRESS, MAX_VALUE, BadArgument, Change
from workers.users import Record, User

NOW = 1_800_000_000_000
KEY = (1, "once")


def user_with(progress: int = 0, state: str = IN_PROGRESS, version: int = 3, points: int = 0) -> User:
    return User(7, version=version, points=points, tasks={KEY: Record(progress=progress, state=state)})


@pytest.mark.parametrize(
    ("op", "value", "before", "after"),
    [("add", 2, 5, 7), ("max", 3, 5, 5), ("max", 9, 5, 9), ("set", 1, 5, 1), ("complete", 0, 5, 5)],
)
def test_each_operation_moves_progress_its_own_way(op: str, value: int, before: int, after: int) -> None:
    user = user_with(progress=before)

    (result,) = apply_changes(user, [Change(task=1, period="once", op=op, value=value)], NOW)

    assert result.progress == after == user.tasks[KEY].progress
    assert user.version == 4


def test_points_are_granted_once_when_progress_reaches_the_target() -> None:
    user = user_with(progress=2)
    step = Change(task=1, period="once", op="add", value=1, target=3, points=50)

    (first,) = apply_changes(user, [step], NOW)
    (second,) = apply_changes(user, [step], NOW + 1)

    assert (first.completed_now, first.points, first.state) == (True, 50, COMPLETED)
    assert (second.completed_now, second.points, second.progress) == (False, 0, 4)
    assert user.points == 50
    assert user.tasks[KEY].completed_at == NOW


def test_complete_reaches_the_target_at_once() -> None:
    user = User(7)

    (result,) = apply_changes(user, [Change(task=1, period="2026-11-30", op="complete", target=3, points=5)], NOW)

    assert (result.progress, result.state, result.points) == (3, COMPLETED, 5)
    assert user.touched == {(1, "2026-11-30")}


def test_a_refused_change_leaves_the_user_as_he_was() -> None:
    user = user_with(progress=5)
    changes = [Change(task=1, period="once", op="add", value=1), Change(task=2, period="once", op="set", value=MAX_VALUE)]
    overflow = [*changes, Change(task=2, period="once", op="add", value=1)]

    with pytest.raises(BadArgument, match="task 2"):
        apply_changes(user, overflow, NOW)

    assert user == user_with(progress=5)


def test_changes_of_one_event_build_on_each_other() -> None:
    user = User(7)

    results = apply_changes(user, [Change(task=1, period="once", op="add", value=2)] * 3, NOW)

    assert [result.progress for result in results] == [2, 4, 6]
    assert user.version == 1


def test_a_clear_keeps_only_a_higher_version() -> None:
    user = user_with(progress=5, points=70)

    clear(user)

    assert (user.version, user.points, user.tasks, user.cleared) == (4, 0, {}, True)


@given(st.lists(st.tuples(st.sampled_from(["add", "max", "set", "complete"]), st.integers(0, 1000)), min_size=1, max_size=20))
def test_the_same_changes_on_the_same_user_give_the_same_results(steps: list[tuple[str, int]]) -> None:
    changes = [Change(task=1, period="once", op=op, value=value, target=500, points=1) for op, value in steps]
    one, other = user_with(), user_with()

    results = apply_changes(one, changes, NOW)

    assert results == apply_changes(other, changes, NOW)
    assert one == other
    assert one.points <= 1
    assert decode_results(encode_results(results)) == results
