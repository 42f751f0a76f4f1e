"""The rows of a task's form: texts, feeds, tiers, conditions, prerequisites. A row left empty is no row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from apps.tasks.config.documents import OPERATORS, Condition, Prerequisite, Text, Tier, ValueType
from apps.tasks.screens import widgets
from apps.tasks.screens.row_sets import MOST_ROWS
from apps.tasks.screens.task_conversion import Row
from apps.tasks.screens.value_text import FALSE, TRUE, BadValue, text_of_value, value_from_text

OPERATOR_WORDS = {
    "=": _("is"),
    "!=": _("is not"),
    "<": _("is less than"),
    "<=": _("is at most"),
    ">": _("is more than"),
    ">=": _("is at least"),
    "in": _("is one of"),
    "not_in": _("is none of"),
    "between": _("is between"),
    "contains": _("contains"),
    "exists": _("is known"),
    "before": _("is before"),
    "after": _("is at or after"),
}
TYPE_WORDS = {
    "number": _("a number"),
    "text": _("a text"),
    "boolean": _("yes or no"),
    "date": _("a day or a moment"),
    "version": _("a version"),
}
EXAMPLES = {
    "number": _("Example: 30. For several: 1, 2, 3"),
    "text": _("Example: gold. For several: gold, silver"),
    "date": _("Example: 2026-12-01 or 2026-12-01T08:00:00+08:00"),
    "version": _("Example: 1.10.2"),
}
UNKNOWN = _("Choose what is asked for first.")


class RowForm(forms.Form):
    """Nothing in it is required by the browser: an empty row is left out."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{**kwargs, "use_required_attribute": False})

    TYPED: tuple[str, ...] = ()
    """The fields that make a row: when all are empty, there is none."""

    @property
    def is_empty(self) -> bool:
        return not any(str(self[name].value() or "").strip() for name in self.TYPED)

    def full_clean(self) -> None:
        if self.is_bound and self.is_empty:
            self._errors, self.cleaned_data = forms.utils.ErrorDict(), {}
            return
        self.empty_permitted = False  # Django would take an added row that is as it was shown for an empty one
        super().full_clean()


class TextRow(RowForm):
    TYPED = ("name", "description", "button", "link")
    language = forms.CharField(label=_("Language"), max_length=16, widget=widgets.Text("tk-short"))
    name = forms.CharField(label=_("Name"), max_length=200, widget=widgets.Text())
    description = forms.CharField(label=_("Description"), max_length=2000, required=False, widget=widgets.LongText())
    button = forms.CharField(label=_("Button"), max_length=60, required=False, widget=widgets.Text("tk-short"))
    link = forms.CharField(
        label=_("Link"), max_length=500, required=False, widget=widgets.Text(), help_text=_("What the button opens. Example: app://friends")
    )

    @property
    def has_known_language(self) -> bool:
        """One of the pages' own languages: its name is its legend, nobody types it."""
        return str(self["language"].value() or "") in dict(settings.LANGUAGES)


class TierRow(RowForm):
    TYPED = ("target", "points")
    target = widgets.whole_number(_("Target"))
    points = forms.IntegerField(label=_("Points for this tier alone"), required=False, widget=widgets.Number())

    def tier(self) -> Tier:
        return Tier(target=self.cleaned_data["target"], points=self.cleaned_data["points"] or 0)


class PrerequisiteRow(RowForm):
    TYPED = ("task",)
    task = forms.CharField(
        label=_("Task"), max_length=64, widget=widgets.Text(list="task-codes", autocomplete="off"), help_text=_("Its code.")
    )
    state = forms.ChoiceField(
        label=_("must be"),
        choices=[("completed", _("completed")), ("claimed", _("claimed"))],
        initial="completed",
        widget=widgets.Choice("tk-short"),
    )


