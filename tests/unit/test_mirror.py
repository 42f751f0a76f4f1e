from __future__ import annotations

from collections.abc import Callable

import pytest

from workers.messages import SegmentRow
from workers.mirror import ENTRIES_A_PART, Mirror, decode_part, hear
from workers.ownership import Ownership
from workers.trail_book import TrailBook
from workers.trails import ANY

LIFE_S = 300.0
NOW = 10_000.0
LATER = NOW + LIFE_S + 1
ROW = SegmentRow("s", 1, 10**12, "a", "a", 3, 2000)


def book(instance: str, now: float = NOW) -> TrailBook:
    ownership = Ownership(instance, False, {"s": 3})
    ownership.note([ROW], now)
    return TrailBook(ownership, LIFE_S, 1_000_000, now)


class Pair:
    """DBSvr a mirrors to DBSvr b; `is_cut` loses what is sent."""

    def __init__(self) -> None:
        self.a, self.b = book("a"), book("b")
        self.is_cut = False
        self.mirror = Mirror(self.a, self._ask)
        self.a.of_segment("s").changed = lambda uid: self.mirror.note("s", uid, LATER)
        self.mirror.begin(["s"])
        self.parts = 0

    def _ask(self, words: list[bytes], take: Callable[[object], None]) -> bool:
        if self.is_cut:
            return False
        hear(self.b, decode_part(words[1]), LATER)
        self.parts += 1
        take(1)
        return True

    def pump(self, times: int = 50) -> None:
        for _ in range(times):
            self.mirror.pump(LATER)


@pytest.fixture
def pair() -> Pair:
    return Pair()


def test_a_segment_that_is_given_with_its_trails_purges_only_whom_they_name(pair: Pair) -> None:
    pair.a.note([7], "n1", LATER)
    pair.a.note([7], "n2", LATER)
    pair.pump()
    pair.a.note([8], "n2", LATER)
    pair.mirror.finish("s", 4)
    pair.pump()

    assert ("s", 4) in pair.mirror.final_acknowledged
    pair.b.take("s", 4, LATER)
    assert pair.b.begin_write(7, "n9", LATER)[0] == ["n1", "n2"]
    assert pair.b.begin_write(8, "n9", LATER)[0] == ["n2"]
    assert pair.b.begin_write(9, "n9", LATER)[0] == []


def test_a_takeover_from_a_dead_owner_purges_everywhere_although_the_mirror_was_level(pair: Pair) -> None:
    pair.a.note([7], "n1", LATER)
    pair.pump()

    pair.b.take("s", 4, LATER)

    assert pair.b.begin_write(7, "n9", LATER)[0] == [ANY]


def test_what_the_owner_had_lost_stays_lost(pair: Pair) -> None:
    pair.a.of_segment("s").lose(LATER)
    pair.mirror.finish("s", 4)
    pair.pump()
    pair.b.take("s", 4, LATER)

    assert pair.b.begin_write(7, "n9", LATER)[0] == [ANY]
    assert pair.b.begin_write(7, "n9", LATER + LIFE_S + 1)[0] == []


def test_after_a_break_everything_is_sent_again_in_parts(pair: Pair) -> None:
    for uid in range(1, 3 * ENTRIES_A_PART):
        pair.a.note([uid], "n1", LATER)
    pair.is_cut = True
    pair.pump()
    assert not pair.mirror.is_level("s")

    pair.is_cut = False
    pair.mirror.begin(["s"])
    pair.pump()

    assert pair.mirror.is_level("s")
    assert pair.parts >= 3
    assert len(pair.b.of_segment("s")) == 3 * ENTRIES_A_PART - 1


def test_lag_is_the_age_of_what_waits_longest(pair: Pair) -> None:
    pair.pump()
    assert pair.mirror.lag_ms(LATER + 5) == 0.0

    pair.a.note([7], "n1", LATER)

    assert pair.mirror.lag_ms(LATER + 0.25) == pytest.approx(250)
