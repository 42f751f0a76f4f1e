from __future__ import annotations

import pytest

from workers.timelines import ADOPTION, PROMOTION, RESTORE, Forks, Found, Known, Timeline, is_outdated, timeline_of

M, R = 1, 2
"""Server ids: the master that was, and the replica that is promoted."""


def found(generation: int, tick: int, recorded: int = M, here: int = M, generation_here: int = 0, fork_tick: int = 0) -> Found:
    return Found(generation, tick, fork_tick, recorded, here, generation_here or (generation if recorded == here else 0))


def test_a_generation_goes_on_while_the_same_server_has_all_that_was_seen() -> None:
    assert timeline_of(found(1, 500), Known(1, 500, M)) == Timeline(1, 0)
    assert timeline_of(found(3, 500, fork_tick=90), Known()) == Timeline(3, 90), "a front without memory takes it as it is"


def test_a_promoted_replica_begins_a_generation_also_when_it_lacks_nothing() -> None:
    assert timeline_of(found(1, 480, recorded=M, here=R), Known(1, 500, M)) == Timeline(2, 480, PROMOTION)
    assert timeline_of(found(1, 500, recorded=M, here=R), Known(1, 500, M)) == Timeline(2, 500, PROMOTION)
    assert timeline_of(found(1, 500, recorded=M, here=R), Known()) == Timeline(2, 500, PROMOTION)


def test_a_database_that_went_back_begins_a_generation() -> None:
    assert timeline_of(found(1, 400), Known(1, 500, M)) == Timeline(2, 400, RESTORE)
    assert timeline_of(found(1, 400), Known(3, 20, M)) == Timeline(4, 400, RESTORE), "above everything that was seen"


def test_a_second_instance_takes_the_generation_that_the_first_has_begun() -> None:
    assert timeline_of(found(1, 480, recorded=M, here=R, generation_here=2), Known(1, 500, M)) == Timeline(2, 480, PROMOTION)
    assert timeline_of(found(1, 1, recorded=0, here=R, generation_here=4), Known()) == Timeline(4, 1), "a new instance: nothing has ended"


def test_an_operators_generation_is_taken_and_named() -> None:
    assert timeline_of(found(2, 401, fork_tick=400), Known(1, 500, M)) == Timeline(2, 400, ADOPTION)


def test_a_former_master_is_outdated_and_a_restored_one_is_not() -> None:
    assert is_outdated(found(1, 900), Known(2, 20, R)), "another server, of an older generation"
    assert not is_outdated(found(1, 900), Known(2, 20, M)), "the very server that we knew, restored"
    assert not is_outdated(found(2, 30, here=R, recorded=R), Known(2, 20, R))
    assert not is_outdated(found(1, 480, recorded=M, here=R), Known(1, 500, M)), "a promotion is of the same generation at first"


@pytest.mark.parametrize(
    ("generation", "tick", "passed"),
    [(1, 90, None), (1, 91, 90), (2, 190, None), (2, 201, 200), (3, 999, None), (1, 150, 90)],
)
def test_who_has_gone_past_a_fork_of_a_later_generation_holds_what_the_master_lacks(generation: int, tick: int, passed: int | None) -> None:
    assert Forks({2: 90, 3: 200}).passed_by(generation, tick) == passed
