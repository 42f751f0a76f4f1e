"""What the console says of the profile system."""

from __future__ import annotations

import pytest

from apps.dbsvr.findings import ATTENTION
from apps.dbsvr.judge import Judgement, judge
from apps.dbsvr.profiles_rules import DOWN, FAILS_FOR_S, LOOKED_WITHIN_S, ProfilesNow, look
from apps.dbsvr.words import en, zh_hans
from apps.tasks.profiles.source import Said, SourceDead, SourceSlow, SourceWrong
from apps.tasks.profiles.watch import ProfileWatch
from tests.unit.samples_of_a_dbsvr import START


@pytest.mark.parametrize(
    ("profiles", "said"),
    [
        (None, []),
        (ProfilesNow(START), []),
        (ProfilesNow(START, "dead", "no route", START - FAILS_FOR_S + 1), []),
        (ProfilesNow(START, "dead", "no route", START - FAILS_FOR_S), [(DOWN, "dead")]),
        (ProfilesNow(START, "wrong", "status 500", START - 100), [(DOWN, "wrong")]),
        (ProfilesNow(START - LOOKED_WITHIN_S, "dead", "no route", START - 100), []),
    ],
)
def test_a_failure_that_lasts_is_said(profiles: ProfilesNow | None, said: list[tuple[str, str]]) -> None:
    assert [(finding.code, finding.case) for finding in look(profiles, {}, START)] == said


def test_the_light_asks_for_attention() -> None:
    judgement = judge({}, Judgement(), START, profiles=ProfilesNow(START, "slow", "no answer within 150 ms", START - 20))

    assert [(finding.code, finding.level, finding.since) for finding in judgement.findings] == [(DOWN, ATTENTION, START - 20)]


def test_every_way_to_fail_has_words_in_both_languages() -> None:
    for words in (en, zh_hans):
        assert {f"{DOWN}/{case}" for case in ("dead", "slow", "wrong")} <= set(words.SENTENCES)


class Scripted:
    def __init__(self) -> None:
        self.error: Exception | None = None

    def ask(self, uids: list[int], names: list[str]) -> Said:
        if self.error is not None:
            raise self.error
        return {}


@pytest.mark.parametrize(("error", "trouble"), [(SourceDead("gone"), "dead"), (SourceSlow("late"), "slow"), (SourceWrong("404"), "wrong")])
def test_the_watch_says_how_it_fails_since_when_and_that_it_is_well_again(error: Exception, trouble: str) -> None:
    source = Scripted()
    watch = ProfileWatch(source)
    watch.look()
    assert watch.now is not None
    assert watch.now.trouble == ""

    source.error = error
    watch.look()
    first = watch.now
    watch.look()
    assert (watch.now.trouble, watch.now.reason, watch.now.since) == (trouble, str(error), first.since)

    source.error = None
    watch.look()
    assert watch.now.trouble == ""
