from __future__ import annotations

from workers.known_users import BYTES_OF_A_RECORD, KnownUsers
from workers.users import Record, User


def user(uid: int, records: int = 1, member_bytes: int = 0) -> User:
    return User(uid, tasks={(task, "once"): Record() for task in range(records)}, member_bytes=member_bytes)


def test_who_was_written_longest_ago_is_forgotten_first() -> None:
    known = KnownUsers(most_records=6)

    known.keep([user(1), user(2), user(3)])
    known.keep(known.take([1]).values())
    known.keep([user(4)])

    assert set(known.take(range(9))) == {1, 3, 4}


def test_who_has_many_members_counts_for_as_many_records_as_they_take_in_memory() -> None:
    known = KnownUsers(most_records=6)
    changed = user(1)
    known.keep([changed, user(2)])

    known.take([1])
    changed.member_bytes = 3 * BYTES_OF_A_RECORD
    known.keep([changed])
    assert set(known.take([1, 2])) == {1}

    known.keep([user(1), user(2), user(3)])
    assert len(known) == 3
