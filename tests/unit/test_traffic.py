"""Counting by task and day, taken in portions, given back when they could not be written."""

from __future__ import annotations

from workers import traffic as traffic_module
from workers.traffic import ROWS_AT_ONCE, WRITE_EVERY_S, Row, Traffic

DAY = "2026-11-30"


def test_what_was_begun_and_completed_adds_up_by_task_and_day() -> None:
    traffic = Traffic()
    traffic.note(DAY, [7, 8], [7])
    traffic.note(DAY, [7], [])
    traffic.note("2026-12-01", [], [7])

    assert traffic.take(0.0) == [Row(7, DAY, 2, 1), Row(7, "2026-12-01", 0, 1), Row(8, DAY, 1, 0)]
    assert traffic.take(0.0) == []


def test_it_is_due_once_a_second_and_only_when_there_is_something() -> None:
    traffic = Traffic()
    assert not traffic.is_due(100.0)
    traffic.note(DAY, [7], [])
    assert traffic.is_due(100.0)
    traffic.take(100.0)
    traffic.note(DAY, [7], [])

    assert not traffic.is_due(100.0 + WRITE_EVERY_S - 0.01)
    assert traffic.is_due(100.0 + WRITE_EVERY_S)


def test_what_was_not_written_counts_with_what_came_since() -> None:
    traffic = Traffic()
    traffic.note(DAY, [7], [])
    rows = traffic.take(100.0)
    traffic.note(DAY, [7], [7])
    traffic.give_back(rows, again_at=110.0)

    assert not traffic.is_due(109.9)
    assert traffic.take(110.0) == [Row(7, DAY, 2, 1)]


def test_many_tasks_go_in_portions() -> None:
    traffic = Traffic()
    traffic.note(DAY, range(ROWS_AT_ONCE + 3), [])

    assert [len(traffic.take(0.0)) for _ in range(3)] == [ROWS_AT_ONCE, 3, 0]


def test_while_nothing_can_be_written_memory_is_bounded(monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr(traffic_module, "MOST", 10)
    traffic = Traffic()
    traffic.note(DAY, range(20), [])
    traffic.note(DAY, [0], [])

    rows = traffic.take(0.0)
    assert len(rows) == 10
    assert rows[0] == Row(0, DAY, 2, 0)


def test_old_days_are_forgotten_once_a_day() -> None:
    traffic = Traffic()

    assert traffic.oldest_kept("2026-11-30") == "2026-08-22"
    assert traffic.oldest_kept("2026-11-30") is None
    assert traffic.oldest_kept("2026-12-01") == "2026-08-23"
