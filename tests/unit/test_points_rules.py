"""What the console says of the delivery of points."""

from __future__ import annotations

import msgspec
import pytest

from apps.dbsvr.findings import MAINTENANCE
from apps.dbsvr.judge import Judgement, judge
from apps.dbsvr.points_rules import CODES, DEAD, OLD_AFTER_S, RELAY, SILENT_AFTER_S, WAITING, PointsNow, look
from apps.dbsvr.words import en
from tests.unit.samples_of_a_dbsvr import START

WELL = PointsNow(START, START - 5, waiting=3, oldest_at=START - 2)


def now(**changes: object) -> PointsNow:
    return msgspec.structs.replace(WELL, **changes)


@pytest.mark.parametrize(
    ("points", "said"),
    [
        (None, []),
        (WELL, []),
        (now(counted_at=None), []),
        (now(dead=1), [(DEAD, "one")]),
        (now(dead=7), [(DEAD, "")]),
        (now(oldest_at=START - OLD_AFTER_S), [(WAITING, "failing")]),
        (now(oldest_at=START - OLD_AFTER_S, paused=True), [(WAITING, "paused")]),
        (now(counted_at=START - SILENT_AFTER_S, dead=7), [(RELAY, "")]),
        (now(looked_at=START - 31, dead=7), []),
    ],
)
def test_what_is_so_is_said(points: PointsNow | None, said: list[tuple[str, str]]) -> None:
    assert [(finding.code, finding.case) for finding in look(points, {}, START)] == said


def test_a_finding_keeps_its_beginning() -> None:
    (first,) = look(now(dead=1), {}, START)
    (later,) = look(now(dead=9, looked_at=START + 20, counted_at=START + 20), {first.key: first}, START + 20)

    assert later.since == first.since


def test_the_light_shows_a_pause_as_maintenance() -> None:
    judgement = judge({}, Judgement(), START, points=now(oldest_at=START - OLD_AFTER_S, paused=True))

    assert [(finding.code, finding.level) for finding in judgement.findings] == [(WAITING, MAINTENANCE)]


def test_every_finding_has_words() -> None:
    assert set(CODES) <= {key.partition("/")[0] for key in en.SENTENCES}
