"""What a write does to one user's tasks.

Pure functions over plain values: `master_db_svr` reads a user, applies the changes here, and writes back what is left in
`User.touched` and `User.grants`. The same changes on the same user and quotas give the same results, which is what makes a replay provable.
How each operation changes a record stands in `steps`.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from workers.grants import Grant
from workers.protocol import MAX_VALUE, BadArgument, Change, ChangeResult, OldRules
from workers.quotas import QuotaKey
from workers.steps import EXCLUDED, NOT_ACCEPTED, NOT_COMPLETED, STEPS, Event, result_of
from workers.users import Record, RecordKey, User

NEEDS_RECORD = ("claim", "revert")


def apply_changes(
    user: User,
    changes: list[Change],
    now_ms: int,
    quotas: dict[QuotaKey, int] | None = None,
    given: Sequence[Grant] | None = None,
) -> list[ChangeResult]:
    """Apply the changes of one event, all or none, and raise the version by one.

    `quotas`: what is used of the caps of all these changes; it is changed too. `given`: the grants that these tasks have given the user and
    that are written. Raises QuotasNeeded and GrantsNeeded where they are not at hand and decide, OldRules when a record is of a newer
    revision than its change, BadArgument on overflow.
    """
    records: dict[RecordKey, Record] = {}
    event = Event(user, now_ms, quotas, given)
    results = []
    for change in changes:
        key = change.task, change.period
        record = records.get(key)
        is_there = True
        if record is None:
            old = user.tasks.get(key)
            is_there = old is not None
            # A copy: when a later change is refused, the user must be as before.
            record = Record() if old is None else _copy(old)
        if record.revision > change.revision:
            raise OldRules(
                f"{record.revision} is the revision of the record of task {change.task}; the write was decided by {change.revision}"
            )
        if not is_there and (change.needs_record or change.op in NEEDS_RECORD):
            refused = NOT_ACCEPTED if change.needs_record else NOT_COMPLETED if change.op == "claim" else ""
            results.append(result_of(change, record, refused))
        elif change.excludes and not record.has_begun and (other := _begun_instead(change, user, records)):
            results.append(result_of(change, record, EXCLUDED, str(other)))
        else:
            result = STEPS[change.op](event, record, change)
            results.append(result)
            if is_there or not (result.refused and change.op == "complete"):
                records[key] = record
    if event.points > MAX_VALUE:
        raise BadArgument(f"the user's points would pass 2^53-1: {event.points}")
    if event.counted is not None:
        event.counted.settle()
    user.points = event.points
    # All of one event carry the total after it: whichever of them is taken for the newest says the same.
    user.grants += [it._replace(total=event.points) for it in event.grants] if len(event.grants) > 1 else event.grants
    user.member_bytes += event.member_bytes
    user.tasks.update(records)
    user.touched.update(records)
    user.version += 1
    return results


def _copy(old: Record) -> Record:
    return Record(old.progress, old.state, old.completed_at, old.claimed_at, old.revision, old.granted, old.taken_back, old.members)


def _begun_instead(change: Change, user: User, records: dict[RecordKey, Record]) -> int:
    """The first task of the change's `excludes` that the user has begun; 0 when there is none."""
    for key in change.excludes:
        record = records.get(key) or user.tasks.get(key)
        if record is not None and record.has_begun:
            return key[0]
    return 0


def clear(user: User) -> None:
    """Delete the user's data. The version stays behind, and rises, so that older copies lose against it."""
    user.tasks.clear()
    user.touched.clear()
    user.grants.clear()
    user.member_bytes = 0
    user.points = 0
    user.cleared = True
    user.version += 1
    user.born_version = user.version


encode_results = msgspec.json.Encoder().encode
decode_results = msgspec.json.Decoder(list[ChangeResult]).decode
