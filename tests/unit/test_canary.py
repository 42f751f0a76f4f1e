"""The canary's judgement: what it must find, what it must not, and what the console says of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timezone
from typing import Any, cast

import pytest

from apps.dbsvr import canary
from apps.dbsvr.canary import LOST, OLD, PERIOD, TASK, TWICE, Known, judge, judge_write, run_round
from apps.dbsvr.canary_rules import CODE, HOLD_S, CanaryNow, look
from apps.dbsvr.console.present import canary_tile
from apps.dbsvr.db_interface import DbInterface
from apps.dbsvr.findings import FAULT
from apps.dbsvr.judge import Judgement
from apps.dbsvr.judge import judge as judge_all
from workers.protocol import Change, DBSvrError, MasterDown, Snapshot, TaskRecord, TimedOut, WriteAnswer

UID = 2**63 - 1
NOW = 1_800_000_000.0


@pytest.fixture(autouse=True)
def short_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(canary, "READ_FOR_S", 0.3)


def snapshot(version: int, progress: int | None = None, served_by: str = "master", generation: int = 1) -> Snapshot:
    record = TaskRecord(TASK, PERIOD, version if progress is None else progress, "in_progress", None, None, 0)
    return Snapshot(UID, generation, version, 0, [record], served_by)


class OneUser:
    """A DBSvr with one user, right in all it says. Doubles change one thing."""

    def __init__(self) -> None:
        self.version = 0
        self.events: list[str] = []
        self.reads = 0

    def get(self, uid: int, node: str, *, deadline_ms: int | None = None) -> Snapshot:
        self.reads += 1
        return self.answer()

    def get_many(self, uids: Sequence[int], node: str, *, deadline_ms: int | None = None) -> list[Snapshot | DBSvrError]:
        return [self.get(uid, node) for uid in uids]

    def finish(self, uid: int, node: str, event_id: str, changes: Sequence[Change], *, deadline_ms: int | None = None) -> WriteAnswer:
        applied = event_id not in self.events
        if applied:
            self.events.append(event_id)
            self.version += 1
        return WriteAnswer(applied, [], self.version - applied, snapshot(self.version), [])

    def explain(self, uid: int, *, deadline_ms: int | None = None) -> dict[str, Any]:
        return {"servers": {"r1": {"margin_ticks": 4}}}

    def answer(self) -> Snapshot:
        return snapshot(self.version, served_by="r1" if self.reads % 2 else "master")


class WithAnOldReplica(OneUser):
    """A replica answers with the state before the last write."""

    def answer(self) -> Snapshot:
        return snapshot(max(0, self.version - 1), served_by="r1") if self.reads % 2 else snapshot(self.version)


class WithoutEventIds(OneUser):
    """A repeated event is applied again."""

    def finish(self, uid: int, node: str, event_id: str, changes: Sequence[Change], *, deadline_ms: int | None = None) -> WriteAnswer:
        self.events.clear()
        return super().finish(uid, node, event_id, changes)


class ForgettingWrites(OneUser):
    """The version rises, and nothing is written."""

    def answer(self) -> Snapshot:
        return snapshot(self.version, progress=0)


class Refusing(OneUser):
    """Every request meets an error."""

    def get(self, uid: int, node: str, *, deadline_ms: int | None = None) -> Snapshot:
        raise MasterDown()


class TimingOutOnce(OneUser):
    """The first write is answered TIMEOUT, and happens only after the next round has looked at the user."""

    def __init__(self) -> None:
        super().__init__()
        self.under_way: str | None = None
        self.rounds = 0

    def finish(self, uid: int, node: str, event_id: str, changes: Sequence[Change], *, deadline_ms: int | None = None) -> WriteAnswer:
        self.rounds += 1
        if self.rounds == 1:
            self.under_way = event_id
            raise TimedOut()
        if self.under_way is not None:
            late, self.under_way = self.under_way, None
            super().finish(uid, node, late, changes)
        return super().finish(uid, node, event_id, changes)


def round_with(dbsvr: OneUser, promised: Known | None = None) -> canary.Round:
    return run_round(cast(DbInterface, dbsvr), "node-1", UID, promised)


def test_a_dbsvr_that_keeps_its_promises_is_not_accused_round_after_round() -> None:
    dbsvr = OneUser()
    promised = None
    for number in range(1, 4):
        found = round_with(dbsvr, promised)
        promised = found.known

        assert (found.violations, found.errors) == ((), 0)
        assert found.known == Known(1, number, number)
        assert found.reads > canary.LEAST_LOOKS
        assert found.replica_reads > 0
        assert found.delay_ms is not None
        assert found.margin_ticks == 4


def test_an_old_answer_is_found_with_who_gave_it_and_what_was_promised() -> None:
    found = round_with(WithAnOldReplica())

    first = found.violations[0]
    assert (first.kind, first.served_by, first.promised.version, first.seen.version) == (OLD, "r1", 1, 0)
    assert found.delay_ms is None, "an old answer is no arrival of the new state"


def test_an_event_that_is_applied_twice_is_found() -> None:
    assert TWICE in {violation.kind for violation in round_with(WithoutEventIds()).violations}


def test_a_write_that_left_nothing_is_found() -> None:
    assert LOST in {violation.kind for violation in round_with(ForgettingWrites()).violations}


def test_what_an_earlier_round_had_acknowledged_is_still_promised_and_told_once() -> None:
    dbsvr = OneUser()
    found = round_with(dbsvr, promised=Known(1, 5, 5))

    assert found.violations[0].kind == OLD
    assert found.known == Known(1, 1, 1)
    for version in range(2, 8):  # also when it comes to the version that was promised once
        found = round_with(dbsvr, promised=found.known)
        assert (found.violations, found.known) == ((), Known(1, version, version))


def test_errors_are_no_violations() -> None:
    found = round_with(Refusing(), promised=Known(1, 5, 5))

    assert found.violations == ()
    assert found.errors == 2
    assert found.error.startswith("MASTERDOWN")
    assert found.known == Known(1, 5, 5), "what was promised stays promised"


def test_a_write_of_unknown_outcome_that_lands_in_the_next_round_is_counted_once() -> None:
    dbsvr = TimingOutOnce()
    first = round_with(dbsvr)
    second = round_with(dbsvr, first.known)

    assert first.errors == 1
    assert (first.violations, second.violations) == ((), ())
    assert second.known == Known(1, 1, 1)


@pytest.mark.parametrize(
    ("promised", "seen", "kind"),
    [
        (Known(1, 5, 5), Known(1, 5, 5), ""),
        (Known(1, 5, 5), Known(1, 9, 9), ""),
        (Known(1, 5, 5), Known(1, 4, 4), OLD),
        (Known(2, 5, 5), Known(1, 9, 9), OLD),
        (Known(1, 5, 5), Known(2, 3, 3), ""),
        (Known(1, 5, 5), Known(1, 6, 4), LOST),
        (Known(1, 5, 5), Known(1, 5, 6), TWICE),
        (Known(1, 5, 5), Known(1, 6, 7), TWICE),
    ],
)
def test_the_judgement_of_one_answer(promised: Known, seen: Known, kind: str) -> None:
    assert judge(promised, seen) == kind


@pytest.mark.parametrize(
    ("after", "kind"),
    [(Known(1, 6, 6), ""), (Known(1, 7, 7), TWICE), (Known(1, 6, 5), LOST), (Known(1, 4, 4), OLD), (Known(2, 1, 1), "")],
)
def test_the_judgement_of_one_write(after: Known, kind: str) -> None:
    assert judge_write(Known(1, 5, 5), after) == kind


def seen_lately(**more: Any) -> CanaryNow:
    return CanaryNow(**{"rounds": 8640, "newest_at": NOW - 3, "delay_ms": 4.2, **more})


def broken(seconds_ago: float) -> CanaryNow:
    return seen_lately(violations=2, violation_at=NOW - seconds_ago, kind=OLD, served_by="r1")


def test_a_violation_is_a_fault_until_an_hour_after_the_last_one() -> None:
    (finding,) = look(broken(10), {}, NOW)
    assert (finding.code, finding.level, finding.case, finding.facts["server"]) == (CODE, FAULT, OLD, "r1")
    assert look(broken(HOLD_S), {}, NOW) == []
    assert look(seen_lately(), {}, NOW) == []
    assert look(None, {}, NOW) == []


def test_a_violation_turns_the_light_and_keeps_since_when() -> None:
    first = judge_all({}, Judgement(), NOW, canary=broken(10))
    second = judge_all({}, first, NOW + 60, canary=seen_lately(violations=3, violation_at=NOW + 55, kind=OLD, served_by="r1"))

    assert [finding.code for finding in first.findings] == [CODE]
    assert first.findings[0].since == second.findings[0].since == NOW - 10
    assert second.findings[0].facts["violations"] == 3


@pytest.mark.parametrize(
    ("now", "figure", "below"),
    [
        (lambda: None, "—", "no round yet"),
        (lambda: seen_lately(), "no violation", "in 8,640 rounds · on a replica after 4.2 ms"),
        (lambda: seen_lately(delay_ms=None), "no violation", "in 8,640 rounds · no replica had it within 2 s"),
        (lambda: seen_lately(errors=3), "no violation", "in 8,640 rounds · the newest round got errors"),
        (lambda: seen_lately(newest_at=NOW - 300), "?", "last round 5 min ago"),
        (lambda: broken(7200), "06:00:00", "last violation, 2 rounds in 24 h"),
    ],
)
def test_the_tile(now: Callable[[], CanaryNow | None], figure: str, below: str) -> None:
    tile = canary_tile(now(), 64, 10, NOW, timezone.utc, "en")

    assert tile == {"canary": figure, "canary_sub": below}


def test_the_tile_of_a_canary_that_is_switched_off() -> None:
    assert canary_tile(None, 0, 10, NOW, timezone.utc, "en") == {"canary": "off", "canary_sub": ""}
