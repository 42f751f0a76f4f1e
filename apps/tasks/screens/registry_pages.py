"""Attributes of users that conditions may ask for, and types of events that tasks may listen to: lists, and a form for each.

They are documents like tasks: changed in a draft, reviewed and published.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec
from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import path
from django.utils.datastructures import MultiValueDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from apps.tasks.config import limits
from apps.tasks.config.documents import ATTRIBUTE, EVENT, Attribute, Configuration, Document, EventType, key_of
from apps.tasks.config.words import say_fault
from apps.tasks.people.access import require
from apps.tasks.publishing import drafts
from apps.tasks.publishing.errors import Refusal
from apps.tasks.publishing.words import say_refusal
from apps.tasks.screens import widgets
from apps.tasks.screens.form_marks import EDITION, SEEN, edition_to_save, marks, posted_number
from apps.tasks.screens.frame import EDIT, LOOK, screen, show
from apps.tasks.screens.row_forms import TYPE_WORDS, RowForm, row_set
from apps.tasks.screens.row_sets import Posted, with_row, without_rows
from apps.tasks.screens.value_text import BadValue, text_of_value, value_from_text
from apps.tasks.screens.workplace import Workplace, open_draft_or_404

NAME = RegexValidator(re.compile(limits.NAME.pattern + r"\Z"), gettext_lazy("Use letters, digits and . _ - and begin with a letter or _."))
SOURCES = [
    ("profile", gettext_lazy("the profile system")),
    ("request", gettext_lazy("the program that asks passes it along")),
]
TYPES = list(TYPE_WORDS.items())


class NamedForm(forms.Form):
    name = forms.CharField(
        label=gettext_lazy("Name"), max_length=64, validators=[NAME], widget=widgets.Text(autocomplete="off", spellcheck="false"),
        help_text=gettext_lazy("As programs send it. It can never be changed."),
    )  # fmt: skip
    description = forms.CharField(
        label=gettext_lazy("Description"), max_length=500, required=False, widget=widgets.LongText(),
        help_text=gettext_lazy("Shown to who writes a condition with it."),
    )  # fmt: skip

    def __init__(self, *args: Any, taken: Any = (), is_new: bool = True, **kwargs: Any) -> None:
        super().__init__(*args, use_required_attribute=False, **kwargs)
        self.taken = taken
        if not is_new:
            del self.fields["name"]

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        if name in self.taken:
            raise ValidationError(_("There is one with this name already."))
        return name


class AttributeForm(NamedForm):
    type = forms.ChoiceField(
        label=gettext_lazy("Type"), choices=TYPES, widget=widgets.Choice(), help_text=gettext_lazy("What kind of value it has.")
    )
    source = forms.ChoiceField(label=gettext_lazy("Where it comes from"), choices=SOURCES, widget=widgets.Choice())
    default = forms.CharField(
        label=gettext_lazy("Where it is missing"), max_length=200, required=False, widget=widgets.Text(),
        help_text=gettext_lazy("The value that counts then. Empty: it is unknown, and what is unknown never satisfies a condition."),
    )  # fmt: skip
    ttl_s = widgets.Seconds(label=gettext_lazy("A value of the profile system is kept for"))

    def clean(self) -> dict[str, Any]:
        found: dict[str, Any] = super().clean() or self.cleaned_data
        text, expected = found.get("default", ""), found.get("type")
        try:
            found["default"] = value_from_text(expected, "=", text) if text.strip() and expected else None  # type: ignore[arg-type]
        except BadValue as error:
            raise ValidationError(
                {
                    "default": _("“%(text)s” does not fit: this asks for %(type)s.")
                    % {"text": error.text, "type": TYPE_WORDS[error.expected]}
                }
            ) from error
        return found


class EventAttributeRow(RowForm):
    TYPED = ("name",)
    name = forms.CharField(label=gettext_lazy("Attribute"), max_length=64, validators=[NAME], widget=widgets.Text())
    type = forms.ChoiceField(label=gettext_lazy("Type"), choices=TYPES, initial="text", widget=widgets.Choice())


EventAttributeRows = row_set(EventAttributeRow)


@dataclass(frozen=True)
class Registry:
    """One of the two kinds of documents that these pages are for."""

    kind: str
    title: Any
    new_title: Any
    lead: Any
    list_name: str
    page_name: str
    new_name: str
    form: type[NamedForm]
    fresh: Callable[[str], Document]
    users: Callable[[Configuration, str], list[str]]


def _asking_tasks(configuration: Configuration, name: str) -> list[str]:
    """Codes of the tasks whose conditions ask for the attribute."""
    return [code for code, task in configuration.tasks.items() if any(row.attribute == name for group in task.conditions for row in group)]


def _listening_tasks(configuration: Configuration, name: str) -> list[str]:
    return [code for code, task in configuration.tasks.items() if any(feed.event == name for feed in task.feeds)]


ATTRIBUTES = Registry(
    kind=ATTRIBUTE,
    title=gettext_lazy("Attributes"),
    new_title=gettext_lazy("New attribute"),
    lead=gettext_lazy("What conditions may ask of a user."),
    list_name="tasks-attributes",
    page_name="tasks-attribute",
    new_name="tasks-attribute-new",
    form=AttributeForm,
    fresh=lambda name: Attribute(name=name, type="number"),
    users=_asking_tasks,
)
EVENTS = Registry(
    kind=EVENT,
    title=gettext_lazy("Event types"),
    new_title=gettext_lazy("New event type"),
    lead=gettext_lazy("What programs report, and tasks may count."),
    list_name="tasks-events",
    page_name="tasks-event",
    new_name="tasks-event-new",
    form=NamedForm,
    fresh=lambda name: EventType(name=name),
    users=_listening_tasks,
)


def _list(request: HttpRequest, registry: Registry) -> HttpResponse:
    work = Workplace(request)
    documents = work.configuration.of_kind(registry.kind)
    rows = [
        {
            "document": document,
            "is_changed": (registry.kind, name) in work.changed_keys,
            "type": TYPE_WORDS.get(getattr(document, "type", ""), ""),
            "source": dict(SOURCES).get(getattr(document, "source", ""), ""),
            "users": len(registry.users(work.configuration, name)),
        }
        for name, document in sorted(documents.items())
    ]
    return show(request, "registry.html", registry.title, banner=work.banner(), registry=registry, rows=rows, may_edit=work.may_edit)


def _page(request: HttpRequest, registry: Registry, name: str | None) -> HttpResponse:
    """`name` None: a new one."""
    work = Workplace(request)
    documents = work.configuration.of_kind(registry.kind)
    if name is not None and name not in documents:
        raise Http404(name)
    if request.method == "POST":
        require(request, EDIT)
    document = registry.fresh("") if name is None else documents[name]
    posted: Posted | None = (
        {key: [str(each) for each in values] for key, values in request.POST.lists()} if request.method == "POST" else None
    )
    is_button = False
    if posted is not None and registry.kind == EVENT:
        posted, is_button = _changed_rows(posted)
    data = None if posted is None else MultiValueDict(posted)
    form = registry.form(data, initial=_initial(document), taken=documents, is_new=name is None)
    rows = None
    if isinstance(document, EventType):
        initial = [{"name": each, "type": kind} for each, kind in document.attributes.items()]
        rows = EventAttributeRows(data, prefix="attributes", initial=initial)
    judged, was_told = posted is not None and not is_button, False
    if judged and form.is_valid() and (rows is None or rows.is_valid()):
        answer = _save(request, work, registry, document, form, rows)
        if answer is not None:
            return answer
        work.draft, was_told = work.draft and open_draft_or_404(work.draft.pk), True
    return _form_page(request, work, registry, document, form, rows, name, judged, was_told)


def _save(request: HttpRequest, work: Workplace, registry: Registry, document: Document, form: NamedForm, rows: Any) -> HttpResponse | None:
    cleaned = form.cleaned_data
    changed = msgspec.structs.replace(document, **cleaned)
    if rows is not None:
        changed = msgspec.structs.replace(
            changed, attributes={row["name"]: row["type"] for row in (each.cleaned_data for each in rows) if row}
        )
    draft = work.draft_to_change()
    try:
        edition = edition_to_save(request, draft, registry.kind, key_of(document))
        drafts.save_document(draft, edition, registry.kind, changed, request.user, seen=posted_number(request, SEEN, work.live_number))
    except Refusal as refusal:
        messages.error(request, say_refusal(refusal))
        return None
    messages.success(request, _("Saved in your draft. Users do not see it before it is published."))
    return redirect(registry.page_name, changed.name)  # type: ignore[union-attr]


def _form_page(
    request: HttpRequest,
    work: Workplace,
    registry: Registry,
    document: Document,
    form: NamedForm,
    rows: Any,
    name: str | None,
    judged: bool,
    was_told: bool,
) -> HttpResponse:
    draft = work.draft
    is_drafted = (registry.kind, name) in work.changed_keys
    own = (
        [fault for fault in drafts.faults_of(work.configuration, work.live) if (fault.kind, fault.key) == (registry.kind, name)]
        if draft and is_drafted
        else []
    )
    users = registry.users(work.configuration, name) if name else []
    return show(
        request,
        "registry_form.html",
        registry.new_title if name is None else name,
        banner=work.banner(),
        registry=registry,
        document=document,
        name=name,
        form=form,
        rows=rows,
        judged=judged,
        action=request.get_full_path(),
        draft=draft,
        **marks(request, work, registry.kind, name or "", was_told=was_told),
        is_drafted=is_drafted,
        own_faults=[say_fault(fault) for fault in own],
        users=sorted(users)[:20],
        more_users=max(0, len(users) - 20),
        may_edit=work.may_edit,
        may_remove=work.may_edit and name is not None and not users,
    )


def _initial(document: Document) -> dict[str, Any]:
    initial = {field: getattr(document, field) for field in document.__struct_fields__}
    if isinstance(document, Attribute):
        initial["default"] = text_of_value("=", document.default)[0]
    return initial


def _changed_rows(posted: Posted) -> tuple[Posted, bool]:
    if "add" in posted:
        return with_row({name: values for name, values in posted.items() if name != "add"}, "attributes", type="text"), True
    if "drop" in posted:
        index = posted["drop"][-1].rpartition("-")[2]
        rest = {name: values for name, values in posted.items() if name != "drop"}
        return without_rows(rest, "attributes", {int(index)} if index.isdecimal() else set()), True
    return posted, False


@screen(EDIT)
@require_POST
def remove(request: HttpRequest, kind: str, name: str) -> HttpResponse:
    registry = {ATTRIBUTE: ATTRIBUTES, EVENT: EVENTS}[kind]
    work = Workplace(request)
    draft = work.draft_to_change()
    try:
        drafts.remove_document(draft, posted_number(request, EDITION, draft.edition), kind, name, request.user)
    except Refusal as refusal:
        messages.error(request, say_refusal(refusal))
        return redirect(registry.page_name, name)
    messages.success(request, _("“%(name)s” goes away with the publication of this draft.") % {"name": name})
    return redirect(registry.list_name)


@screen(LOOK)
@require_safe
def attributes(request: HttpRequest) -> HttpResponse:
    return _list(request, ATTRIBUTES)


@screen(LOOK)
@require_http_methods(["GET", "HEAD", "POST"])
def attribute(request: HttpRequest, name: str) -> HttpResponse:
    return _page(request, ATTRIBUTES, name)


@screen(EDIT)
@require_http_methods(["GET", "HEAD", "POST"])
def new_attribute(request: HttpRequest) -> HttpResponse:
    return _page(request, ATTRIBUTES, None)


@screen(LOOK)
@require_safe
def events(request: HttpRequest) -> HttpResponse:
    return _list(request, EVENTS)


@screen(LOOK)
@require_http_methods(["GET", "HEAD", "POST"])
def event(request: HttpRequest, name: str) -> HttpResponse:
    return _page(request, EVENTS, name)


@screen(EDIT)
@require_http_methods(["GET", "HEAD", "POST"])
def new_event(request: HttpRequest) -> HttpResponse:
    return _page(request, EVENTS, None)


urlpatterns = [
    path("attributes/", attributes, name="tasks-attributes"),
    path("new-attribute/", new_attribute, name="tasks-attribute-new"),
    path("attributes/<str:name>/", attribute, name="tasks-attribute"),
    path("attributes/<str:name>/remove/", remove, {"kind": ATTRIBUTE}, name="tasks-attribute-remove"),
    path("events/", events, name="tasks-events"),
    path("new-event/", new_event, name="tasks-event-new"),
    path("events/<str:name>/", event, name="tasks-event"),
    path("events/<str:name>/remove/", remove, {"kind": EVENT}, name="tasks-event-remove"),
]
