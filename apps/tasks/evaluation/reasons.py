"""Why a task cannot be done: stable codes, and the values that decided. Sentences are made of them elsewhere."""

from __future__ import annotations

from typing import Any

import msgspec

AVAILABLE, IN_PROGRESS, COMPLETED = "available", "in_progress", "completed"
CLAIMABLE, CLAIMED, UNAVAILABLE = "claimable", "claimed", "unavailable"
STATUSES = (AVAILABLE, IN_PROGRESS, COMPLETED, CLAIMABLE, CLAIMED, UNAVAILABLE)

INACTIVE = "inactive"
NOT_STARTED = "not_started"
ENDED = "ended"
DENIED = "denied"
NOT_RELEASED = "not_released"
CONDITION_UNMET = "condition_unmet"
ATTRIBUTE_UNKNOWN = "attribute_unknown"
PREREQUISITE = "prerequisite"
SEQUENCE = "sequence"
EXCLUSIVE_GROUP = "exclusive_group"
CAP_REACHED = "cap_reached"
NOT_ACCEPTED = "not_accepted"
CLAIM_OVER = "claim_over"
REASONS = (
    INACTIVE,
    NOT_STARTED,
    ENDED,
    DENIED,
    NOT_RELEASED,
    CONDITION_UNMET,
    ATTRIBUTE_UNKNOWN,
    PREREQUISITE,
    SEQUENCE,
    EXCLUSIVE_GROUP,
    CAP_REACHED,
    NOT_ACCEPTED,
    CLAIM_OVER,
)


class Reason(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """One thing that stands against a task. `about`: the attribute, list, task, group or cap; `wanted` and `actual`: what was compared."""

    code: str
    about: str = ""
    operator: str = ""
    wanted: Any = None
    actual: Any = None
