"""What the console says of the cache nodes."""

from __future__ import annotations

import msgspec
import pytest

from apps.dbsvr.cache_rules import CENTER, CODES, HOLD_S, OUT, PURGES, VIOLATION, CacheNodeNow, CacheNow, look
from apps.dbsvr.findings import FAULT
from apps.dbsvr.judge import Judgement, judge
from apps.dbsvr.words import en
from tests.unit.samples_of_a_dbsvr import START

WELL = CacheNodeNow("node-1", "in_use", answers=True, since=START - 100)
ALL_WELL = CacheNow(START, (WELL, msgspec.structs.replace(WELL, name="node-2")), center_at=START - 1)


def with_node(**changes: object) -> CacheNow:
    return msgspec.structs.replace(ALL_WELL, nodes=(msgspec.structs.replace(WELL, **changes), ALL_WELL.nodes[1]))


def found(cache: CacheNow | None) -> list[tuple[str, str, str]]:
    return [(finding.code, finding.subject, finding.case) for finding in look(cache, {}, START)]


@pytest.mark.parametrize(
    ("cache", "findings"),
    [
        (None, []),
        (ALL_WELL, []),
        (with_node(pending=9, oldest_at=START - 1), []),
        (with_node(answers=False), [(OUT, "/node-1", "one")]),
        (with_node(answers=False, pending=9, oldest_at=START - 60), [(OUT, "/node-1", "one")]),
        (with_node(answers=False, state="draining"), []),
        (with_node(pending=9, oldest_at=START - 60), [(PURGES, "/node-1", "node")]),
        (
            CacheNow(START, tuple(msgspec.structs.replace(it, answers=False) for it in ALL_WELL.nodes), center_at=START),
            [(OUT, "/node-1", "all"), (OUT, "/node-2", "all")],
        ),
        (msgspec.structs.replace(ALL_WELL, everywhere_pending=3, everywhere_oldest_at=START - 9), [(PURGES, "", "every")]),
        (msgspec.structs.replace(ALL_WELL, center_at=START - 11), [(CENTER, "", "idle")]),
        (msgspec.structs.replace(with_node(pending=9, oldest_at=START - 60), center_at=START - 11), [(CENTER, "", "waiting")]),
        (msgspec.structs.replace(ALL_WELL, violations=1, violation_at=START - 9, violation_node="node-2"), [(VIOLATION, "", "")]),
        (msgspec.structs.replace(ALL_WELL, violations=1, violation_at=START - HOLD_S), []),
        (msgspec.structs.replace(with_node(answers=False), looked_at=START - 31), []),
    ],
)
def test_what_is_so_is_said(cache: CacheNow | None, findings: list[tuple[str, str, str]]) -> None:
    assert found(cache) == findings


def test_a_finding_keeps_its_beginning() -> None:
    (first,) = look(with_node(pending=9, oldest_at=START - 60), {}, START)
    (later,) = look(with_node(pending=1, oldest_at=START - 6), {first.key: first}, START)

    assert later.since == first.since


def test_the_light_shows_them() -> None:
    judgement = judge({}, Judgement(), START, cache=msgspec.structs.replace(ALL_WELL, violations=1, violation_at=START))

    assert [(finding.code, finding.level) for finding in judgement.findings] == [(VIOLATION, FAULT)]


def test_every_finding_has_words() -> None:
    spoken = {key.partition("/")[0] for key in en.SENTENCES}

    assert set(CODES) <= spoken
