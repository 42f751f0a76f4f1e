"""Why a call is refused: one class a cause. Nothing was done, and it will be refused again."""

from __future__ import annotations

from apps.tasks.evaluation.reasons import Reason


class UnknownTask(Exception):
    """There is no task with this code."""


class UnknownEventType(Exception):
    """The configuration registers event types, and this is none of them."""


class NotEligible(Exception):
    """The task could not be done at the event's time, for the reasons given."""

    def __init__(self, reasons: tuple[Reason, ...]) -> None:
        super().__init__(", ".join(reason.code for reason in reasons))
        self.reasons = reasons


class BadMoment(Exception):
    """The event's time cannot be taken: it is too far ahead, or older than the event ids that are kept."""


class EventUsedOtherwise(Exception):
    """The event id belongs to another event of this user; nothing was done."""
