"""Who may write whom, and who may use replicas, as looks come in and leases run out."""

from __future__ import annotations

from workers.messages import SegmentRow
from workers.ownership import OURS, TAKING, THEIRS, Ownership, StillTicks

LOW = SegmentRow("low", 1, 99, "a", "a", 0, 2_000)
HIGH = SegmentRow("high", 100, 2**63 - 1, "b", "b", 0, 2_000)
TAKEN = LOW._replace(owner="b", epoch=1)


def test_nobody_owns_anything_before_the_first_look() -> None:
    ownership = Ownership("a", False, {})

    assert ownership.row_of(7) is None
    assert not ownership.is_ours(7)
    assert not ownership.is_sure(7, 0.0)


def test_an_owner_is_sure_for_the_lease_counted_from_the_sending_of_its_look() -> None:
    ownership = Ownership("a", False, {})
    ownership.note([HIGH, LOW], looked_at=10.0)

    assert ownership.is_sure(7, 11.999)
    assert not ownership.is_sure(7, 12.0)
    assert ownership.is_ours(7), "the write's own transaction proves it"
    assert not ownership.is_sure(100, 10.5)


def test_alone_nobody_else_can_take_over_so_there_is_no_lease() -> None:
    ownership = Ownership("a", True, {})
    ownership.note([LOW], looked_at=10.0)

    assert ownership.is_sure(7, 1_000_000.0)


def test_what_was_taken_over_is_possessed_before_it_is_served() -> None:
    ownership = Ownership("b", False, {})
    ownership.note([TAKEN, HIGH], looked_at=10.0)
    assert ownership.state(TAKEN) == TAKING
    assert not ownership.is_ours(7)

    ownership.possess("low", 1)

    assert ownership.state(TAKEN) == OURS
    assert ownership.is_sure(7, 10.5)
    ownership.note([TAKEN._replace(epoch=3), HIGH], looked_at=11.0)
    assert not ownership.is_ours(7), "somebody else has had it between"


def test_after_a_break_of_the_timeline_even_a_first_owner_waits_out_the_lease() -> None:
    """The new master's rows may be old ones: what it lacks may have been a takeover."""
    ownership = Ownership("a", False, {"low": 0})
    ownership.note([LOW, HIGH], looked_at=10.0)
    assert ownership.is_ours(7)

    ownership.forget()

    assert not ownership.is_ours(7)
    assert [row.segment for row in ownership.unpossessed()] == ["low"]
    next_life = Ownership("a", False, ownership.possessed)
    next_life.note([LOW, HIGH], looked_at=11.0)
    assert not next_life.is_ours(7), "the next life of the worker knows of the break"
    next_life.possess("low", 0)
    assert next_life.is_ours(7)


def test_what_was_given_is_not_ours_from_then_on() -> None:
    ownership = Ownership("a", False, {})
    ownership.note([LOW, HIGH], looked_at=10.0)

    ownership.give_up("low", "b")

    assert not ownership.is_sure(7, 10.0)
    assert ownership.state(ownership.rows[0]) == THEIRS


def test_a_tick_stands_still_only_as_far_as_our_own_looks_come() -> None:
    still = StillTicks(longest_hole_s=1.0)
    still.note({"a": 5}, 0.0)
    still.note({"a": 5}, 0.5)
    still.note({"a": 5}, 0.9)
    assert still.still_s("a", 1.0) == 0.9

    still.note({"a": 5}, 3.0)

    assert still.still_s("a", 3.0) == 0.0, "a hole in our looks says nothing about the other"
    assert still.still_s("a", 9.0) == 0.0, "nor do looks that do not come"
