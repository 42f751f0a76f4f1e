"""How each operation changes one record, and what the user earns by it.

Pure. A step is given a copy of the record, and changes it; a step that is refused as a whole leaves it as it is. Progress that reaches the
target completes the record, once. Automatic tasks grant at completion (each tier when it is reached), tasks by claim at the claim.
`granted` counts what was given also where that was worth no points: it is never given again, and no revert takes the completion away.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import TypeAlias

from workers.grants import BACK, Grant, GrantsNeeded, grant_id
from workers.protocol import CLAIMED, COMPLETED, IN_PROGRESS, MAX_VALUE, BadArgument, Change, ChangeResult
from workers.quotas import Counting, QuotaKey
from workers.users import Record, User

CAPPED, EXCLUDED, NOT_ACCEPTED, NOT_COMPLETED, ALREADY_CLAIMED = "capped", "excluded", "not_accepted", "not_completed", "already_claimed"
MEMBER_BYTES = 8
MOST_MEMBERS = 1_000
"""Of one record; what comes above is not counted."""


Step: TypeAlias = Callable[["Event", Record, Change], ChangeResult]


class Event:
    """What one event has given the user so far."""

    __slots__ = ("counted", "given", "grants", "member_bytes", "now_ms", "points", "quotas", "user")

    def __init__(self, user: User, now_ms: int, quotas: dict[QuotaKey, int] | None, given: Sequence[Grant] | None) -> None:
        """`given`: earlier grants of the user, but for those that are still in `user.grants`."""
        self.user = user
        self.now_ms = now_ms
        self.points = user.points
        self.grants: list[Grant] = []
        self.given = given
        self.member_bytes = 0
        self.quotas = quotas
        self.counted: Counting | None = None

    @property
    def counting(self) -> Counting:
        """Asked for by a change with caps alone: most have none."""
        if self.counted is None:
            self.counted = Counting(self.quotas)
        return self.counted

    def grant(self, record: Record, change: Change, tier: int, points: int) -> int:
        """Give it; the points. What is worth no points goes nowhere."""
        record.granted += 1
        if points:
            name = grant_id(self.user.uid, change.task, change.period, tier, record.taken_back, self.user.born_version)
            self._write(name, change, tier, points)
        return points

    def take_back(self, record: Record, change: Change, still: int) -> int:
        """All that the record was granted, but for the first `still` tiers; the points taken: those that were given, whatever the rules
        say now."""
        if self.given is None:
            raise GrantsNeeded(f"task {change.task} takes back what it has given")
        given = [it for it in (*self.given, *self.user.grants, *self.grants) if (it.task, it.period) == (change.task, change.period)]
        taken_before = {it.grant_id for it in given if it.points < 0}
        taken = 0
        for it in reversed(given):
            name = it.grant_id + BACK
            if it.points > 0 and name not in taken_before and (it.tier > still or still == 0):
                self._write(name, change, it.tier, -it.points)
                taken += it.points
        record.granted = still
        record.taken_back += 1
        return taken

    def _write(self, name: str, change: Change, tier: int, points: int) -> None:
        self.points += points
        user = self.user
        self.grants.append(Grant(name, user.uid, user.version + 1, change.task, change.period, tier, points, self.points, change.revision))


def result_of(change: Change, record: Record, refused: str = "", about: str = "") -> ChangeResult:
    """Of a change that has done nothing."""
    return ChangeResult(change.task, change.period, record.progress, record.state, False, 0, refused=refused, about=about)


# -- progress


def _add(event: Event, record: Record, change: Change) -> ChangeResult:
    return _advance(event, record, change, record.progress + change.value)


def _max(event: Event, record: Record, change: Change) -> ChangeResult:
    return _advance(event, record, change, max(record.progress, change.value))


def _set(event: Event, record: Record, change: Change) -> ChangeResult:
    return _advance(event, record, change, change.value)


def _distinct(event: Event, record: Record, change: Change) -> ChangeResult:
    members, member = record.members or b"", hash_of(change.member)
    progress = record.progress
    if len(members) < MOST_MEMBERS * MEMBER_BYTES and _place_of(member, members) is None:
        record.members = members + member
        event.member_bytes += MEMBER_BYTES
        progress += 1
    return _advance(event, record, change, progress)


def _complete(event: Event, record: Record, change: Change) -> ChangeResult:
    if change.caps and (key := _capped_by(event, record, change)):
        return result_of(change, record, CAPPED, key)
    return _advance(event, record, change, max(record.progress, change.target))


def _accept(event: Event, record: Record, change: Change) -> ChangeResult:
    record.revision = change.revision
    return result_of(change, record)


def _advance(event: Event, record: Record, change: Change, progress: int) -> ChangeResult:
    if progress > MAX_VALUE:
        raise BadArgument(f"progress of task {change.task} would pass 2^53-1: {progress}")
    record.progress = progress
    record.revision = change.revision
    if change.tiers:
        return _reach_tiers(event, record, change)
    if record.state != IN_PROGRESS or not (change.op == "complete" or 0 < change.target <= progress):
        return ChangeResult(change.task, change.period, progress, record.state, False, 0)
    if change.caps and (key := _capped_by(event, record, change)):
        return result_of(change, record, CAPPED, key)
    _complete_record(event, record, change)
    if change.by_claim:
        return ChangeResult(change.task, change.period, progress, COMPLETED, True, 0)
    points = event.grant(record, change, 0, change.points)
    return ChangeResult(change.task, change.period, progress, COMPLETED, True, points, 1)


def _reach_tiers(event: Event, record: Record, change: Change) -> ChangeResult:
    """Complete at the last tier, and grant those that are reached, in their order, as far as the caps have room."""
    tiers, before = change.tiers, record.granted
    reached = len(tiers) if change.op == "complete" else _reached_tiers(change, record.progress)
    completes, key, points = reached == len(tiers) and record.state == IN_PROGRESS, "", 0
    if completes and (key := _capped_by(event, record, change)):
        completes, reached = False, reached - 1
    if completes:
        _complete_record(event, record, change)
    if not change.by_claim:
        points, short = _grant_tiers(event, record, change, reached, is_counted=completes)
        key = key or short
    return ChangeResult(
        task=change.task,
        period=change.period,
        progress=record.progress,
        state=record.state,
        completed_now=completes,
        points=points,
        granted=record.granted - before,
        refused=CAPPED if key else "",
        about=key,
    )


def _complete_record(event: Event, record: Record, change: Change) -> None:
    if change.caps:
        event.counting.count(change, points=_points_left(record, change), completions=1)
    record.state = COMPLETED
    record.completed_at = event.now_ms


def _capped_by(event: Event, record: Record, change: Change) -> str:
    """The cap that keeps the record from being completed, with all that it gives then or at the claim. A cap has been used only once."""
    if record.state == IN_PROGRESS:
        return event.counting.capped_by(change, points=_points_left(record, change), completions=1)
    if change.tiers and not change.by_claim:
        return event.counting.capped_by(change, points=_points_left(record, change), completions=0)
    return ""


def _grant_tiers(event: Event, record: Record, change: Change, due: int, is_counted: bool) -> tuple[int, str]:
    """Grant the tiers up to this one, each of which must find room in the caps unless it was counted before; the points, and the cap
    that ended it."""
    given = 0
    for tier in range(record.granted + 1, due + 1):
        points = change.tiers[tier - 1][1]
        if change.caps and not is_counted:
            if key := event.counting.capped_by(change, points, completions=0):
                return given, key
            event.counting.count(change, points, completions=0)
        given += event.grant(record, change, tier, points)
    return given, ""


# -- claim and revert


def _claim(event: Event, record: Record, change: Change) -> ChangeResult:
    """What the completed record gives, or its tiers that are reached; the last tier comes with the completion, which the caps count."""
    before, points, key, last = record.granted, 0, "", max(1, len(change.tiers))
    is_completed = record.state == COMPLETED
    if change.tiers:
        due = _reached_tiers(change, record.progress)
        due = min(due, last - 1) if record.state == IN_PROGRESS else due
        points, key = _grant_tiers(event, record, change, due, is_counted=is_completed)
    elif is_completed and not record.granted:
        points = event.grant(record, change, 0, change.points)
    ends = is_completed and record.granted >= last
    if not ends and record.granted == before:
        if key:
            return result_of(change, record, CAPPED, key)
        return result_of(change, record, ALREADY_CLAIMED if record.granted else NOT_COMPLETED)
    record.revision = change.revision
    if ends:
        record.state = CLAIMED
        record.claimed_at = event.now_ms
    return ChangeResult(
        task=change.task,
        period=change.period,
        progress=record.progress,
        state=record.state,
        completed_now=False,
        points=points,
        granted=record.granted - before,
        claimed_now=True,
    )


def _revert(event: Event, record: Record, change: Change) -> ChangeResult:
    """Take progress back. A completion ends only with what it has given: where nothing was, or where that is taken back as well."""
    before, reserved = record.granted, _points_left(record, change) if change.by_claim and record.state == COMPLETED else 0
    record.progress = _reverted(event, record, change)
    record.revision = change.revision
    is_below = record.progress < change.target
    still = (_reached_tiers(change, record.progress) if change.tiers else 0) if is_below else before
    taken = event.take_back(record, change, still) if change.takes_back and before > still else 0
    falls = is_below and record.state != IN_PROGRESS and record.granted <= still
    if falls:
        record.state = IN_PROGRESS
        record.completed_at = record.claimed_at = None
    if change.caps and (falls or taken):
        event.counting.count(change, points=-taken - (reserved if falls else 0), completions=-1 if falls else 0)
    return ChangeResult(
        task=change.task,
        period=change.period,
        progress=record.progress,
        state=record.state,
        completed_now=False,
        points=-taken,
        granted=record.granted - before,
    )


def _reverted(event: Event, record: Record, change: Change) -> int:
    """The progress without what is reverted."""
    if change.mode == "add":
        return max(0, record.progress - change.value)
    if change.mode != "distinct":
        return change.value
    members = record.members or b""
    place = _place_of(hash_of(change.member), members)
    if place is None:
        return record.progress
    record.members = members[:place] + members[place + MEMBER_BYTES :]
    event.member_bytes -= MEMBER_BYTES
    return max(0, record.progress - 1)


# -- what they lean on


def hash_of(member: str) -> bytes:
    return blake2b(member.encode(), digest_size=MEMBER_BYTES).digest()


def _place_of(member: bytes, members: bytes) -> int | None:
    place = members.find(member)
    while place > 0 and place % MEMBER_BYTES:
        place = members.find(member, place + 1)  # it began in the midst of one
    return place if place >= 0 else None


def _reached_tiers(change: Change, progress: int) -> int:
    return sum(target <= progress for target, _ in change.tiers)


def _points_left(record: Record, change: Change) -> int:
    """What the record will still give when it has given all."""
    if change.tiers:
        return sum(points for _, points in change.tiers[record.granted :])
    return 0 if record.granted else change.points


STEPS: dict[str, Step] = {
    "add": _add,
    "max": _max,
    "set": _set,
    "distinct": _distinct,
    "complete": _complete,
    "accept": _accept,
    "claim": _claim,
    "revert": _revert,
}
