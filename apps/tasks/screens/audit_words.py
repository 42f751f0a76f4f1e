"""What stands in the audit log by its code, in words. A code that is not here is shown as it is."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from apps.tasks.config.documents import ATTRIBUTE, EVENT, LIST, TASK

ACTIONS = {
    "open": _("opened a draft"),
    "save": _("changed in a draft"),
    "remove": _("removed in a draft"),
    "import": _("imported into a draft"),
    "revert": _("took a change in a draft back"),
    "resolve": _("resolved a conflict"),
    "discard": _("discarded a draft"),
    "ask": _("asked for a review"),
    "approve": _("approved a draft"),
    "send_back": _("sent a draft back"),
    "publish": _("published"),
    "schedule": _("scheduled a publication"),
    "cancel_schedule": _("took a scheduled publication back"),
    "schedule_failed": _("could not publish as scheduled"),
    "open_roll_back": _("opened a draft that rolls back"),
    "roll_back": _("rolled back"),
    "switch_off": _("switched off"),
    "switch_on": _("switched on"),
    "start_diff": _("began a comparison of a replica"),
    "pause_diff": _("paused a comparison"),
    "resume_diff": _("went on with a comparison"),
    "cancel_diff": _("cancelled a comparison"),
    "repair_row": _("repaired a row on the replicas"),
    "hold_replica": _("stopped using a replica"),
    "release_replica": _("uses a replica again"),
    "login": _("logged in"),
    "login_failed": _("failed to log in"),
    "logout": _("logged out"),
    "locked": _("was locked out"),
    "unlocked": _("unlocked an account"),
    "password": _("changed a password"),
    "rights": _("changed rights"),
    "account_deleted": _("deleted an account"),
    "points_pause": _("paused the delivery of points"),
    "points_resume": _("resumed the delivery of points"),
    "points_rate": _("changed how fast points are delivered"),
    "points_resend": _("sent grants again"),
}

KINDS = {
    TASK: _("task"),
    ATTRIBUTE: _("attribute"),
    EVENT: _("event type"),
    LIST: _("list of users"),
    "replica": _("replica"),
    "diff": _("comparison"),
    "difference": _("difference"),
    "account": _("account"),
    "group": _("role"),
    "points": _("points"),
}
