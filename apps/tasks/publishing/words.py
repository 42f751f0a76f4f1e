"""Why something could not be done to a draft, in a sentence with the way out. One place for pages, API and the schedule."""

from __future__ import annotations

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from apps.tasks.publishing import errors


def say_refusal(refusal: errors.Refusal) -> str:
    match refusal:
        case errors.Conflicting():
            count = len(refusal.conflicts)
            return ngettext(
                "Nothing was published: a newer revision changed the same place. Decide first what is to be.",
                "Nothing was published: newer revisions changed the same %(count)d places. Decide first what is to be.",
                count,
            ) % {"count": count}
        case errors.Invalid():
            count = len(refusal.faults)
            return ngettext("%(count)d thing must be put right first.", "%(count)d things must be put right first.", count) % {
                "count": count
            }
        case errors.Stale():
            return _("The draft was changed since you looked at it: it has edition %(edition)d now. Nothing was done.") % {
                "edition": refusal.edition
            }
        case errors.NotOpen():
            return _("The draft was published or discarded meanwhile.")
        case errors.NotApproved():
            return _("Nobody has approved the draft as it is now. Ask for a review first.")
        case errors.NotAsked():
            return _("Nobody has asked for a review of the draft as it is now.")
        case errors.NotScheduled():
            return _("The draft waits for no moment.")
        case errors.OwnDraft():
            return _("Who has changed a draft cannot approve it. Somebody else has to.")
        case errors.NothingToPublish():
            return _("It makes no difference to what is live.")
        case errors.TooLarge():
            return _(
                "All that would be live takes %(size)s MiB, and %(at_most)s can be handed to the logic servers."
                " Nothing was done. Archive tasks that are over, shorten texts, or put fewer users on lists."
            ) % {"size": f"{refusal.size / 2**20:.1f}", "at_most": f"{refusal.at_most / 2**20:.1f}"}
        case errors.StaysTaken():
            return _("A published task is not removed, because users’ records refer to it. Archive it.")
        case errors.NoReason():
            return _("Say why: the reason stands in the history.")
        case errors.TooLate():
            return _("That moment has passed. Choose a later one, or publish now.")
        case errors.UnknownRevision():
            return _("There is no such revision.")
        case errors.UnknownDocument():
            return _("It is not there any more.")
        case errors.Busy():
            return _("Somebody else is publishing at this moment. Try again in a few seconds.")
        case _:
            return str(refusal)


def say_failure(failure: str) -> str:
    """Why a scheduled publication was not done: what stands in `Draft.failure`."""
    return {
        "": "",
        "conflict": _("It was not published at its moment: a newer revision had changed the same. Decide what is to be, and ask again."),
        "invalid": _("It was not published at its moment: together with what is live by then, it had faults. Check it."),
        "large": _("It was not published at its moment: with it, all that is live would be too large. Archive tasks that are over."),
        "nothing": _("It was not published at its moment: it made no difference any more."),
    }.get(failure, _("It was not published at its moment: the program failed. It is in the log."))
