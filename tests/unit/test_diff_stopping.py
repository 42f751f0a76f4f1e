"""When the replica diff stops the use of a replica, and when it lets it be used again."""

from __future__ import annotations

from apps.dbsvr.diff.stopping import BY, HOLD, RELEASE, decide
from apps.dbsvr.holds import Held


def test_a_replica_is_held_when_more_rows_differ_than_are_tolerated() -> None:
    assert decide(101, None, hold_above=100) == HOLD
    assert decide(100, None, hold_above=100) == ""
    assert decide(101, None, hold_above=0) == "", "switched off"


def test_what_it_has_held_itself_is_released_when_all_is_equal_and_what_an_operator_holds_is_not() -> None:
    assert decide(0, Held("101 rows differ", BY, 1), hold_above=100) == RELEASE
    assert decide(1, Held("101 rows differ", BY, 1), hold_above=100) == "", "until it is clean"
    assert decide(0, Held("a new disk", "wang", 1), hold_above=100) == ""
