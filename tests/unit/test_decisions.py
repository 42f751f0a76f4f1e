"""What a user may do: one decision per task."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest

from apps.tasks.decisions import AVAILABLE, ENDED, INACTIVE, NOT_STARTED, UNAVAILABLE, CompiledTask, Decision, decide
from workers.protocol import CLAIMED, COMPLETED, IN_PROGRESS, Snapshot, TaskRecord

NOW = datetime(2026, 11, 30, 12, tzinfo=timezone.utc)
INSTANT = timedelta(microseconds=1)

TASK = CompiledTask(
    number=7,
    code="invite",
    name="Invite",
    description="",
    period="once",
    zone=ZoneInfo("UTC"),
    starts_at=NOW - timedelta(days=1),
    ends_at=NOW + timedelta(days=1),
    target=3,
    points=10,
    active=True,
)


def snapshot(*records: TaskRecord) -> Snapshot:
    return Snapshot(uid=42, generation=1, version=len(records), points=0, tasks=list(records))


def record(period: str = "once", progress: int = 1, state: str = IN_PROGRESS, completed_at: int | None = None) -> TaskRecord:
    return TaskRecord(
        task=TASK.number, period=period, progress=progress, state=state, completed_at=completed_at, claimed_at=None, revision=0
    )


def decision(task: CompiledTask = TASK, *records: TaskRecord, now: datetime = NOW) -> Decision:
    (only,) = decide([task], snapshot(*records), now)
    return only


def test_a_task_within_its_window_is_available_to_who_has_done_nothing() -> None:
    found = decision()

    assert (found.state, found.reasons, found.progress) == (AVAILABLE, (), 0)


def test_progress_makes_it_in_progress() -> None:
    found = decision(TASK, record(progress=2))

    assert (found.state, found.progress) == (IN_PROGRESS, 2)


def test_a_record_without_progress_leaves_it_available() -> None:
    assert decision(TASK, record(progress=0)).state == AVAILABLE


@pytest.mark.parametrize("state", [COMPLETED, CLAIMED])
def test_completed_says_when(state: str) -> None:
    found = decision(TASK, record(progress=3, state=state, completed_at=1_700_000_000_000))

    assert (found.state, found.completed_at) == (COMPLETED, 1_700_000_000_000)


def test_the_window_holds_its_start_and_not_its_end() -> None:
    assert TASK.ends_at is not None
    assert decision(now=TASK.starts_at - INSTANT).reasons == (NOT_STARTED,)
    assert decision(now=TASK.starts_at).state == AVAILABLE
    assert decision(now=TASK.ends_at - INSTANT).state == AVAILABLE
    assert decision(now=TASK.ends_at).reasons == (ENDED,)


def test_a_task_without_end_never_ends() -> None:
    assert decision(replace(TASK, ends_at=None), now=NOW + timedelta(days=36500)).state == AVAILABLE


def test_a_switched_off_task_is_unavailable_and_says_every_reason() -> None:
    found = decision(replace(TASK, active=False), now=NOW + timedelta(days=2))

    assert (found.state, found.reasons) == (UNAVAILABLE, (INACTIVE, ENDED))


def test_what_is_completed_stays_so_when_the_task_ends() -> None:
    found = decision(TASK, record(state=COMPLETED), now=NOW + timedelta(days=2))

    assert (found.state, found.reasons) == (COMPLETED, (ENDED,))


def test_a_daily_task_counts_only_the_record_of_its_own_day() -> None:
    daily = replace(TASK, period="daily", zone=ZoneInfo("Asia/Shanghai"))
    yesterday, today = record(period="2026-11-29", state=COMPLETED), record(period="2026-11-30", progress=1)

    assert decision(daily, yesterday).state == AVAILABLE
    assert decision(daily, yesterday, today).state == IN_PROGRESS
    assert decision(daily, yesterday).period.resets_at == datetime(2026, 11, 30, 16, tzinfo=timezone.utc)


def test_a_record_of_another_task_changes_nothing() -> None:
    assert decision(replace(TASK, number=8), record(state=COMPLETED)).state == AVAILABLE


def test_decisions_come_in_the_order_of_the_tasks() -> None:
    other = replace(TASK, number=8, code="other")

    assert [found.task.code for found in decide([other, TASK], snapshot(), NOW)] == ["other", "invite"]
