"""What the API answers, as typed values. What a newer server says besides is passed over; what an older one does not say has a default."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

Uid = int | str
"""As JSON holds it: from 2^53 on a text of digits."""


class Reason(msgspec.Struct, frozen=True):
    """`about`, `operator`, `wanted`, `actual` come with `with_values` alone."""

    code: str
    text: str = ""
    about: str = ""
    operator: str = ""
    wanted: Any = None
    actual: Any = None


class Tier(msgspec.Struct, frozen=True):
    target: int
    points: int
    reached: bool


class Streak(msgspec.Struct, frozen=True):
    in_row: int
    length: int
    grace: int
    fills: bool


class StillClaimable(msgspec.Struct, frozen=True):
    period: str
    points: int
    until: datetime | None = None


class Task(msgspec.Struct, frozen=True):
    """What a user may do, and how far he is."""

    code: str
    state: str
    period: str
    progress: int
    target: int
    points: int
    kind: str = ""
    name: str = ""
    description: str = ""
    button: str = ""
    link: str = ""
    category: str = ""
    icon: str = ""
    weight: int = 0
    tags: tuple[str, ...] = ()
    accepted: bool = True
    tiers: tuple[Tier, ...] = ()
    streak: Streak | None = None
    starts_at: datetime | None = None
    ends_at: datetime | None = None
    resets_at: datetime | None = None
    completed_at: datetime | None = None
    claimed_at: datetime | None = None
    claim_until: datetime | None = None
    still_claimable: tuple[StillClaimable, ...] = ()
    reasons: tuple[Reason, ...] = ()


class _OfUser(msgspec.Struct, frozen=True):
    uid: Uid
    generation: int
    version: int


class UserTasks(_OfUser, frozen=True):
    points: int
    tasks: tuple[Task, ...]


class StepTask(msgspec.Struct, frozen=True):
    """What became of one task. `points`: what this event gave; negative: what it took back."""

    code: str
    period: str
    state: str
    progress: int
    target: int
    completed_now: bool = False
    claimed_now: bool = False
    points: int = 0
    resets_at: datetime | None = None
    reasons: tuple[Reason, ...] = ()


class _Written(_OfUser, frozen=True):
    event_id: str
    applied: bool
    """False: this event id was here before (`task`, `tasks` say what it did then), or it feeds nothing."""


class Step(_Written, frozen=True):
    """`points`: the user's total now."""

    points: int
    task: StepTask


class NotCounted(msgspec.Struct, frozen=True):
    code: str
    reasons: tuple[Reason, ...] = ()


class EventOutcome(_Written, frozen=True):
    points: int
    tasks: tuple[StepTask, ...]
    not_counted: tuple[NotCounted, ...] = ()


class Forgotten(_Written, frozen=True):
    """A user who was erased."""


class Check(msgspec.Struct, frozen=True):
    check: str
    outcome: str
    reason: str = ""
    decides: bool = False
    about: str = ""
    operator: str = ""
    wanted: Any = None
    actual: Any = None
    group: int = 0
    note: str = ""


class ExplainedTask(msgspec.Struct, frozen=True):
    code: str
    name: str
    shown: bool
    state: str
    period: str
    progress: int
    target: int
    points: int
    checks: tuple[Check, ...]
    period_starts_at: datetime | None = None
    resets_at: datetime | None = None
    zone: str = ""
    streak: Streak | None = None
    caps_left: Mapping[str, int | None] | None = None
    bucket: int = 0
    percentage_bp: int = 10_000


class ExplainedUser(_OfUser, frozen=True):
    at: datetime
    revision: int
    tasks: tuple[ExplainedTask, ...]
    draft: int | None = None


class PublishedConfig(msgspec.Struct, frozen=True):
    """A bundle as it was published, `body`; described in docs/evaluation.md. `etag` is what to send the next time."""

    etag: str
    body: bytes

    @property
    def bundle(self) -> dict[str, Any]:
        return msgspec.json.decode(self.body, type=dict[str, Any])
