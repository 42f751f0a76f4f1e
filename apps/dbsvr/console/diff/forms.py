"""The forms of the page Replica diff."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from apps.dbsvr.holds import LONGEST_REASON


class StartForm(forms.Form):
    """What is to be compared: on one replica, one or more tables, all of it or a part."""

    replica = forms.ChoiceField(label=_("Replica"))
    tables = forms.MultipleChoiceField(label=_("Tables"), widget=forms.CheckboxSelectMultiple)
    first = forms.CharField(
        label=_("From key"),
        max_length=255,
        required=False,
        help_text=_("Of the key's first column, often the uid. Empty: no bound."),
    )
    last = forms.CharField(label=_("Up to key"), max_length=255, required=False, help_text=_("This one included."))
    kind = forms.ChoiceField(
        label=_("How much"), widget=forms.RadioSelect, initial="full", choices=[("full", _("all rows")), ("sample", _("a sample"))]
    )
    sample = forms.FloatField(
        label=_("Percent of a sample"), min_value=0.1, max_value=100, initial=5, help_text=_("The next sample goes on where this one ends.")
    )

    def __init__(self, *args: Any, replicas: list[str], tables: list[str], user_schema: str, **named: Any) -> None:
        super().__init__(*args, **named)
        self._user_schema = user_schema
        self.fields["replica"].choices = [(name, name) for name in replicas]  # type: ignore[attr-defined]
        self.fields["tables"].choices = [(name, name) for name in tables]  # type: ignore[attr-defined]

    @property
    def user_boxes(self) -> list[Any]:
        return [box for box in self["tables"] if self._is_users(box)]

    @property
    def other_boxes(self) -> list[Any]:
        return [box for box in self["tables"] if not self._is_users(box)]

    def _is_users(self, box: Any) -> bool:
        return str(box.data["value"]).startswith(f"{self._user_schema}.")

    def clean(self) -> dict[str, Any]:
        found = super().clean() or {}
        first, last = found.get("first", ""), found.get("last", "")
        if first.isdigit() and last.isdigit() and int(first) > int(last):
            self.add_error("last", gettext("It lies before the first key."))
        return found


class ReasonForm(forms.Form):
    """Why: it stands in the audit log, and where the deed shows."""

    reason = forms.CharField(
        label=_("Reason"), max_length=LONGEST_REASON, help_text=_("It stands in the audit log, and on the pages that show what was done.")
    )

    def clean_reason(self) -> str:
        return " ".join(str(self.cleaned_data["reason"]).split())
