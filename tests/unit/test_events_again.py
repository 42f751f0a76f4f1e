"""What is said of an event whose first try, with others, went wrong."""

from __future__ import annotations

import time
from datetime import datetime, timezone

import pytest

from apps.tasks.evaluation.events import Event
from apps.tasks.services import events
from apps.tasks.services.telling import Telling
from workers.protocol import BadArgument, DBSvrError, MasterDown, OldRules, Overloaded, TimedOut

NOW = datetime(2026, 12, 1, tzinfo=timezone.utc)
TELLING = Telling(7, "e", Event("match", 1, {}), NOW, NOW, {})


def again(monkeypatch: pytest.MonkeyPatch, first: DBSvrError, second: DBSvrError | None, within_s: float = 5.0) -> tuple[object, int]:
    """How it ends, and how often it was tried again."""
    tries = 0

    def record(*_: object) -> object:
        nonlocal tries
        tries += 1
        if second is not None:
            raise second
        return "told"

    monkeypatch.setattr(events, "_record", record)
    try:
        return events._record_again(TELLING, time.monotonic() + within_s, first), tries
    except DBSvrError as error:
        return error, tries


@pytest.mark.parametrize("first", [TimedOut(), MasterDown(), Overloaded(), OldRules("44 is the revision")])
def test_what_may_be_sent_again_is_sent_again_by_itself(monkeypatch: pytest.MonkeyPatch, first: DBSvrError) -> None:
    assert again(monkeypatch, first, None) == ("told", 1)


def test_what_is_wrong_is_not_sent_again(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = BadArgument("no such thing")

    assert again(monkeypatch, wrong, None) == (wrong, 0)


def test_nothing_is_sent_after_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    late = TimedOut()

    assert again(monkeypatch, late, None, within_s=0) == (late, 0)


def test_a_wait_longer_than_the_deadline_is_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    full = Overloaded("come back later", retry_after_ms=60_000)

    assert again(monkeypatch, full, None) == (full, 0)


def test_that_nothing_was_done_is_not_said_when_the_first_try_may_have_happened(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = TimedOut(), MasterDown()

    assert again(monkeypatch, first, second) == (first, 1)


def test_the_last_word_counts_where_the_first_try_did_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = MasterDown(), Overloaded()

    assert again(monkeypatch, first, second) == (second, 1)
