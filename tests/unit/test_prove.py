"""The type was the filter, the snapshot is the proof (INV 5)."""

from __future__ import annotations

import pytest

from workers.messages import Ticket
from workers.slave_db_svr import prove

SNAPSHOTS = {7: b"{"}


def ticket(stamp: int, generation: int = 1) -> Ticket:
    return Ticket(1, generation, 99, stamp, 2**62, (7,))


@pytest.mark.parametrize("stamp", [0, 99, 100])
def test_a_snapshot_at_or_past_the_stamp_answers_the_read(stamp: int) -> None:
    assert prove([ticket(stamp)], 1, 100, SNAPSHOTS) == ([(99, [b"{"])], [])


@pytest.mark.parametrize("stamp", [101, 2**31, 2**62])
def test_a_snapshot_short_of_the_stamp_hands_the_read_back(stamp: int) -> None:
    assert prove([ticket(stamp)], 1, 100, SNAPSHOTS) == ([], [99])


def test_a_replica_swapped_for_one_without_our_row_hands_everything_back() -> None:
    assert prove([ticket(0), ticket(100)], 0, 0, {}) == ([], [99, 99])


def test_a_tick_of_another_generation_proves_nothing() -> None:
    assert prove([ticket(5, generation=1), ticket(5, generation=2)], 2, 100, SNAPSHOTS) == ([(99, [b"{"])], [99])


def test_a_group_is_proved_and_handed_back_as_a_whole() -> None:
    group = Ticket(1, 1, 99, 100, 2**62, (7, 8, 7))
    snapshots = {7: b"{7", 8: b"{8"}

    assert prove([group], 1, 100, snapshots) == ([(99, [b"{7", b"{8", b"{7"])], [])
    assert prove([group], 1, 99, snapshots) == ([], [99])
