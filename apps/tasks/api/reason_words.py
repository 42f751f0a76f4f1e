"""The reason codes of decisions in sentences, for users, in the language that is active."""

from __future__ import annotations

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop as later

from apps.tasks.evaluation import reasons as why
from apps.tasks.evaluation.reasons import Reason

SENTENCES = {
    why.INACTIVE: later("The task is switched off."),
    why.NOT_STARTED: later("The task has not started yet."),
    why.ENDED: later("The task has ended."),
    why.DENIED: later("The task is not offered to this user."),
    why.NOT_RELEASED: later("The task is not released to this user yet."),
    why.CONDITION_UNMET: later("The condition on “%(about)s” is not met."),
    why.ATTRIBUTE_UNKNOWN: later("“%(about)s” is not known of this user."),
    why.PREREQUISITE: later("The task “%(about)s” comes first."),
    why.SEQUENCE: later("The task “%(about)s” comes first in this sequence."),
    why.EXCLUSIVE_GROUP: later("Only one of these tasks can be done, and the user does “%(actual)s”."),
    why.CAP_REACHED: later("There is nothing left of what this task gives."),
    why.NOT_ACCEPTED: later("The task must be accepted first."),
    why.CLAIM_OVER: later("It is too late to claim the reward."),
    why.TOO_LATE: later("The event comes too long after it has happened."),
    why.MEMBER_MISSING: later("“%(about)s” is missing, whose different values count."),
    why.ALREADY_DONE: later("The task is done already."),
    why.NOT_BEGUN: later("There is no progress in this period."),
    why.NOT_COMPLETED: later("There is nothing to claim yet."),
    why.ALREADY_CLAIMED: later("The reward was claimed already."),
    why.NO_CLAIM: later("The reward of this task comes by itself."),
    why.NO_ACCEPT: later("This task need not be accepted."),
}


def reason_text(reason: Reason) -> str:
    return _(SENTENCES[reason.code]) % {"about": reason.about, "actual": reason.actual}
