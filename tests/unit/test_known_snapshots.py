from __future__ import annotations

from workers.known_snapshots import BYTES_OF_AN_ENTRY, HALF_LIFE_S, KnownSnapshots, Versioned

NOW = 1000.0


def read(*uids: int) -> dict[int, Versioned]:
    return dict.fromkeys(uids, (b"1", b"x" * 50))


def known_at(now: float = NOW, most_bytes: int = 1_000_000) -> KnownSnapshots:
    known = KnownSnapshots(most_bytes)
    known.find([], now)
    return known


def test_what_was_read_is_found_with_its_version_and_nothing_else_is() -> None:
    known = known_at()

    known.keep(1, {7: (b"3", b'{"uid":7')}, NOW)

    assert known.find([6, 7, 8], NOW) == {7: (b"3", b'{"uid":7')}


def test_a_later_reading_takes_the_place_of_an_earlier_one_in_either_half() -> None:
    known = known_at()
    known.keep(1, {7: (b"3", b"three")}, NOW)
    known.find([], NOW + HALF_LIFE_S + 1)

    known.keep(1, {7: (b"4", b"four")}, NOW + HALF_LIFE_S + 1)

    assert known.find([7], NOW + HALF_LIFE_S + 1) == {7: (b"4", b"four")}


def test_what_is_asked_for_all_the_time_is_read_anew_all_the_same() -> None:
    known = known_at()
    known.keep(1, read(7), NOW)

    found = [age for age in range(200) if known.find([7], NOW + age)]

    assert found == list(range(2 * int(HALF_LIFE_S) + 2)), "one half life as the newer half, one as the older"


def test_after_a_long_rest_nothing_is_believed() -> None:
    known = known_at()
    known.keep(1, read(7), NOW)

    assert known.find([7], NOW + 3 * HALF_LIFE_S) == {}


def test_another_generation_begins_with_nothing() -> None:
    known = known_at()
    known.keep(1, read(7), NOW)

    known.keep(2, read(8), NOW)

    assert known.generation == 2
    assert list(known.find([7, 8], NOW)) == [8]


def test_memory_is_bounded_and_what_was_read_last_is_there() -> None:
    entry = 50 + BYTES_OF_AN_ENTRY
    known = known_at(most_bytes=20 * entry)

    for uid in range(1000):
        known.keep(1, read(uid), NOW)

    found = known.find(range(1000), NOW)
    assert 10 <= len(found) <= 21
    assert 999 in found


def test_versions_are_asked_for_where_that_is_cheaper_than_reading_all_whole() -> None:
    known = known_at()

    worth = {
        (found, wanted) for found, wanted in ((1, 1), (0, 1), (26, 26), (22, 26), (8, 26), (3, 4)) if known.is_worth_asking(found, wanted)
    }

    assert worth == {(1, 1), (26, 26), (22, 26)}


def test_where_users_change_between_their_reads_nobody_asks_for_versions_until_they_rest() -> None:
    known = known_at()

    known.note_unchanged(50, 500)
    assert not known.is_worth_asking(26, 26)

    for _ in range(8):
        known.note_unchanged(500, 500)
    assert known.is_worth_asking(26, 26)
