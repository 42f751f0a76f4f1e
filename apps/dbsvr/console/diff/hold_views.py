"""Stop using a replica, and use it again: each asked for first, with a reason."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from apps.dbsvr import holds
from apps.dbsvr.console.access import operators_page
from apps.dbsvr.console.diff.forms import ReasonForm
from apps.dbsvr.console.diff.frame import page, replica_named, replicas, require_repair
from apps.dbsvr.console.diff.selectors import open_differences

HOLD, RELEASE = "hold", "release"
BUTTONS = {HOLD: _("Stop using %(replica)s"), RELEASE: _("Use %(replica)s again")}


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@operators_page
def use(request: HttpRequest, replica: str, change: str) -> HttpResponse:
    """`change` is hold or release."""
    name = replica_named(replica)
    require_repair(request)
    form = ReasonForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        reason = form.cleaned_data["reason"]
        try:
            if change == HOLD:
                holds.hold_replica(name, reason, request.user)
            else:
                holds.release_replica(name, request.user, reason)
        except holds.NotHeld as error:
            messages.error(request, gettext("Nothing was changed: %(why)s") % {"why": error.why})
        return HttpResponseRedirect(reverse("diff:runs"))
    question = gettext("Stop using replica %(replica)s?") if change == HOLD else gettext("Use replica %(replica)s again?")
    context = {
        "question": question % {"replica": name},
        "consequence": _consequence(name, change),
        "button": BUTTONS[change] % {"replica": name},
        "form": form,
    }
    return page(request, "console/diff/use.html", context, 400 if request.method == "POST" else 200)


def _consequence(name: str, change: str) -> str:
    if change == RELEASE:
        differing = open_differences().get(name, 0)
        if differing:
            words = ngettext(
                "%(count)s row of it is known to differ: its user would be shown it.",
                "%(count)s rows of it are known to differ: their users would be shown them.",
                differing,
            )
            return words % {"count": differing}
        return gettext("It serves reads again within a second, as far as it has caught up.")
    others = [other for other in replicas() if other != name]
    if others:
        return gettext("Within a second it serves no read: %(others)s and the master take them. It goes on replicating.") % {
            "others": ", ".join(others)
        }
    return gettext("Within a second it serves no read: the master takes them all. It goes on replicating.")
