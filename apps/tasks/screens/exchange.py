"""Import and export: the configuration as a file, and a file back as changes in a draft.

An import is a dry run first: what each document would change, in sentences, and what is wrong in which line. Nothing is changed by
looking. What is then confirmed goes into the draft, one audit row for each document; from there it is reviewed and published as ever.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import UploadedFile
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import path
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from apps.tasks.config.documents import Configuration
from apps.tasks.config.exchange import Imported, export_json, import_json
from apps.tasks.config.faults import refusals
from apps.tasks.config.line_faults import LineFault, say_line
from apps.tasks.config.table import export_csv, import_csv
from apps.tasks.config.words import say_fault
from apps.tasks.publishing import drafts
from apps.tasks.publishing.errors import Refusal, UnknownRevision
from apps.tasks.publishing.live import configuration_at
from apps.tasks.publishing.words import say_refusal
from apps.tasks.screens.change_sentences import Change, changes_between
from apps.tasks.screens.exchange_files import MOST_BYTES, NotThatFile, TooLarge, pack, unpack
from apps.tasks.screens.frame import EDIT, LOOK, screen, show
from apps.tasks.screens.workplace import Workplace

JSON, CSV = "json", "csv"
FAULTS_SHOWN = 100
CHANGES_SHOWN = 200
"""More documents than this are counted, not shown; they are imported all the same."""


class FileForm(forms.Form):
    file = forms.FileField(
        label=gettext_lazy("File"),
        allow_empty_file=True,
        help_text=gettext_lazy("JSON with anything, or CSV with tasks, as they are exported here."),
        widget=forms.FileInput(attrs={"accept": ".json,.csv,application/json,text/csv"}),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, use_required_attribute=False, **kwargs)

    def clean_file(self) -> UploadedFile:
        file: UploadedFile = self.cleaned_data["file"]
        if file.size is not None and file.size > MOST_BYTES:
            raise ValidationError(_("The file is too large. Import it in parts."))
        return file


@dataclass(frozen=True, slots=True)
class DryRun:
    """What an import would do to the configuration that the operator works on.

    `changed`: the keys of the documents that make a difference; `changes`: the first of them in sentences; `same`: how many make none.
    `faults`: those in the file, then those that the whole would have by it. The first are not taken; the others may be put right in the
    draft.
    """

    changed: list[tuple[str, str]]
    changes: list[Change]
    same: int
    faults: list[LineFault]


@require_safe
@screen(LOOK)
def exchange(request: HttpRequest) -> HttpResponse:
    return _page(request, Workplace(request), FileForm())


@require_safe
@screen(LOOK)
def export(request: HttpRequest, form: str) -> HttpResponse:
    """`of`: live (or nothing), draft, or a revision's number."""
    work = Workplace(request)
    asked = request.GET.get("of", "live")
    if asked == "draft" and work.draft is not None:
        configuration, name = work.configuration, f"draft-{work.draft.pk}"
    elif asked.isdecimal() and len(asked) < 10:
        try:
            configuration, name = configuration_at(int(asked)), f"revision-{asked}"
        except UnknownRevision as error:
            raise Http404(asked) from error
    else:
        configuration, name = work.live, f"revision-{work.live_number}"
    content, content_type = (
        (export_csv(configuration), "text/csv; charset=utf-8") if form == CSV else (export_json(configuration), "application/json")
    )
    answer = HttpResponse(content, content_type=content_type)
    answer["Content-Disposition"] = f'attachment; filename="tasks-{name}.{form}"'
    return answer


