"""The forms for accounts: what an operator may, and his own settings."""

from __future__ import annotations

from typing import Any

from django import forms
from django.conf import settings
from django.contrib.auth.models import Group
from django.utils.translation import gettext_lazy as _
from unfold.forms import UserChangeForm
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget, UnfoldAdminSelectWidget

from apps.tasks.forms import time_zone_choices
from apps.tasks.models import OperatorSettings
from apps.tasks.people.roles import EDITOR, PUBLISHER, REVIEWER, SUPPORT, VIEWER

WHAT_ROLES_DO = {
    VIEWER: _("looks at tasks, drafts, revisions and the audit log"),
    EDITOR: _("edits drafts and asks for reviews"),
    REVIEWER: _("reviews drafts of others"),
    PUBLISHER: _("publishes, rolls back, switches tasks off at once"),
    SUPPORT: _("explains users, and looks"),
}


class RolesField(forms.ModelMultipleChoiceField):
    """Each role with what it is for. What an administrator made of it himself is shown by its name."""

    def label_from_instance(self, group: Group) -> str:
        what = WHAT_ROLES_DO.get(group.name)
        return f"{group.name}: {what}" if what else group.name


class OperatorForm(UserChangeForm):  # type: ignore[misc]
    groups = RolesField(
        label=_("Roles"),
        queryset=Group.objects.order_by("id"),
        required=False,
        widget=UnfoldAdminCheckboxSelectMultipleWidget,
        help_text=_("Several add up. Nobody approves his own draft, whatever he has."),
    )


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
            label=_("Time zone"),
            choices=[("", default), *zones],
            required=False,
            widget=UnfoldAdminSelectWidget,
            help_text=_("In which pages say their times, and read the ones that you type."),
        )
        self.fields["language"] = forms.ChoiceField(
            label=_("Language"),
            choices=[("", _("the browser's")), *settings.LANGUAGES],
            required=False,
            widget=UnfoldAdminSelectWidget,
        )
