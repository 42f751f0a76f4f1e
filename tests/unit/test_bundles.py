"""Who is answered what, and when, by TASK.CONFIG: the front's part, without a server."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable
from typing import cast

import pytest

from tests.stack.revisions import damaged, revision
from workers.bundles import FRESH_S, TAKEN_WITHIN_S, Bundles, encode_bundle
from workers.clients import Client
from workers.messages import RevisionSeen, RevisionTaken
from workers.protocol import (
    MAX_BUNDLE_BYTES,
    BadArgument,
    BadBody,
    PublishedBundle,
    parse_known_revision,
    unpack_bundle,
)
from workers.requests import Later

NIL = b"$-1\r\n"


class Shelf:
    """Holds what it was given; says at once, or when it is told to."""

    def __init__(self, kept: PublishedBundle | None = None) -> None:
        self.kept = kept
        self.is_slow = False
        self.waiting: list[Callable[[], None]] = []

    def load(self) -> PublishedBundle | None:
        return self.kept

    def check(self, bundle: PublishedBundle, say: Callable[[str], None]) -> None:
        try:
            unpack_bundle(bundle)
            fault = ""
        except BadBody as error:
            fault = str(error)
        if self.is_slow:
            self.waiting.append(lambda: say(fault))
        else:
            say(fault)


class Asking:
    """A client's connection, as far as Bundles sees it."""

    def __init__(self, name: bytes = b"logic-1") -> None:
        self.name = name
        self.protocol = 2
        self.pending: list[Later] = []
        self.is_gone = False
        self.unread_bytes = 0
        self.cut_why = ""
        self.flushed = 0

    def flush(self) -> None:
        self.flushed += 1

    def allow_unread(self, more: int) -> None:
        self.allowed = more

    def cut(self, why: str) -> None:
        self.cut_why = why

    @property
    def answer(self) -> bytes | None:
        return self.pending[-1].reply


class Front:
    """Bundles with a clock that stands until it is moved."""

    def __init__(self, kept: PublishedBundle | None = None) -> None:
        self.now = 1000.0
        self.shelf = Shelf(kept)
        self.errors: Counter[str] = Counter()
        self.bundles = Bundles(self.shelf, self.errors, logging.getLogger("test"), lambda: self.now)

    def pass_time(self, seconds: float) -> None:
        self.now += seconds
        self.bundles.look_around(self.now)

    def take(self, bundle: PublishedBundle) -> None:
        self.now += 0.01
        self.bundles.note(RevisionTaken(self.now, *bundle))

    def see(self, bundle: PublishedBundle | None, why: str = "") -> None:
        self.now += 0.01
        number, etag = bundle[:2] if bundle else (0, "")
        self.bundles.note(RevisionSeen(self.now, number, etag, why))

    def ask(self, known: int | str = 0, block_s: float = 0.0, using: int | None = None, asking: Asking | None = None) -> Asking:
        asking = asking or Asking()
        self.bundles.wait(cast(Client, asking), parse_known_revision(str(known).encode()), using, self.now + block_s)
        return asking


def test_the_newest_is_given_at_once_and_to_all_from_one_object() -> None:
    front = Front()
    front.take(revision(42))

    first, second = front.ask(), front.ask(41, block_s=5)

    assert first.answer == encode_bundle(revision(42))
    assert first.answer is second.answer


def test_who_has_it_hears_nil_or_waits_for_the_next() -> None:
    front = Front()
    front.take(revision(42))

    assert front.ask(42).answer == NIL
    waiting = front.ask(42, block_s=5)
    assert waiting.answer is None
    front.see(revision(42))
    assert waiting.answer is None
    front.take(revision(43))

    assert waiting.answer == encode_bundle(revision(43))
    assert waiting.flushed == 1


def test_a_wait_ends_with_nil_while_looks_come() -> None:
    front = Front()
    front.take(revision(42))
    waiting = front.ask(42, block_s=1)

    for _ in range(9):
        front.see(revision(42))
        front.pass_time(0.1)
    assert waiting.answer is None
    front.pass_time(0.2)

    assert waiting.answer == NIL


def test_an_asker_who_waits_hears_that_nobody_looks_any_more_so_that_he_can_go_elsewhere() -> None:
    front = Front()
    front.take(revision(42))
    waiting = front.ask(42, block_s=60)

    front.pass_time(FRESH_S + 0.1)

    assert waiting.answer is not None
    assert waiting.answer.startswith(b"-UNSEEN the task configuration was last looked at 2.1 s ago")
    assert front.errors["UNSEEN"] == 1


def test_a_front_that_starts_without_its_master_gives_what_it_has_kept() -> None:
    front = Front(kept=revision(42))

    assert front.ask(0).answer == encode_bundle(revision(42))
    assert (
        front.ask(42, block_s=5).answer
        == b"-UNSEEN the task configuration was not looked at yet: the master's worker has not looked yet\r\n"
    )
    assert Front().ask(0, block_s=5).answer is not None


def test_why_nothing_can_be_seen_is_said() -> None:
    front = Front(kept=revision(42))
    front.see(None, why="SELECT command denied")

    assert b"SELECT command denied" in (front.ask(42).answer or b"")
    assert front.ask(41).answer == encode_bundle(revision(42))
    assert front.bundles.as_json(front.now)["why"] == "SELECT command denied"


def test_nothing_published_is_nil_and_the_first_one_wakes_who_waits() -> None:
    front = Front()
    front.see(None)

    assert front.ask(0).answer == NIL
    waiting = front.ask(0, block_s=5)
    front.take(revision(1))

    assert waiting.answer == encode_bundle(revision(1))


