from __future__ import annotations

import pytest

from apps.dbsvr.owners import NOT_OWNER, Owners
from tasksys_site.configuration import MAX_UID, Segment
from workers.protocol import REASONS

SEGMENTS = (
    Segment(name="first", first=1, last=99, home="a"),
    Segment(name="second", first=100, last=199, home="b"),
    Segment(name="third", first=200, last=MAX_UID, home="a"),
)


@pytest.fixture
def owners() -> Owners:
    return Owners(SEGMENTS, ["a", "b", "c"])


@pytest.mark.parametrize(("uid", "home"), [(1, "a"), (99, "a"), (100, "b"), (199, "b"), (200, "a"), (MAX_UID, "a")])
def test_a_segment_is_at_home_until_something_else_is_heard(owners: Owners, uid: int, home: str) -> None:
    assert owners.owner_of(uid) == home


@pytest.mark.parametrize("uid", [0, -1, MAX_UID + 1])
def test_what_is_no_uid_is_sent_somewhere_all_the_same(owners: Owners, uid: int) -> None:
    assert owners.owner_of(uid) == "a"


def test_the_owner_is_asked_first_and_then_the_others(owners: Owners) -> None:
    assert owners.in_turn(150) == ["b", "c", "a"]


def test_an_owner_that_was_named_owns_that_segment_alone(owners: Owners) -> None:
    owners.note_owner(5, "c")

    assert [owners.owner_of(uid) for uid in (1, 150, 300)] == ["c", "b", "a"]


@pytest.mark.parametrize("unheard_of", ["", "nobody"])
def test_an_owner_that_nobody_has_heard_of_changes_nothing(owners: Owners, unheard_of: str) -> None:
    owners.note_owner(5, unheard_of)

    assert owners.owner_of(5) == "a"


@pytest.mark.parametrize("reason", [None, *(reason for reason in REASONS if reason != NOT_OWNER)])
def test_who_answers_a_read_as_an_owner_is_the_owner(owners: Owners, reason: str | None) -> None:
    owners.note_read(5, "b", reason)

    assert owners.owner_of(5) == "b"


def test_who_says_that_he_is_not_the_owner_is_not(owners: Owners) -> None:
    owners.note_owner(5, "c")

    owners.note_read(5, "c", NOT_OWNER)
    assert owners.owner_of(5) == "a", "back to its home"

    owners.note_read(5, "a", NOT_OWNER)
    assert owners.owner_of(5) == "b", "not at home either: the next one knows, or says so too"


def test_another_than_the_believed_owner_says_nothing_new_by_not_being_it(owners: Owners) -> None:
    owners.note_read(5, "b", NOT_OWNER)

    assert owners.owner_of(5) == "a"
