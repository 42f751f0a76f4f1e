"""What the light says of rows that differ on a replica, and of what was not compared."""

from __future__ import annotations

import msgspec

from apps.dbsvr.diff_rules import CODES, FOUND, GAP, Differing, DiffNow, Gap, look
from apps.dbsvr.findings import ATTENTION, NOTICE
from apps.dbsvr.judge import Judgement, judge
from apps.dbsvr.say import say
from apps.dbsvr.words import en
from tests.unit.samples_of_a_dbsvr import START

DIFFERS = Differing("r1", 3, START - 600, "user_task 17·1·once, user_task 204·1·once")
NOW = DiffNow(START, (DIFFERS,))


def test_rows_that_differ_are_for_attention_whether_the_replica_is_used_or_held() -> None:
    (used,) = look(NOW, {}, START)
    (held,) = look(msgspec.structs.replace(NOW, differing=(msgspec.structs.replace(DIFFERS, is_held=True, rows=1),)), {}, START)

    assert (used.code, used.level, used.case, used.since) == (FOUND, ATTENTION, "used", START - 600)
    assert held.case == "one_held"
    assert say(used).headline == "3 rows on r1 differ from the master."
    assert "user_task 17·1·once" in say(used).text


def test_what_was_not_compared_is_for_information_with_its_reason() -> None:
    gap = Gap("r1", "user_task", 7, START, "the replica stayed more than 5 s behind", share=0.04)

    (finding,) = look(DiffNow(START, (), (gap,)), {}, START)

    assert (finding.code, finding.level) == (GAP, NOTICE)
    assert say(finding).headline == "4 % of user_task on r1 was not compared."
    assert "the replica stayed more than 5 s behind" in say(finding).text


def test_nothing_is_claimed_without_a_look() -> None:
    assert not look(None, {}, START)
    assert not look(NOW, {}, START + 60)


def test_the_light_shows_them_and_they_have_words() -> None:
    judgement = judge({}, Judgement(), START, diff=NOW)

    assert [(finding.code, finding.level) for finding in judgement.findings] == [(FOUND, ATTENTION)]
    assert set(CODES) <= {key.partition("/")[0] for key in en.SENTENCES}
