"""What a user may do: tasks and a snapshot in, one decision per task out.

Pure: knows compiled tasks, one user's records and the moment that is passed in. The API lists these decisions and asks the same
functions before it writes, so that what is shown and what is accepted cannot differ.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from apps.tasks.periods import PeriodOfTime, period_at
from workers.protocol import CLAIMED, COMPLETED, IN_PROGRESS, Snapshot, TaskRecord

AVAILABLE, UNAVAILABLE = "available", "unavailable"
STATES = (AVAILABLE, IN_PROGRESS, COMPLETED, UNAVAILABLE)

INACTIVE, NOT_STARTED, ENDED = "inactive", "not_started", "ended"
REASONS = (INACTIVE, NOT_STARTED, ENDED)


@dataclass(frozen=True, slots=True)
class CompiledTask:
    """A task as the hot path needs it. The window is half open: `starts_at` belongs to it, `ends_at` does not."""

    number: int
    code: str
    name: str
    description: str
    period: str
    zone: ZoneInfo
    starts_at: datetime
    ends_at: datetime | None
    target: int
    points: int
    active: bool


@dataclass(frozen=True, slots=True)
class Decision:
    """One user, one task, one moment. Reasons are given exactly when the task cannot be done now."""

    task: CompiledTask
    state: str
    reasons: tuple[str, ...]
    period: PeriodOfTime
    progress: int
    completed_at: int | None
    """Milliseconds since 1970 (UTC)."""


def reasons_against(task: CompiledTask, at: datetime) -> tuple[str, ...]:
    """Why the task cannot be done at that moment, by anybody; empty when it can."""
    reasons = []
    if not task.active:
        reasons.append(INACTIVE)
    if at < task.starts_at:
        reasons.append(NOT_STARTED)
    if task.ends_at is not None and at >= task.ends_at:
        reasons.append(ENDED)
    return tuple(reasons)


def decide(tasks: Iterable[CompiledTask], snapshot: Snapshot, now: datetime) -> list[Decision]:
    """One decision per task, in their order. What is completed in the present period stays so, whatever became of the task."""
    records = {(record.task, record.period): record for record in snapshot.tasks}
    periods: dict[tuple[str, str], PeriodOfTime] = {}  # a day is the same for all tasks of one zone
    decisions = []
    for task in tasks:
        shared_by = (task.period, task.zone.key)
        period = periods.get(shared_by)
        if period is None:
            period = periods[shared_by] = period_at(task.period, task.zone, now)
        record = records.get((task.number, period.key))
        reasons = reasons_against(task, now)
        decisions.append(
            Decision(
                task,
                _state(record, reasons),
                reasons,
                period,
                record.progress if record else 0,
                record.completed_at if record else None,
            )
        )
    return decisions


def _state(record: TaskRecord | None, reasons: tuple[str, ...]) -> str:
    if record is not None and record.state in (COMPLETED, CLAIMED):
        return COMPLETED
    if reasons:
        return UNAVAILABLE
    if record is not None and record.progress > 0:
        return IN_PROGRESS
    return AVAILABLE
