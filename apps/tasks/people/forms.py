"""The form of an operator's own settings."""

from __future__ import annotations

from typing import Any

from django import forms
from django.conf import settings
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminSelectWidget

from apps.tasks.forms import time_zone_choices
from apps.tasks.models import OperatorSettings


class OperatorSettingsForm(forms.ModelForm):  # type: ignore[type-arg]
    class Meta:
        model = OperatorSettings
        fields = ("time_zone", "language")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        zones = time_zone_choices()
        stored = self.instance.time_zone
        if stored and stored not in dict(zones):
            zones.append((stored, stored))
        default = _("the installation's: %(zone)s") % {"zone": settings.TIME_ZONE}
        self.fields["time_zone"] = forms.ChoiceField(
            label=_("time zone"),
            choices=[("", default), *zones],
            required=False,
            widget=UnfoldAdminSelectWidget,
            help_text=_("In which pages say their times, and read the ones that you type."),
        )
        self.fields["language"] = forms.ChoiceField(
            label=_("language"),
            choices=[("", _("the browser's")), *settings.LANGUAGES],
            required=False,
            widget=UnfoldAdminSelectWidget,
        )
