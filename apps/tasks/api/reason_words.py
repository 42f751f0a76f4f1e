"""The reason codes of decisions in sentences, for users, in the language that is active."""

from __future__ import annotations

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from apps.tasks.evaluation import reasons as why
from apps.tasks.evaluation.reasons import Reason

SENTENCES = {
    why.INACTIVE: gettext_noop("The task is switched off."),
    why.NOT_STARTED: gettext_noop("The task has not started yet."),
    why.ENDED: gettext_noop("The task has ended."),
    why.DENIED: gettext_noop("The task is not offered to this user."),
    why.NOT_RELEASED: gettext_noop("The task is not released to this user yet."),
    why.CONDITION_UNMET: gettext_noop("The condition on “%(about)s” is not met."),
    why.ATTRIBUTE_UNKNOWN: gettext_noop("“%(about)s” is not known of this user."),
    why.PREREQUISITE: gettext_noop("The task “%(about)s” comes first."),
    why.SEQUENCE: gettext_noop("The task “%(about)s” comes first in this sequence."),
    why.EXCLUSIVE_GROUP: gettext_noop("Only one of these tasks can be done, and the user does “%(actual)s”."),
    why.CAP_REACHED: gettext_noop("There is nothing left of what this task gives."),
    why.NOT_ACCEPTED: gettext_noop("The task must be accepted first."),
    why.CLAIM_OVER: gettext_noop("It is too late to claim the reward."),
    why.TOO_LATE: gettext_noop("The event comes too long after it has happened."),
    why.MEMBER_MISSING: gettext_noop("“%(about)s” is missing, whose different values count."),
    why.ALREADY_DONE: gettext_noop("The task is done already."),
    why.NOT_BEGUN: gettext_noop("There is no progress in this period."),
    why.NOT_COMPLETED: gettext_noop("There is nothing to claim yet."),
    why.ALREADY_CLAIMED: gettext_noop("The reward was claimed already."),
    why.NO_CLAIM: gettext_noop("The reward of this task comes by itself."),
    why.NO_ACCEPT: gettext_noop("This task need not be accepted."),
}


def reason_text(reason: Reason) -> str:
    return _(SENTENCES[reason.code]) % {"about": reason.about, "actual": reason.actual}
