"""The states of grants, the outcomes of comparisons and the kinds of differences, in the operator's words."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from apps.tasks.models import PointsReconciliation
from apps.tasks.points.comparing import GIVEN_UP_HERE, MISSING, OTHER_POINTS, UNKNOWN_HERE
from apps.tasks.points.states import State

STATES = {
    State.PENDING: _("pending"),
    State.SENT: _("sent"),
    State.CONFIRMED: _("confirmed"),
    State.REJECTED: _("rejected"),
    State.INDETERMINATE: _("indeterminate"),
    State.DEAD: _("dead"),
    State.SUPERSEDED: _("replaced by a newer total"),
}
MEANINGS = {
    State.PENDING: _("Not delivered yet, or it failed and will be sent again."),
    State.SENT: _("On its way this moment."),
    State.CONFIRMED: _("The points system has it."),
    State.REJECTED: _("The points system refused it for good."),
    State.INDETERMINATE: _("The answer was lost. It is asked again under the same id, so it cannot count twice."),
    State.DEAD: _("It failed for too long. Send it again when the reason is gone."),
    State.SUPERSEDED: _("It was not sent by itself: a newer total of the user carries it."),
}
OUTCOMES = {
    PointsReconciliation.EQUAL: _("equal"),
    PointsReconciliation.OPEN: _("equal so far"),
    PointsReconciliation.DIFFERENT: _("different"),
    PointsReconciliation.NOT_COMPARED: _("not compared"),
}
DIFFERENCES = {
    MISSING: _("confirmed here, missing there"),
    UNKNOWN_HERE: _("there, unknown here (perhaps the user was erased)"),
    OTHER_POINTS: _("other points or another user"),
    GIVEN_UP_HERE: _("there, given up here"),
}