@screen(EDIT)
@require_http_methods(["POST"])
def dry_run(request: HttpRequest) -> HttpResponse:
    work = Workplace(request)
    form = FileForm(request.POST, request.FILES)
    if not form.is_valid():
        return _page(request, work, form)
    file = form.cleaned_data["file"]
    content = file.read()
    sort = CSV if str(file.name).lower().endswith(".csv") else JSON
    try:
        packed = pack(sort, content)
    except TooLarge:
        form.add_error("file", _("The file is too large. Import it in parts."))
        return _page(request, work, form)
    found = run_dry(sort, content, work)
    return show(
        request,
        "exchange_dry_run.html",
        _("Dry run of %(file)s") % {"file": str(file.name)[:100]},
        banner=work.banner(),
        run=found,
        changes=found.changes,
        more=len(found.changed) - len(found.changes),
        count=len(found.changed),
        faults=[(say_line(fault), fault, say_fault(fault)) for fault in found.faults[:FAULTS_SHOWN]],
        faults_more=max(len(found.faults) - FAULTS_SHOWN, 0),
        packed=packed,
        edition=work.draft.edition if work.draft else 0,
        seen=work.live_number,
    )


@screen(EDIT)
@require_POST
def take(request: HttpRequest) -> HttpResponse:
    """Put into the draft what the dry run showed."""
    work = Workplace(request)
    try:
        sort, content = unpack(request.POST.get("packed", ""))
    except NotThatFile:
        messages.error(request, _("The dry run is too old. Choose the file again."))
        return redirect("tasks-exchange")
    imported = read(sort, content, work.configuration)
    changes = {key: imported.changes[key] for key in changed_by(imported, work.configuration)}
    draft = work.draft_to_change(_("Import"))
    try:
        drafts.save_documents(
            draft, _number(request, "edition") or draft.edition, changes, request.user, seen=_number(request, "seen"), action="import"
        )
    except Refusal as refusal:
        messages.error(request, say_refusal(refusal))
        return redirect("tasks-exchange")
    messages.success(
        request,
        ngettext("%(count)d document is in your draft.", "%(count)d documents are in your draft.", len(changes)) % {"count": len(changes)},
    )
    return redirect("tasks-draft", draft.pk)


def run_dry(sort: str, content: bytes, work: Workplace) -> DryRun:
    configuration = work.configuration
    imported = read(sort, content, configuration)
    changed = changed_by(imported, configuration)
    wanted = configuration.changed({key: imported.changes[key] for key in changed})
    new = refusals(drafts.faults_of(wanted, work.live))
    if new:  # told are the faults that the file brings, not those that were there before
        before = {(fault.pointer, fault.code) for fault in drafts.faults_of(configuration, work.live)}
        new = [fault for fault in new if (fault.pointer, fault.code) not in before]
    return DryRun(
        changed=changed,
        changes=changes_between(configuration, wanted, changed[:CHANGES_SHOWN]),
        same=len(imported.changes) - len(changed),
        faults=[*imported.faults, *imported.in_file(new)],
    )


def changed_by(imported: Imported, configuration: Configuration) -> list[tuple[str, str]]:
    return sorted((kind, key) for (kind, key), document in imported.changes.items() if configuration.of_kind(kind).get(key) != document)


def read(sort: str, content: bytes, configuration: Configuration) -> Imported:
    """A table has a task's plain fields alone; what it cannot hold stays as the task has it in `configuration`."""
    return import_csv(content, configuration) if sort == CSV else import_json(content)


def _page(request: HttpRequest, work: Workplace, form: FileForm) -> HttpResponse:
    return show(
        request,
        "exchange.html",
        _("Import and export"),
        banner=work.banner(),
        form=form,
        draft=work.draft,
        live_number=work.live_number,
        count=len(work.live.tasks),
        may_edit=work.may_edit,
    )


def _number(request: HttpRequest, name: str) -> int | None:
    typed = request.POST.get(name, "")
    return int(typed) if typed.isdecimal() and len(typed) < 10 else None


urlpatterns = [
    path("exchange/", exchange, name="tasks-exchange"),
    path("exchange/dry-run/", dry_run, name="tasks-exchange-dry-run"),
    path("exchange/take/", take, name="tasks-exchange-take"),
    path("exchange/tasks.json", export, {"form": JSON}, name="tasks-export-json"),
    path("exchange/tasks.csv", export, {"form": CSV}, name="tasks-export-csv"),
]
