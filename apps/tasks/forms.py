"""The form behind the admin's page for a key, and the choices of time zones."""

from __future__ import annotations

from zoneinfo import available_timezones

from django import forms
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget

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
        fields = ("name", "scopes", "requests_per_s", "burst")
