from __future__ import annotations

import pytest

from workers.trails import ANY, NodeNumbers, Trails

LIFE_S = 300.0
NOW = 1000.0
LATER = NOW + LIFE_S + 1
"""When a start is so long ago that no copy is left from before it."""


@pytest.fixture
def trails() -> Trails:
    return Trails(NodeNumbers(), LIFE_S, 100, NOW)


def test_a_write_purges_the_nodes_that_asked_since_the_last_one_except_its_own(trails: Trails) -> None:
    trails.note(7, "n1", LATER)
    trails.note(7, "n2", LATER)

    assert trails.begin_write(7, "n1", LATER)[0] == ["n2"]
    assert trails.begin_write(7, "n3", LATER)[0] == ["n1"], "the writer's own node holds what it was set to"


def test_who_came_while_a_write_ran_stays_on_the_trail(trails: Trails) -> None:
    trails.begin_write(7, "n1", LATER)
    trails.note(7, "n2", LATER)

    assert trails.begin_write(7, "n1", LATER)[0] == ["n2"]


def test_a_write_that_was_not_applied_gives_the_trail_back(trails: Trails) -> None:
    trails.note(7, "n1", LATER)
    _, mask = trails.begin_write(7, "n2", LATER)
    trails.note(7, "n3", LATER)
    trails.give_back(7, mask, LATER)

    assert trails.begin_write(7, "n9", LATER)[0] == ["n1", "n2", "n3"]


def test_after_a_start_every_node_is_purged_until_all_copies_have_expired(trails: Trails) -> None:
    trails.note(7, "n1", NOW)
    assert trails.begin_write(7, "n1", NOW)[0] == [ANY]
    assert trails.begin_write(7, "n1", NOW)[0] == [], "this trail began with a write"
    assert trails.begin_write(8, "n1", LATER)[0] == [], "nobody has a copy who did not ask since"


def test_a_write_given_back_in_a_time_of_loss_is_no_whole_trail(trails: Trails) -> None:
    _, mask = trails.begin_write(7, "n1", NOW)
    trails.give_back(7, mask, NOW)

    assert trails.begin_write(7, "n2", NOW)[0] == [ANY]


def test_a_trail_lives_as_long_as_any_copy_of_it(trails: Trails) -> None:
    trails.turn(LATER)
    trails.note(7, "n1", LATER)
    trails.turn(LATER + LIFE_S)
    assert trails.begin_write(7, "n2", LATER + LIFE_S)[0] == ["n1"]

    trails.turn(LATER + 2 * LIFE_S)
    trails.turn(LATER + 3 * LIFE_S + 1)
    assert len(trails) == 0


def test_pressure_loses_trails_and_the_next_writes_purge_everywhere(trails: Trails) -> None:
    for uid in range(200):
        trails.note(uid, "n1", LATER)

    assert len(trails) <= 101
    assert trails.begin_write(5, "n2", LATER)[0] == [ANY]
