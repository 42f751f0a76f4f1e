"""The reason codes of decisions in sentences, for users, in the language that is active."""

from __future__ import annotations

from django.utils.translation import gettext as _

from apps.tasks.evaluation import reasons as why
from apps.tasks.evaluation.reasons import Reason


def reason_text(reason: Reason) -> str:
    return {
        why.INACTIVE: _("The task is switched off."),
        why.NOT_STARTED: _("The task has not started yet."),
        why.ENDED: _("The task has ended."),
        why.DENIED: _("The task is not offered to this user."),
        why.NOT_RELEASED: _("The task is not released to this user yet."),
        why.CONDITION_UNMET: _("The condition on “%(about)s” is not met."),
        why.ATTRIBUTE_UNKNOWN: _("“%(about)s” is not known of this user."),
        why.PREREQUISITE: _("The task “%(about)s” comes first."),
        why.SEQUENCE: _("The task “%(about)s” comes first in this sequence."),
        why.EXCLUSIVE_GROUP: _("Only one of these tasks can be done, and the user does “%(actual)s”."),
        why.CAP_REACHED: _("There is nothing left of what this task gives."),
        why.NOT_ACCEPTED: _("The task must be accepted first."),
        why.CLAIM_OVER: _("It is too late to claim the reward."),
        why.TOO_LATE: _("The event comes too long after it has happened."),
        why.MEMBER_MISSING: _("“%(about)s” is missing, whose different values count."),
        why.ALREADY_DONE: _("The task is done already."),
        why.NOT_BEGUN: _("There is no progress in this period."),
        why.NOT_COMPLETED: _("There is nothing to claim yet."),
        why.ALREADY_CLAIMED: _("The reward was claimed already."),
        why.NO_CLAIM: _("The reward of this task comes by itself."),
        why.NO_ACCEPT: _("This task need not be accepted."),
    }[reason.code] % {"about": reason.about, "actual": reason.actual}
