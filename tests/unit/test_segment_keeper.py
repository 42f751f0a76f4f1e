"""When the master's worker looks at who owns what: early with another wake-up, but never before a lease has run out."""

from __future__ import annotations

import logging
from typing import cast

import pytest

from tasksys_site.configuration import DBSvr
from workers import segment_keeper, segment_rows
from workers.database import Connection
from workers.messages import SegmentRow
from workers.ownership import Ownership
from workers.segment_keeper import SegmentKeeper

EVERY_S = 0.2
"""A tenth of the lease."""


class Clock:
    now = 1000.0


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(segment_keeper, "boottime", lambda: clock.now)
    return clock


def _keeper(monkeypatch: pytest.MonkeyPatch, epoch: int, instances: int, lease_ms: int = 2000) -> SegmentKeeper:
    row = SegmentRow("all", 1, 2**63 - 1, "a", "a", epoch, lease_ms)
    monkeypatch.setattr(segment_rows, "fill", lambda *_: None)
    monkeypatch.setattr(segment_rows, "look", lambda _: segment_rows.Look([row], {"all": 0}, {"a": 1}, 1))
    ownership = Ownership("a", instances == 1, {})
    return SegmentKeeper(cast(Connection, None), DBSvr(lease_ms=2000), ownership, 1, lambda: 7, logging.getLogger("test"))


def test_a_regular_look_comes_in_time_and_a_little_early_with_another_wake_up(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    keeper = _keeper(monkeypatch, epoch=0, instances=1)
    keeper.look()

    assert keeper.next_look_at == pytest.approx(clock.now + EVERY_S)
    for after_s, in_time, early in ((0.85, False, False), (0.95, False, True), (1.01, True, True)):
        assert keeper.is_due(clock.now + after_s * EVERY_S, may_be_early=False) is in_time
        assert keeper.is_due(clock.now + after_s * EVERY_S, may_be_early=True) is early


def test_a_lease_is_waited_out_to_its_end(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    keeper = _keeper(monkeypatch, epoch=1, instances=2, lease_ms=195)
    ready_at = clock.now + 0.195
    assert keeper.look().possessed == []
    assert keeper.next_look_at == pytest.approx(ready_at)

    clock.now = ready_at - 0.01
    assert keeper.is_due(clock.now, may_be_early=True)
    assert keeper.look().possessed == []  # an early look takes nothing early,
    assert keeper.next_look_at == pytest.approx(ready_at)
    assert not keeper.is_due(ready_at - 0.001, may_be_early=True)  # nor is there one after the other until it is time

    clock.now = ready_at + 0.001
    assert keeper.is_due(clock.now, may_be_early=False)
    assert keeper.look().possessed == [("all", 1, 7)]
