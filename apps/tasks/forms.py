"""The forms behind the admin's pages for tasks and keys."""

from __future__ import annotations

from typing import Any
from zoneinfo import available_timezones

from django import forms
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget, UnfoldAdminSelectWidget

from apps.tasks.models import ApiKey
from apps.tasks.scopes import ADMIN, READ, WRITE

SCOPE_CHOICES = [
    (READ, _("read: which tasks a user may do")),
    (WRITE, _("write: complete tasks")),
    (ADMIN, _("admin: erase users")),
]


def time_zone_choices() -> list[tuple[str, str]]:
    """Region/City names first, as people look for them; the data base's aliases without a region behind them."""
    names = [name for name in available_timezones() if not name.startswith(("posix", "right", "Etc/", "SystemV"))]
    return [(name, name.replace("_", " ")) for name in sorted(names, key=lambda name: (name != "UTC", "/" not in name, name))]


class TaskForm(forms.ModelForm):  # type: ignore[type-arg]
    """A select for the time zone: nobody spells them right."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "description" in self.fields:
            self.fields["description"].widget.attrs["rows"] = 3
        zone = self.fields.get("time_zone")
        if zone is not None:
            choices = time_zone_choices()
            stored = self.instance.time_zone
            if stored and stored not in dict(choices):
                choices.append((stored, stored))
            zone.widget = UnfoldAdminSelectWidget(choices=choices)


class NewApiKeyForm(forms.ModelForm):  # type: ignore[type-arg]
    """A key's name and what it may do; the key itself is made when it is saved."""

    scopes = forms.MultipleChoiceField(
        label=_("What it may do"),
        choices=SCOPE_CHOICES,
        initial=[READ],
        widget=UnfoldAdminCheckboxSelectMultipleWidget,
        help_text=_("Give a program no more than it needs."),
    )

    class Meta:
        model = ApiKey
        fields = ("name", "scopes")
