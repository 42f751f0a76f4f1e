"""Why something could not be done to a draft. In all these cases nothing was done."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from apps.tasks.config.faults import Fault
    from apps.tasks.publishing.reconciling import DocumentConflict


class Refusal(Exception):
    """Nothing was done. But for Busy, asking again in the same way will not help."""


class Conflicting(Refusal):
    """A newer revision changed the same; each conflict is to be resolved first."""

    def __init__(self, conflicts: Sequence[DocumentConflict]) -> None:
        super().__init__(f"{len(conflicts)} conflicts: {', '.join(str(conflict) for conflict in conflicts[:3])}")
        self.conflicts = list(conflicts)


class Invalid(Refusal):
    """The whole that it would make has faults."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        super().__init__(f"{len(faults)} faults: {', '.join(f'{fault.pointer} {fault.code}' for fault in faults[:3])}")
        self.faults = list(faults)


class Stale(Refusal):
    """The draft is not what the caller has seen: it has another edition now."""

    def __init__(self, edition: int) -> None:
        super().__init__(f"the draft has edition {edition} now")
        self.edition = edition


class NotOpen(Refusal):
    """The draft was published or discarded."""


class NotApproved(Refusal):
    """Nobody has approved this edition of the draft."""


class NotAsked(Refusal):
    """Nobody has asked for a review of this edition."""


class NotScheduled(Refusal):
    """The draft waits for no moment."""


class OwnDraft(Refusal):
    """Who has changed a draft cannot approve it."""


class NothingToPublish(Refusal):
    """The draft makes no difference to what is live."""


class TooLarge(Refusal):
    """More than can be handed down to the logic nodes."""

    def __init__(self, size: int, at_most: int) -> None:
        super().__init__(f"the revision has {size} bytes, at most {at_most} can be handed down")
        self.size = size
        self.at_most = at_most


class StaysTaken(Refusal):
    """A published task is not removed: users' records refer to it. It is archived."""


class UnknownRevision(Refusal):
    """There is no revision with this number."""


class UnknownDocument(Refusal):
    """There is no document with this code or name."""


class NoReason(Refusal):
    """What is done at once needs a reason."""


class TooLate(Refusal):
    """The moment to publish at has passed."""


class Busy(Refusal):
    """Somebody else is publishing at this moment. Asking again in a few seconds helps."""