class FeedRow(RowForm):
    TYPED = ("event",)
    event = forms.ChoiceField(label=_("Event type"), widget=widgets.Choice())

    def __init__(self, *args: Any, events: Iterable[str] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["event"].choices = _choices(events, self["event"].value())  # type: ignore[attr-defined]


class ConditionRow(RowForm):
    """One attribute, an operator of its type, and a value in a field that fits the type.

    Before the attribute is chosen every operator is offered and the value is a text; all is judged again when it is saved.
    """

    TYPED = ("attribute", "value", "upper")
    group = forms.IntegerField(min_value=0, max_value=MOST_ROWS, widget=forms.HiddenInput())
    attribute = forms.ChoiceField(label=_("What is asked for"), widget=widgets.Choice("tk-attribute"))
    operator = forms.ChoiceField(label=_("Comparison"), widget=widgets.Choice("tk-operator"))
    value = forms.CharField(label=_("Value"), max_length=2000, required=False, widget=widgets.Text("tk-value"))
    upper = forms.CharField(label=_("and"), max_length=200, required=False, widget=widgets.Text("tk-value"))

    def __init__(
        self, *args: Any, types: Mapping[str, ValueType], about: Mapping[str, str] | None = None, by_group: Any = None, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        group = str(self["group"].value() or 0)
        self.types = by_group(int(group)) if by_group is not None and group.isdecimal() else types
        chosen = str(self["attribute"].value() or "")
        self.type: ValueType | None = self.types.get(chosen)
        self.fields["attribute"].choices = _choices(self.types, chosen)  # type: ignore[attr-defined]
        offered = OPERATORS[self.type] if self.type else tuple(OPERATOR_WORDS)
        operator = self["operator"].value()
        shown = [each for each in OPERATOR_WORDS if each in offered or (each == operator and not self.is_bound)]
        self.fields["operator"].choices = [(each, OPERATOR_WORDS[each]) for each in shown]  # type: ignore[attr-defined]
        if self.type == "boolean":
            words = [("", "—"), (TRUE, _("yes")), (FALSE, _("no"))]
            self.fields["value"] = forms.CharField(label=_("Value"), required=False, widget=widgets.Choice("tk-value"))
            self.fields["value"].widget.choices = words  # type: ignore[attr-defined]
        elif self.type == "number":
            for name in ("value", "upper"):
                self.fields[name].widget.attrs["inputmode"] = "decimal"
        self.help = (about or {}).get(chosen, "")
        self.example = EXAMPLES.get(self.type or "", "" if self.type else UNKNOWN)
        self.value_here: Any = None

    def clean(self) -> dict[str, Any]:
        found: dict[str, Any] = super().clean() or self.cleaned_data
        operator, text, upper = found.get("operator"), found.get("value", ""), found.get("upper", "")
        if not operator:
            return found
        if operator != "exists" and not text.strip():
            raise ValidationError({"value": _("Give a value to compare with.")})
        if operator == "between" and not upper.strip():
            raise ValidationError({"upper": _("Give the upper end as well.")})
        try:
            self.value_here = value_from_text(self.type, operator, text, upper)
        except BadValue as error:
            message = _("“%(text)s” does not fit: this asks for %(type)s.") % {"text": error.text, "type": TYPE_WORDS[error.expected]}
            raise ValidationError({"value": message}) from error
        return found

    def row(self) -> Row:
        cleaned = self.cleaned_data
        condition = Condition(attribute=cleaned["attribute"], operator=cleaned["operator"], value=self.value_here)
        return Row(cleaned["group"], condition)


def _choices(offered: Iterable[str], chosen: object) -> list[tuple[str, Any]]:
    """One that is not offered (any more) stays to be seen, and the validation says what is wrong with it."""
    names = sorted(offered)
    own = [(str(chosen), _("%(name)s (not known)") % {"name": chosen})] if chosen and chosen not in names else []
    return [("", "—"), *own, *((name, name) for name in names)]


def row_set(form: type[RowForm]) -> Any:
    return forms.formset_factory(form, extra=0, max_num=MOST_ROWS, absolute_max=MOST_ROWS)


TextRows, TierRows, FeedRows = row_set(TextRow), row_set(TierRow), row_set(FeedRow)
ConditionRows, PrerequisiteRows = row_set(ConditionRow), row_set(PrerequisiteRow)


def initial_conditions(rows: Iterable[Row]) -> list[dict[str, Any]]:
    found = []
    for row in rows:
        value, upper = text_of_value(row.condition.operator, row.condition.value)
        found.append(
            {"group": row.group, "attribute": row.condition.attribute, "operator": row.condition.operator, "value": value, "upper": upper}
        )
    return found


def initial_texts(texts: Mapping[str, Text], languages: Iterable[str]) -> list[dict[str, Any]]:
    """The languages of the pages come first, then whatever the task has besides."""
    first = list(languages)
    order = [*first, *(language for language in texts if language not in first)]
    empty = Text(name="")
    rows = [(language, texts.get(language, empty)) for language in order]
    return [
        {"language": key, "name": text.name, "description": text.description, "button": text.button, "link": text.link}
        for key, text in rows
    ]


def initial_prerequisites(rows: Iterable[Prerequisite]) -> list[dict[str, Any]]:
    return [{"task": row.task, "state": row.state} for row in rows]
