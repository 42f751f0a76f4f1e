"""The judge must be right, or the checker proves nothing."""

from __future__ import annotations

from tests.consistency.history import (
    CLEAR,
    READ,
    WRITE,
    FinalState,
    Operation,
    State,
    double_applications,
    judge,
    long_waits,
    lost_and_invented,
    overtaking_reads,
    shortest,
    stale_reads,
    two_faced_versions,
)

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


def clear(began: float, ended: float, version: int | None, applied: bool = True) -> Operation:
    return write(began, ended, version, "clear", applied)._replace(kind=CLEAR)


def test_a_clear_raises_the_version_and_takes_the_counter_back() -> None:
    history = [write(0, 1, 1), clear(2, 3, 2), write(4, 5, 3, "e2")]
    events = frozenset({"e1", "clear", "e2"})

    assert not judge(history, {UID: FinalState(3, 1, events)})
    assert lost_and_invented(history, {UID: FinalState(3, 2, events)}), "the clear did not clear"
    assert lost_and_invented(history, {UID: FinalState(3, 0, events)}), "it cleared what came after it"
    assert lost_and_invented(history, {UID: FinalState(2, 1, events - {"clear"})}), "it was acknowledged, and lost"


def test_a_clear_whose_moment_nobody_knows_may_have_come_at_any() -> None:
    history = [write(0, 1, 1), clear(2, 3, None), write(4, 5, 3, "e2")]
    events = frozenset({"e1", "clear", "e2"})

    assert not judge(history, {UID: FinalState(3, 1, events)})
    assert lost_and_invented(history, {UID: FinalState(3, 4, events)})


def test_a_read_that_overtakes_a_write_on_its_connection_is_found() -> None:
    sent_first = write(0, 9, 3)._replace(connection=5, place=1)
    sent_later = read(0, 9, 2)._replace(connection=5, place=2)

    assert overtaking_reads([sent_later, sent_first])
    assert not overtaking_reads([sent_first, sent_later._replace(connection=6)]), "another connection promises nothing"
    assert not overtaking_reads([sent_first._replace(place=3), sent_later]), "sent before the write"


def test_one_version_with_two_counters_is_found() -> None:
    assert two_faced_versions([read(0, 1, 2)._replace(progress=2), read(0, 1, 2)._replace(progress=1)])
    assert not two_faced_versions([read(0, 1, 2)._replace(progress=2), read(0, 1, 3)._replace(progress=1)])


def test_a_read_that_waits_long_is_found_unless_all_who_could_serve_it_were_in_trouble() -> None:
    assert long_waits([read(10, 13, 1)], 2.0)
    assert long_waits([read(10, 13, None)], 2.0), "and had no answer in the end"
    assert not long_waits([read(10, 11, 1)], 2.0)
    assert not long_waits([read(10, 13, 1)], 2.0, [(12, 20)])
    assert not long_waits([write(10, 13, 1)], 2.0), "a write may wait for a lock"


def test_the_shortest_history_is_told_with_relative_times_and_with_where_a_version_came_from() -> None:
    near, far = read(100, 101, 1), read(200, 201, 0)
    history = [write(99, 99.5, 1), near, read(101.5, 102, 0), far]

    least = shortest(stale_reads(history))

    assert least is not None
    assert least.operations == (near, read(101.5, 102, 0))
    assert least.makers == (write(99, 99.5, 1),)
    first, maker, shown, stale = str(least).splitlines()
    assert "older than one that ended" in first
    assert "uid 7" in first
    assert maker.startswith("          0.0 …     500.0  client 2")
    assert shown.startswith("  *    1000.0 …    2000.0")
    assert stale.startswith("  *    2500.0 …    3000.0")
