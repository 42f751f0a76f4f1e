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

"""What stands against a task in a decision."""

TOO_LATE = "too_late"
MEMBER_MISSING = "member_missing"
ALREADY_DONE = "already_done"
NOT_BEGUN = "not_begun"
NOT_COMPLETED = "not_completed"
ALREADY_CLAIMED = "already_claimed"
NO_CLAIM = "no_claim"
NO_ACCEPT = "no_accept"
REFUSALS = (TOO_LATE, MEMBER_MISSING, ALREADY_DONE, NOT_BEGUN, NOT_COMPLETED, ALREADY_CLAIMED, NO_CLAIM, NO_ACCEPT)
"""Why an event or a step of a user does nothing to a task, beside those."""


class Reason(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """One thing that stands against a task. `about`: the attribute, list, task, group or cap; `wanted` and `actual`: what was compared."""

    code: str
    about: str = ""
    operator: str = ""
    wanted: Any = None
    actual: Any = None
