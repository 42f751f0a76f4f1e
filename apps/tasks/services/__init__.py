"""What a logic server can have done to users: read and explain them, tell their events, complete, accept, claim, take back, erase.

One thought a module: `errors`, `reading`, `writing` (how a decided write is sent), `events`, `steps`, `batches`. All go through
TaskInterface.
"""

from apps.tasks.services.errors import BadMoment, EventUsedOtherwise, NotEligible, UnknownEventType, UnknownTask
from apps.tasks.services.events import Told, record_event
from apps.tasks.services.reading import decisions_of_user, explanations_of_user, prompts_of_user
from apps.tasks.services.steps import Taken, accept_task, claim_reward, complete_task, forget_user, revert_progress
from apps.tasks.services.writing import new_event_id

__all__ = [
    "BadMoment",
    "EventUsedOtherwise",
    "NotEligible",
    "Taken",
    "Told",
    "UnknownEventType",
    "UnknownTask",
    "accept_task",
    "claim_reward",
    "complete_task",
    "decisions_of_user",
    "explanations_of_user",
    "forget_user",
    "new_event_id",
    "prompts_of_user",
    "record_event",
    "revert_progress",
]
