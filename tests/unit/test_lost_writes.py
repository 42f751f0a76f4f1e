from __future__ import annotations

from workers import lost_writes
from workers.lost_writes import Acknowledged, AcknowledgedWrite


def write(number: int) -> AcknowledgedWrite:
    return AcknowledgedWrite(number, f"e{number}")


def test_what_was_acknowledged_past_the_fork_is_named() -> None:
    acknowledged = Acknowledged()
    acknowledged.begin(100)
    for tick in (101, 102, 103):
        acknowledged.note(tick, [write(tick)])

    assert acknowledged.after(101) == ([write(102), write(103)], True)
    assert acknowledged.after(103) == ([], True)


def test_a_fork_before_our_memory_begins_is_said() -> None:
    acknowledged = Acknowledged()
    acknowledged.begin(100)
    acknowledged.note(101, [write(101)])

    assert acknowledged.after(90) == ([write(101)], False)


def test_memory_is_bounded_and_what_was_forgotten_is_said() -> None:
    acknowledged = Acknowledged()
    acknowledged.begin(0)
    for tick in range(1, 4 + lost_writes.KEPT // 1000):
        acknowledged.note(tick, [write(tick)] * 1000)

    named, is_complete = acknowledged.after(0)
    assert len(named) <= lost_writes.KEPT
    assert not is_complete