def test_a_damaged_one_never_replaces_the_last_good_one_and_is_named() -> None:
    front = Front()
    front.take(revision(42))
    waiting = front.ask(42, block_s=0.5)

    front.take(damaged(43))
    front.see(damaged(43))

    assert front.ask(0).answer == encode_bundle(revision(42)), "who has nothing is given the last good one"
    assert waiting.answer is None, "who has it is told at the end of his wait, not over and over"
    front.pass_time(0.6)
    assert (waiting.answer or b"").startswith(b"-DAMAGED revision 43 cannot be read, 42 stands: ")
    assert front.bundles.as_json(front.now)["damage"].startswith("revision 43")
    front.take(revision(44))
    assert front.bundles.damage == ""
    assert front.ask(42).answer == encode_bundle(revision(44))


def test_one_too_large_to_be_fetched_is_damage_too() -> None:
    front = Front()
    front.take(revision(42))
    front.see(revision(43), why="too large")

    assert (front.ask(42).answer or b"").startswith(b"-DAMAGED")


def test_damage_is_over_when_the_database_shows_the_last_good_one_again() -> None:
    front = Front()
    front.take(revision(42))
    front.take(damaged(43))
    front.see(revision(42))

    assert front.ask(42).answer == NIL


def test_who_knows_a_newer_one_from_another_dbsvr_does_not_go_back_before_the_database_says_so() -> None:
    front = Front()
    front.take(revision(42))

    assert front.ask(43).answer == NIL
    waiting = front.ask(43, block_s=5)
    assert waiting.answer is None
    front.shelf.is_slow = True
    front.take(revision(43))
    assert waiting.answer is None, "seen, and not yet checked: 42 is no answer any more"
    front.shelf.waiting.pop()()
    assert waiting.answer is None, "that is what he has"

    restored = front.ask(44, block_s=5)
    front.see(revision(43))
    assert restored.answer == encode_bundle(revision(43)), "a look that began after he asked shows no 44: the database was restored"


def test_the_same_number_with_another_content_is_another_one() -> None:
    front = Front()
    front.take(revision(42, b'{"other":1}'))

    by_etag, by_number = front.ask(revision(42).etag, block_s=5), front.ask(42, block_s=5)
    front.see(revision(42, b'{"other":1}'))

    assert by_etag.answer == encode_bundle(revision(42, b'{"other":1}'))
    assert by_number.answer is None


def test_while_one_is_checked_a_newer_one_overtakes_it() -> None:
    front = Front()
    front.shelf.is_slow = True
    front.take(revision(42))
    front.take(revision(43))

    front.shelf.waiting[1]()
    front.shelf.waiting[0]()

    assert front.bundles.newest == revision(43)


def test_one_wait_at_a_time_on_a_connection() -> None:
    front = Front()
    front.take(revision(42))
    asking = front.ask(42, block_s=5)

    with pytest.raises(BadArgument, match="at a time"):
        front.ask(42, block_s=5, asking=asking)


def test_who_does_not_take_his_bundle_is_cut_and_who_does_is_not() -> None:
    front = Front()
    front.take(revision(42))
    slow, quick = front.ask(), front.ask()
    slow.unread_bytes = 500_000

    front.pass_time(TAKEN_WITHIN_S + 0.1)

    assert "does not take" in slow.cut_why
    assert not quick.cut_why


def test_followers_are_shown_with_what_they_use_until_they_are_gone() -> None:
    front = Front()
    front.take(revision(42))
    asking = front.ask(42, block_s=5, using=41)

    (shown,) = front.bundles.as_json(front.now)["followers"]
    assert (shown["name"], shown["using"]) == ("logic-1", 41)
    asking.is_gone = True
    front.pass_time(0.1)
    state = front.bundles.as_json(front.now)
    assert (state["followers"], state["waiting"]) == ([], 0)


@pytest.mark.parametrize("word", [b"", b"-1", b"x", b"42-", b"42-XYZ", b"42-0123456789abcde", b"4" * 10, b"\xff"])
def test_what_names_no_revision_is_refused(word: bytes) -> None:
    with pytest.raises(BadArgument):
        parse_known_revision(word)


def test_a_revision_is_named_by_number_or_etag_with_or_without_quotes() -> None:
    assert parse_known_revision(b"42") == (42, "")
    assert parse_known_revision(b"42-0123456789abcdef") == (42, "42-0123456789abcdef")
    assert parse_known_revision(b'"42-0123456789abcdef"') == (42, "42-0123456789abcdef")


def test_a_bundle_is_proven_by_its_etag() -> None:
    whole = revision(42, b'{"a":1}')

    assert unpack_bundle(whole) == b'{"a":1}'
    assert unpack_bundle(whole._replace(etag=f'"{whole.etag}"')) == b'{"a":1}'
    for broken in (
        whole._replace(body=b""),
        whole._replace(body=b"no gzip"),
        whole._replace(body=whole.body[:-4]),
        damaged(42),
        whole._replace(number=43),
        whole._replace(etag="42"),
        whole._replace(body=revision(42, b'{"a":2}').body),
    ):
        with pytest.raises(BadBody):
            unpack_bundle(broken)


def test_what_unpacks_to_too_much_is_not_unpacked_further() -> None:
    with pytest.raises(BadBody, match="more than"):
        unpack_bundle(revision(42, b"\0" * (MAX_BUNDLE_BYTES + 1)))
