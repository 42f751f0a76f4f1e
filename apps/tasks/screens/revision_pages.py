"""The history: every revision with who and why; one revision with what it changed; back to how everything was then."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import path
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_safe

from apps.tasks.config.documents import from_plain
from apps.tasks.models import Revision
from apps.tasks.models.records import Origin
from apps.tasks.moments import say_moment
from apps.tasks.people.access import require
from apps.tasks.people.roles import PUBLISH_DRAFT, VIEW_REVISION
from apps.tasks.publishing import publish
from apps.tasks.publishing.errors import Conflicting, Invalid, NotApproved, Refusal
from apps.tasks.publishing.live import configuration_at
from apps.tasks.publishing.reconciling import brought_back, what_rolls_back
from apps.tasks.publishing.words import say_refusal
from apps.tasks.screens import widgets
from apps.tasks.screens.change_sentences import changes_between, changes_in
from apps.tasks.screens.frame import EDIT, screen, show
from apps.tasks.screens.publish_pages import IN_FLIGHT
from apps.tasks.screens.workplace import Workplace, enter

REVISIONS_A_PAGE = 50
MOST_CHANGES = 200
"""More documents than this are counted, not shown."""


class RollBackForm(forms.Form):
    reason = forms.CharField(
        label=gettext_lazy("Why"),
        max_length=1000,
        widget=widgets.LongText(),
        help_text=gettext_lazy("It stands in the history of revisions."),
        error_messages={"required": gettext_lazy("Say why: the reason stands in the history.")},
    )
    in_flight = forms.ChoiceField(
        label=gettext_lazy("Users in the middle of a changed task"), choices=IN_FLIGHT, initial="apply", widget=forms.RadioSelect()
    )


@screen(VIEW_REVISION)
@require_safe
def revisions(request: HttpRequest) -> HttpResponse:
    listed = Revision.objects.select_related("reviewer").order_by("-number")
    page = Paginator(listed, REVISIONS_A_PAGE).get_page(request.GET.get("page"))
    return show(request, "revisions.html", _("Revisions"), banner=Workplace(request).banner(), page=page)


@screen(VIEW_REVISION)
@require_safe
def one_revision(request: HttpRequest, number: int) -> HttpResponse:
    revision = _revision_or_404(number)
    work = Workplace(request)
    changes = revision.changes
    is_live = number == work.live_number
    moment = {"number": number, "moment": say_moment(revision.published_at)}
    banner = (
        {"mode": "live", "sentence": _("You look at revision %(number)d of %(moment)s. It is live.") % moment}
        if is_live
        else {"mode": "old", "sentence": _("You look at revision %(number)d of %(moment)s. It cannot be changed.") % moment}
    )
    return show(
        request,
        "revision.html",
        _("Revision %(number)d") % {"number": number},
        banner=banner,
        revision=revision,
        is_live=is_live,
        changes=changes_in(changes[:MOST_CHANGES]),
        more=max(0, len(changes) - MOST_CHANGES),
        may_roll_back=_may_roll_back(request),
    )


@screen(VIEW_REVISION)
@require_http_methods(["GET", "HEAD", "POST"])
def roll_back(request: HttpRequest, number: int) -> HttpResponse:
    """A draft that brings everything back; who may publish does both at once."""
    revision = _revision_or_404(number)
    require(request, EDIT, PUBLISH_DRAFT)
    work = Workplace(request)
    form = RollBackForm(request.POST or None, use_required_attribute=False)
    if request.method == "POST" and form.is_valid():
        answer = _roll_back(request, number, form.cleaned_data)
        if answer is not None:
            return answer
    target = configuration_at(number)
    keys = list(what_rolls_back(target, work.live))
    wanted = work.live.changed({(kind, key): _back(kind, key, target, work.live) for kind, key in keys})
    return show(
        request,
        "roll_back.html",
        _("Back to revision %(number)d") % {"number": number},
        banner=work.banner(),
        revision=revision,
        form=form,
        later=publish.what_goes_away(number),
        changes=changes_between(work.live, wanted, keys[:MOST_CHANGES]),
        count=len(keys),
        more=max(0, len(keys) - MOST_CHANGES),
        next_number=work.live_number + 1,
        seen=work.live_number,
        publishes=request.user.has_perm(PUBLISH_DRAFT),
    )


def _roll_back(request: HttpRequest, number: int, asked: dict[str, Any]) -> HttpResponse | None:
    seen = request.POST.get("seen", "")
    try:
        draft = publish.roll_back(number, request.user, asked["reason"], seen=int(seen) if seen.isdecimal() else None)
    except Refusal as refusal:
        messages.error(request, say_refusal(refusal))
        return None
    if not request.user.has_perm(PUBLISH_DRAFT):
        enter(request, draft)
        messages.success(request, _("This draft brings revision %(number)d back. Have it reviewed.") % {"number": number})
        return redirect("tasks-draft", draft.pk)
    try:
        revision = publish.publish(
            draft, draft.edition, request.user, asked["reason"], in_flight=asked["in_flight"], history_counts=True, origin=Origin.ROLL_BACK
        )
    except (Conflicting, Invalid, NotApproved) as refusal:
        enter(request, draft)
        messages.error(request, say_refusal(refusal))
        return redirect("tasks-draft", draft.pk)
    enter(request, None)
    said = _("Everything is as in revision %(old)d again, published as revision %(number)d.")
    messages.success(request, said % {"old": number, "number": revision.number})
    return redirect("tasks-revision", revision.number)


def _back(kind: str, key: str, target: Any, live: Any) -> Any:
    plain = brought_back(kind, key, target, live)
    return None if plain is None else from_plain(kind, plain)


def _may_roll_back(request: HttpRequest) -> bool:
    return request.user.has_perm(EDIT) or request.user.has_perm(PUBLISH_DRAFT)


def _revision_or_404(number: int) -> Revision:
    revision = Revision.objects.select_related("reviewer", "draft").filter(number=number).first()
    if revision is None:
        raise Http404(str(number))
    found: Revision = revision
    return found


urlpatterns = [
    path("revisions/", revisions, name="tasks-revisions"),
    path("revisions/<int:number>/", one_revision, name="tasks-revision"),
    path("revisions/<int:number>/roll-back/", roll_back, name="tasks-roll-back"),
]
