"""The judge must be right, or the checker proves nothing."""

from __future__ import annotations

from tests.consistency.history import READ, WRITE, FinalState, Operation, State, double_applications, judge, lost_and_invented, stale_reads

UID = 7


def read(began: float, ended: float, version: int | None, generation: int = 1) -> Operation:
    state = None if version is None else State(generation, version)
    return Operation(1, READ, UID, began, ended, state, served_by="r1")


def write(began: float, ended: float, version: int | None, event_id: str = "e1", applied: bool = True) -> Operation:
    state = None if version is None else State(1, version)
    return Operation(2, WRITE, UID, began, ended, state, event_id, applied and version is not None)


def test_a_read_older_than_an_acknowledged_write_is_stale() -> None:
    (violation,) = stale_reads([write(0, 1, 1), read(2, 3, 0)])

    assert violation.operations == (write(0, 1, 1), read(2, 3, 0))


def test_a_read_older_than_a_read_that_ended_before_is_stale() -> None:
    assert stale_reads([read(0, 1, 5), read(2, 3, 4)])


def test_concurrent_operations_may_be_seen_in_either_order() -> None:
    assert not stale_reads([write(0, 2, 1), read(1, 3, 0), read(1.5, 4, 1)])


def test_an_answer_that_never_came_promises_nothing() -> None:
    assert not stale_reads([write(0, 1, None), read(2, 3, 0)])


def test_a_new_generation_is_newer_than_any_version_of_the_old() -> None:
    assert not stale_reads([read(0, 1, 9), read(2, 3, 1, generation=2)])
    assert stale_reads([read(0, 1, 1, generation=2), read(2, 3, 9)])


def test_another_users_versions_do_not_matter() -> None:
    assert not stale_reads([write(0, 1, 9), read(2, 3, 0)._replace(uid=8)])


def test_an_event_applied_twice_is_found() -> None:
    assert double_applications([write(0, 1, 1), write(2, 3, 2)])
    assert not double_applications([write(0, 1, 1), write(2, 3, 1, applied=False)])


def test_a_lost_write_a_double_count_and_an_invented_event_are_found() -> None:
    history = [write(0, 1, 1)]

    assert lost_and_invented(history, {UID: FinalState(0, 0, frozenset())})
    assert lost_and_invented(history, {UID: FinalState(1, 2, frozenset({"e1"}))})
    assert lost_and_invented(history, {UID: FinalState(2, 2, frozenset({"e1", "e2"}))})
    assert not judge(history, {UID: FinalState(1, 1, frozenset({"e1"}))})


def test_a_write_without_an_answer_may_or_may_not_have_happened() -> None:
    history = [write(0, 1, None)]

    assert not judge(history, {})
    assert not judge(history, {UID: FinalState(1, 1, frozenset({"e1"}))})
