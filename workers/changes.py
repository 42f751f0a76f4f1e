"""What a write does to one user's tasks.

Pure functions over plain values: `master_db_svr` reads a user, applies the changes here, and writes back what is left in
`User.touched`. The same changes on the same user give the same results, which is what makes a replay provable.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

from workers.protocol import CLAIMED, COMPLETED, IN_PROGRESS, MAX_VALUE, BadArgument, Change, ChangeResult

STATES = (IN_PROGRESS, COMPLETED, CLAIMED)
"""A state's number in column `user_task.state` is its place here."""


@dataclass(slots=True)
class Record:
    """One row of user_task. Moments in milliseconds since 1970."""

    progress: int = 0
    state: str = IN_PROGRESS
    completed_at: int | None = None
    claimed_at: int | None = None
    revision: int = 0


@dataclass(slots=True)
class User:
    """One user while a batch is applied to him."""

    uid: int
    version: int = 0
    points: int = 0
    tasks: dict[tuple[int, str], Record] = field(default_factory=dict)
    touched: set[tuple[int, str]] = field(default_factory=set)
    cleared: bool = False


def apply_changes(user: User, changes: list[Change], now_ms: int) -> list[ChangeResult]:
    """Apply the changes of one event, all or none, and raise the version by one. Raises BadArgument on overflow."""
    records: dict[tuple[int, str], Record] = {}
    results = []
    points = user.points
    for change in changes:
        key = (change.task, change.period)
        record = records.get(key)
        if record is None:
            # A copy: when a later change is refused, the user must be as before.
            old = user.tasks.get(key)
            record = Record() if old is None else Record(old.progress, old.state, old.completed_at, old.claimed_at, old.revision)
            records[key] = record
        result = _apply(record, change, now_ms)
        points += result.points
        results.append(result)
    if points > MAX_VALUE:
        raise BadArgument(f"the user's points would pass 2^53-1: {points}")
    user.points = points
    user.tasks.update(records)
    user.touched.update(records)
    user.version += 1
    return results


def _apply(record: Record, change: Change, now_ms: int) -> ChangeResult:
    if change.op == "add":
        progress = record.progress + change.value
    elif change.op == "max":
        progress = max(record.progress, change.value)
    elif change.op == "set":
        progress = change.value
    else:  # complete
        progress = max(record.progress, change.target)
    if progress > MAX_VALUE:
        raise BadArgument(f"progress of task {change.task} would pass 2^53-1: {progress}")
    record.progress = progress
    record.revision = change.revision
    reached = change.op == "complete" or 0 < change.target <= progress
    completed_now = reached and record.state == IN_PROGRESS
    if completed_now:
        record.state = COMPLETED
        record.completed_at = now_ms
    return ChangeResult(
        task=change.task,
        period=change.period,
        progress=progress,
        state=record.state,
        completed_now=completed_now,
        points=change.points if completed_now else 0,
    )


def clear(user: User) -> None:
    """Delete the user's data. The version stays behind, and rises, so that older copies lose against it."""
    user.tasks.clear()
    user.touched.clear()
    user.points = 0
    user.cleared = True
    user.version += 1


encode_results = msgspec.json.Encoder().encode
decode_results = msgspec.json.Decoder(list[ChangeResult]).decode
