"""Publishing a draft: what changes, what becomes of users who are in the middle, why. Now, or at a moment."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import path
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST

from apps.tasks.config.documents import TASK
from apps.tasks.models import Draft
from apps.tasks.moments import say_moment
from apps.tasks.people.roles import PUBLISH_DRAFT
from apps.tasks.publishing import publish
from apps.tasks.publishing.errors import Refusal, TooLate
from apps.tasks.publishing.words import say_refusal
from apps.tasks.screens import widgets
from apps.tasks.screens.change_sentences import Change, changes_between
from apps.tasks.screens.form_marks import EDITION, posted_number
from apps.tasks.screens.frame import screen, show
from apps.tasks.screens.workplace import Workplace, enter, open_draft_or_404

IN_FLIGHT = [
    ("keep", gettext_lazy("They finish the running period by the old rules.")),
    ("apply", gettext_lazy("The new rules count at once. Nobody loses what he has completed.")),
]


class PublishForm(forms.Form):
    reason = forms.CharField(
        label=gettext_lazy("Why"),
        max_length=1000,
        widget=widgets.LongText(),
        help_text=gettext_lazy("It stands in the history of revisions."),
        error_messages={"required": gettext_lazy("Say why: the reason stands in the history.")},
    )
    in_flight = forms.ChoiceField(
        label=gettext_lazy("Users in the middle of a changed task"), choices=IN_FLIGHT, initial="keep", widget=forms.RadioSelect()
    )
    history_counts = forms.BooleanField(
        label=gettext_lazy("For new tasks, what users did before counts as well"), required=False, widget=widgets.Tick()
    )
    at = widgets.Moment(label=gettext_lazy("Moment"), required=False)

    def __init__(self, *args: Any, example: Change | None = None, **kwargs: Any) -> None:
        super().__init__(*args, use_required_attribute=False, **kwargs)
        if example is not None:
            self.fields["in_flight"].choices = with_example(example)  # type: ignore[attr-defined]


def with_example(change: Change) -> list[tuple[str, str]]:
    """The two choices, each with what it means for one of the changes at hand."""
    facts = {"code": change.key, "change": change.sentences[0]}
    later = _("Example: `%(code)s`, %(change)s: for them from the next period on.") % facts
    at_once = _("Example: `%(code)s`, %(change)s: for them at once.") % facts
    return [(value, f"{text} {example}") for (value, text), example in zip(IN_FLIGHT, (later, at_once), strict=True)]


@screen(PUBLISH_DRAFT)
@require_http_methods(["GET", "HEAD", "POST"])
def publish_draft(request: HttpRequest, number: int) -> HttpResponse:
    draft = open_draft_or_404(number)
    if not draft.is_open:
        return redirect("tasks-draft", draft.pk)
    work = Workplace(request, draft)
    changes = changes_between(work.live, work.configuration, work.changed_keys)
    example = next((change for change in changes if change.kind == TASK and change.sort == "changed"), None)
    form = PublishForm(request.POST or None, initial={"reason": draft.reason, "in_flight": draft.in_flight}, example=example)
    if request.method == "POST" and form.is_valid():
        edition = posted_number(request, EDITION, 0)
        try:
            return _do(request, draft, edition, form.cleaned_data, is_later="later" in request.POST)
        except TooLate as refusal:
            form.add_error("at", say_refusal(refusal))
        except Refusal as refusal:
            messages.error(request, say_refusal(refusal))
            return redirect("tasks-draft", draft.pk)
    return _page(request, work, draft, form, changes)


def _do(request: HttpRequest, draft: Draft, edition: int, asked: dict[str, Any], is_later: bool) -> HttpResponse:
    choices = {"in_flight": asked["in_flight"], "history_counts": asked["history_counts"]}
    if is_later:
        if asked["at"] is None:
            raise TooLate("no moment was given")
        publish.schedule(draft, edition, asked["at"], request.user, asked["reason"], **choices)
        messages.success(request, _("It will be published at %(moment)s, also when nobody is here.") % {"moment": say_moment(asked["at"])})
        return redirect("tasks-draft", draft.pk)
    revision = publish.publish(draft, edition, request.user, asked["reason"], **choices)
    enter(request, None)
    messages.success(request, _("Published as revision %(number)d. Users see it within a second.") % {"number": revision.number})
    return redirect("tasks-revision", revision.number)


def _page(request: HttpRequest, work: Workplace, draft: Draft, form: PublishForm, changes: list[Change]) -> HttpResponse:
    next_number = work.live_number + 1
    return show(
        request,
        "publish.html",
        _("Publish as revision %(number)d") % {"number": next_number},
        banner=work.banner(shows_links=False),
        draft=draft,
        form=form,
        changes=changes,
        count=len(changes),
        next_number=next_number,
        has_new=any(change.sort == "new" and change.kind == TASK for change in changes),
        has_changed=any(change.sort == "changed" and change.kind == TASK for change in changes),
        zone=timezone.get_current_timezone_name(),
    )


@screen(PUBLISH_DRAFT)
@require_POST
def cancel(request: HttpRequest, number: int) -> HttpResponse:
    draft = open_draft_or_404(number)
    try:
        publish.cancel_schedule(draft, posted_number(request, EDITION, 0), request.user)
    except Refusal as refusal:
        messages.error(request, say_refusal(refusal))
    else:
        messages.success(request, _("It is not published at that moment any more. It stays approved."))
    return redirect("tasks-draft", draft.pk)


urlpatterns = [
    path("draft/<int:number>/publish/", publish_draft, name="tasks-draft-publish"),
    path("draft/<int:number>/cancel/", cancel, name="tasks-draft-cancel"),
]
