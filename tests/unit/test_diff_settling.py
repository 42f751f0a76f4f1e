"""When a key that looked different is different: only at the same position, only when it persists."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given, settings
from hypothesis import strategies as st

from apps.dbsvr.diff.chunk_size import LEAST_ROWS, MOST_ROWS, next_rows
from apps.dbsvr.diff.schedule import begun_at
from apps.dbsvr.diff.settling import STRIKES, Look, Timeline, has_passed


def at(tick: int, other: int = 1, generation: int = 1) -> dict[str, tuple[int, int]]:
    return {"a": (generation, tick), "b": (1, other)}


def seen(master: list[tuple[int, str | None]], replica: list[tuple[int, str | None]]) -> Timeline:
    timeline = Timeline()
    for tick, row in master:
        timeline.note_master(Look(at(tick), row))
    for tick, row in replica:
        timeline.note_replica(Look(at(tick), row))
    return timeline


def test_a_replica_between_two_like_looks_of_the_master_must_show_that_row() -> None:
    assert seen([(10, "x"), (20, "x")], [(15, "x")]).verdict is True
    assert seen([(10, "x"), (20, "x")], [(15, "y")]).strikes == 1
    assert seen([(10, "x"), (20, "x")], [(15, None)]).strikes == 1


def test_a_replica_that_is_behind_or_ahead_of_all_looks_proves_nothing() -> None:
    timeline = seen([(10, "x"), (20, "x")], [(5, "y"), (10, "y"), (20, "y"), (25, "y")])
    assert (timeline.strikes, timeline.verdict) == (0, None)


def test_a_row_that_changed_meanwhile_proves_nothing_unless_the_replica_shows_one_of_the_two() -> None:
    assert seen([(10, "x"), (20, "y")], [(15, "z")]).verdict is None
    assert seen([(10, "x"), (20, "y")], [(15, "z")]).strikes == 0
    assert seen([(10, "x"), (20, "y")], [(15, "x")]).verdict is True


def test_a_key_differs_only_after_several_looks_at_different_positions() -> None:
    master = [(10, "x"), (90, "x")]
    assert seen(master, [(20, "y")] * 10).strikes == 1  # a replica that does not move says the same again
    ticks = [(20 + number, "y") for number in range(STRIKES)]
    assert seen(master, ticks[:-1]).verdict is None
    assert seen(master, ticks).verdict is False


def test_a_position_is_passed_when_any_dbsvr_has_committed_since() -> None:
    assert has_passed(at(10, 2), at(10, 1))
    assert not has_passed(at(10, 1), at(10, 1))
    assert has_passed(at(1, 1, generation=2), at(99))
    assert has_passed({"a": (1, 1)}, {})


@settings(deadline=None)
@given(
    st.lists(st.integers(1, 60), max_size=12, unique=True),
    st.lists(st.tuples(st.integers(1, 60), st.integers(0, 60)), min_size=1, max_size=30),
)
def test_a_replica_that_only_lags_is_never_called_different(changes: list[int], looks: list[tuple[int, int]]) -> None:
    """The master's row changes at these ticks, and never comes back to what it was; the replica shows it with any lag at any look."""

    def row(tick: int) -> str | None:
        number = sum(when <= tick for when in changes)
        return None if number == 3 else str(number)  # once it is deleted

    timeline = Timeline()
    for tick in sorted({tick for tick, _ in looks}):
        timeline.note_master(Look(at(tick), row(tick)))
    for tick, lag in looks:
        timeline.note_replica(Look(at(max(0, tick - lag)), row(max(0, tick - lag))))
    assert (timeline.strikes, timeline.verdict in (True, None)) == (0, True)


def test_chunks_grow_towards_their_budget_and_never_in_leaps() -> None:
    assert next_rows(1000, 0.1, 0.5) == 4000
    assert next_rows(1000, 0.25, 0.5) == 2000
    assert next_rows(1000, 2.0, 0.5) == 250
    assert next_rows(1000, 60.0, 0.5) == LEAST_ROWS
    assert next_rows(MOST_ROWS, 0.01, 0.5) == MOST_ROWS
    assert next_rows(0, 0.0, 0.5) == LEAST_ROWS


def test_the_night_begins_at_its_hour_and_is_not_made_up_for_in_the_day() -> None:
    def now(hour: int, minute: int = 0) -> datetime:
        return datetime(2026, 3, 9, hour, minute, tzinfo=UTC)

    assert begun_at("03:00", now(2, 59)) is None
    assert begun_at("03:00", now(3)) == now(3)
    assert begun_at("03:00", now(4, 59)) == now(3)
    assert begun_at("03:00", now(5, 1)) is None
    assert begun_at("23:30", now(0, 15)) == datetime(2026, 3, 8, 23, 30, tzinfo=UTC)
    assert begun_at("", now(3)) is None
