"""Lists of users for gray releases: which there are, how many users are on each, which tasks use it, and upload into the draft."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import path
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from apps.tasks.config.documents import LIST, TASK, Configuration, UserList
from apps.tasks.config.line_faults import LineFault, say_line
from apps.tasks.config.lists import MAX_FAULTS, ParsedList, parse_list, uids_of
from apps.tasks.config.words import say_fault
from apps.tasks.models import ListContents
from apps.tasks.publishing import drafts
from apps.tasks.publishing.errors import Refusal
from apps.tasks.publishing.lists import unpack, upload_list
from apps.tasks.publishing.words import say_refusal
from apps.tasks.screens.change_sentences import address_of
from apps.tasks.screens.frame import EDIT, EXPLAIN, LOOK, screen, show
from apps.tasks.screens.lists_form import ContentsForm, NewListForm
from apps.tasks.screens.workplace import Workplace
from tasksys_site.configuration import MAX_UID

FAULTS_SHOWN = 50
LINE_IS_NO_UID = "uid"


@require_safe
@screen(LOOK)
def user_lists(request: HttpRequest) -> HttpResponse:
    return _lists_page(request, Workplace(request))


@screen(EDIT)
@require_http_methods(["GET", "HEAD", "POST"])
def new_list(request: HttpRequest) -> HttpResponse:
    work = Workplace(request)
    if request.method != "POST":
        return _upload_page(request, work, NewListForm(), None)
    form = NewListForm(request.POST, request.FILES, taken=work.configuration.lists)
    if not form.is_valid():
        return _upload_page(request, work, form, None)
    return _take(request, work, form, form.cleaned_data["name"], form.cleaned_data["description"], None)


@screen(LOOK)
@require_http_methods(["GET", "HEAD"])
def one_list(request: HttpRequest, name: str) -> HttpResponse:
    work = Workplace(request)
    listed = _listed(work, name)
    return _list_page(request, work, listed, ContentsForm())


@screen(EDIT)
@require_POST
def replace_contents(request: HttpRequest, name: str) -> HttpResponse:
    work = Workplace(request)
    listed = _listed(work, name)
    form = ContentsForm(request.POST, request.FILES)
    if not form.is_valid():
        return _list_page(request, work, listed, form)
    return _take(request, work, form, name, listed.description, listed)


@screen(EDIT)
@require_POST
def remove_list(request: HttpRequest, name: str) -> HttpResponse:
    """From the draft, and with its publication from what is live. Tasks that use it are told as faults by then; here, at once."""
    work = Workplace(request)
    _listed(work, name)
    users = tasks_with(work.configuration, name)
    if users:
        messages.error(
            request, _("The list is used by %(codes)s. Take it out there first.") % {"codes": ", ".join(each["code"] for each in users)}
        )
        return redirect("tasks-list", name)
    draft = work.draft_to_change()
    try:
        drafts.remove_document(draft, _edition(request, draft), LIST, name, request.user, seen=work.live_number)
    except Refusal as refusal:
        messages.error(request, say_refusal(refusal))
        return redirect("tasks-list", name)
    messages.success(request, _("“%(name)s” is removed in your draft. It stays live until that is published.") % {"name": name})
    return redirect("tasks-lists")


@require_safe
@screen(EXPLAIN)
def list_uids(request: HttpRequest, name: str) -> HttpResponse:
    """The users as a text file, for who may look at single users."""
    listed = _listed(Workplace(request), name)
    contents = ListContents.objects.filter(pk=listed.sha256).first()
    if contents is None:
        raise Http404(name)
    answer = HttpResponse("".join(f"{uid}\n" for uid in unpack(contents)), content_type="text/plain; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="{name}.txt"'
    return answer


def _take(request: HttpRequest, work: Workplace, form: ContentsForm, name: str, description: str, listed: UserList | None) -> HttpResponse:
    """Parse the file; put the list into the draft, or show what is wrong with it and change nothing."""
    parsed = parse_list(form.cleaned_data["file"].read())
    if not parsed.count and not parsed.faults:
        form.add_error("file", _("There is no uid in this file."))
    if not form.is_valid() or not may_take(parsed, form.cleaned_data["leave_out"]):
        return _upload_page(request, work, form, parsed) if listed is None else _list_page(request, work, listed, form, parsed)
    draft = work.draft_to_change()
    try:
        upload_list(draft, _edition(request, draft), name, description, uids_of(parsed.text), request.user, seen=work.live_number)
    except Refusal as refusal:
        messages.error(request, say_refusal(refusal))
        return redirect("tasks-list", name) if listed is not None else _upload_page(request, work, form, None)
    messages.success(request, say_taken(name, parsed))
    return redirect("tasks-list", name)


def may_take(parsed: ParsedList, leaves_out: bool) -> bool:
    """Lines that are no uid may be left out, when the operator says so; a file that is no text, or too long, may not."""
    if any(fault.code != LINE_IS_NO_UID for fault in parsed.faults):
        return False
    return bool(parsed.count) and (leaves_out or not parsed.faults)


def say_taken(name: str, parsed: ParsedList) -> str:
    places = {"name": name, "count": f"{parsed.count:,}", "repeated": parsed.repeated, "faults": say_fault_count(parsed.faults)}
    said = ngettext("“%(name)s” has %(count)s user in your draft.", "“%(name)s” has %(count)s users in your draft.", parsed.count) % places
    if parsed.repeated:
        said += " " + ngettext("%(repeated)d repetition was dropped.", "%(repeated)d repetitions were dropped.", parsed.repeated) % places
    if parsed.faults:
        said += " " + _("Left out: %(faults)s.") % places
    return said


def say_fault_count(faults: Sequence[LineFault]) -> str:
    """Parsing stops counting at MAX_FAULTS."""
    count = len(faults)
    if count >= MAX_FAULTS:
        return _("%(count)d or more that are no uid") % {"count": count}
    return ngettext("%(count)d that is no uid", "%(count)d that are no uid", count) % {"count": count}


def tasks_with(configuration: Configuration, name: str) -> list[dict[str, Any]]:
    """The tasks that use the list, and whether it lets users in or shuts them out."""
    found = []
    for code, task in sorted(configuration.tasks.items()):
        if not task.archived and name in (*task.release.allow, *task.release.deny):
            found.append(
                {
                    "code": code,
                    "address": address_of(TASK, code),
                    "lets_in": name in task.release.allow,
                    "shuts_out": name in task.release.deny,
                }
            )
    return found


def _listed(work: Workplace, name: str) -> UserList:
    listed = work.configuration.lists.get(name)
    if listed is None:
        raise Http404(name)
    return listed


def _edition(request: HttpRequest, draft: Any) -> int:
    """The one that the page showed; without a draft there was none."""
    typed = request.POST.get("edition", "")
    return (int(typed) if typed.isdecimal() and len(typed) < 10 else 0) or int(draft.edition)


def _lists_page(request: HttpRequest, work: Workplace) -> HttpResponse:
    uses: dict[str, int] = {}
    for task in work.configuration.tasks.values():
        if not task.archived:
            for name in {*task.release.allow, *task.release.deny}:
                uses[name] = uses.get(name, 0) + 1
    rows = [
        {"list": listed, "uses": uses.get(name, 0), "is_changed": (LIST, name) in work.changed_keys}
        for name, listed in sorted(work.configuration.lists.items())
    ]
    return show(request, "lists.html", _("Lists of users"), banner=work.banner(), rows=rows, may_edit=work.may_edit)


def _upload_page(request: HttpRequest, work: Workplace, form: NewListForm | ContentsForm, parsed: ParsedList | None) -> HttpResponse:
    return show(
        request,
        "list_upload.html",
        _("New list of users"),
        banner=work.banner(),
        form=form,
        edition=work.draft.edition if work.draft else 0,
        **_told(parsed),
    )


def _list_page(
    request: HttpRequest, work: Workplace, listed: UserList, form: ContentsForm, parsed: ParsedList | None = None
) -> HttpResponse:
    return show(
        request,
        "list.html",
        _("List “%(name)s”") % {"name": listed.name},
        banner=work.banner(),
        listed=listed,
        is_changed=(LIST, listed.name) in work.changed_keys,
        live=work.live.lists.get(listed.name),
        tasks=tasks_with(work.configuration, listed.name),
        form=form,
        may_edit=work.may_edit,
        may_look_at_users=request.user.has_perm(EXPLAIN),  # type: ignore[union-attr]
        edition=work.draft.edition if work.draft else 0,
        **_looked_up(request, listed),
        **_told(parsed),
    )


def _looked_up(request: HttpRequest, listed: UserList) -> dict[str, Any]:
    """Whether one user is on it: `?uid=`."""
    typed = request.GET.get("uid", "").strip()
    if not typed or not request.user.has_perm(EXPLAIN):  # type: ignore[union-attr]
        return {}
    if not (typed.isascii() and typed.isdecimal() and len(typed) <= 19 and 1 <= int(typed) <= MAX_UID):
        return {"uid": typed, "uid_fault": _("A uid is a whole number from 1 to %(most)d.") % {"most": MAX_UID}}
    contents = ListContents.objects.filter(pk=listed.sha256).first()
    return {"uid": typed, "is_on": contents is not None and int(typed) in set(unpack(contents))}


def _told(parsed: ParsedList | None) -> dict[str, Any]:
    """What is wrong with a file, line by line."""
    if parsed is None or not parsed.faults:
        return {}
    return {
        "line_faults": [(say_line(fault), say_fault(fault)) for fault in parsed.faults[:FAULTS_SHOWN]],
        "fault_count": say_fault_count([fault for fault in parsed.faults if fault.code == LINE_IS_NO_UID]),
        "faults_more": max(len(parsed.faults) - FAULTS_SHOWN, 0),
        "good_count": f"{parsed.count:,}",
        "may_leave_out": may_take(parsed, leaves_out=True),
    }


urlpatterns = [
    path("lists/", user_lists, name="tasks-lists"),
    path("new-list/", new_list, name="tasks-list-new"),
    path("lists/<slug:name>/", one_list, name="tasks-list"),
    path("lists/<slug:name>/contents/", replace_contents, name="tasks-list-contents"),
    path("lists/<slug:name>/remove/", remove_list, name="tasks-list-remove"),
    path("lists/<slug:name>/users.txt", list_uids, name="tasks-list-users"),
]
