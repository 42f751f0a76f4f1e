"""The single fields of a task in plain words. Rows (texts, feeds, tiers, conditions, prerequisites) stand in `row_forms`.

A field's name is its place in the document (`task_conversion`); what may stand in it is the validation's to judge, so that page,
import and API say the same. Refused here is only what no document can hold.
"""

from __future__ import annotations

from datetime import time
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator
from django.utils.translation import gettext_lazy as _

from apps.tasks.config.documents import USER_ZONE
from apps.tasks.forms import time_zone_choices
from apps.tasks.models.live import CODE_PATTERN, Kind, PeriodKind
from apps.tasks.screens import widgets

DAYS = [
    (1, _("Monday")),
    (2, _("Tuesday")),
    (3, _("Wednesday")),
    (4, _("Thursday")),
    (5, _("Friday")),
    (6, _("Saturday")),
    (7, _("Sunday")),
]
MODES = [
    ("add", _("each event adds its value")),
    ("max", _("the highest value counts")),
    ("set", _("the newest value counts")),
    ("distinct", _("different values are counted")),
]
CLAIMS = [
    ("automatic", _("by itself")),
    ("by_claim", _("when the user claims it")),
    ("accept_first", _("by itself, but the user accepts the task first")),
]


class TaskCode(forms.Form):
    """What only a new task is asked for."""

    code = forms.CharField(
        label=_("Code"),
        max_length=64,
        widget=widgets.Text(autocomplete="off", spellcheck="false"),
        help_text=_("The name that programs know the task by. It can never be changed. Example: daily-login"),
        validators=[
            RegexValidator(CODE_PATTERN, _("Use small letters, digits, hyphens and underscores, beginning with a letter or digit."))
        ],
    )

    def __init__(self, *args: Any, taken: Any = (), **kwargs: Any) -> None:
        super().__init__(*args, use_required_attribute=False, **kwargs)
        self.taken = taken

    def clean_code(self) -> str:
        code: str = self.cleaned_data["code"]
        if code in self.taken:
            raise ValidationError(_("There is a task with this code already. An archived task keeps its code as well."))
        return code


class TaskForm(forms.Form):
    category = forms.CharField(
        label=_("Category"), max_length=64, required=False, widget=widgets.Text(), help_text=_("For lists and filters. Example: social")
    )
    icon = forms.CharField(
        label=_("Icon"), max_length=200, required=False, widget=widgets.Text(), help_text=_("A name or address that the app understands.")
    )
    weight = forms.IntegerField(
        label=_("Weight"), required=False, widget=widgets.Number(), help_text=_("Heavier tasks stand further up in users' lists.")
    )
    tags = widgets.Words(label=_("Tags"), required=False, widget=widgets.Text(), help_text=_("With commas between them."))

    starts_at = widgets.Moment(label=_("Starts"), help_text=_("From this moment on users may do it."))
    ends_at = widgets.Moment(label=_("Ends"), required=False, help_text=_("From this moment on nobody may. Empty: no end."))
    period_kind = forms.ChoiceField(
        label=_("How often"), choices=PeriodKind.choices, widget=widgets.Choice(), help_text=_("How often one user may complete it.")
    )
    period_zone = forms.ChoiceField(label=_("Time zone of the period"), widget=widgets.Choice(), help_text=_("Whose midnight ends a day."))
    period_fallback_zone = forms.ChoiceField(label=_("Zone of users whose own is not known"), required=False, widget=widgets.Choice())
    period_resets_at = forms.TimeField(
        label=_("Begins anew at"), required=False, widget=forms.TimeInput(widgets.attrs("tk-moment", type="time"), format="%H:%M"),
        help_text=_("Local time. Before it, the day before still counts."),
    )  # fmt: skip
    period_week_starts_on = forms.TypedChoiceField(label=_("The week begins on"), coerce=int, choices=DAYS, widget=widgets.Choice())
    period_month_day = widgets.whole_number(_("Day of the month"), help_text=_("In shorter months: their last day."))
    period_every_days = widgets.whole_number(_("Every … days"))
    period_anchor = forms.DateField(
        label=_("Counted from"), required=False, widget=widgets.Day(), help_text=_("The first day of a period.")
    )

    kind = forms.ChoiceField(label=_("Kind"), choices=Kind.choices, widget=widgets.Choice())
    target = widgets.whole_number(_("Target"), help_text=_("How much progress completes it."))
    points = widgets.whole_number(_("Points"), help_text=_("What a completion gives."))
    streak_length = widgets.whole_number(
        _("Periods in a row"), help_text=_("So many periods in a row make a full streak, which gives the points.")
    )
    streak_grace = widgets.whole_number(
        _("Missed periods forgiven"), help_text=_("So many missed periods between two completed ones do not break the streak.")
    )
    mode = forms.ChoiceField(label=_("How progress counts"), choices=MODES, widget=widgets.Choice())
    distinct_by = forms.CharField(
        label=_("Different values of"), max_length=64, required=False, widget=widgets.Text(),
        help_text=_("An attribute of the event. Example: friend, for 5 different friends"),
    )  # fmt: skip
    late_window_s = widgets.Seconds(
        label=_("Late events count for"), help_text=_("How long after its time an event that arrives late still counts.")
    )
    revert_takes_back = forms.BooleanField(
        label=_("A reverted event takes granted points back"), required=False, widget=widgets.Tick(),
        help_text=_("For refunds. Otherwise only the progress goes down."),
    )  # fmt: skip
    claim_mode = forms.ChoiceField(label=_("How the reward comes"), choices=CLAIMS, widget=widgets.Choice())
    claim_grace_s = widgets.Seconds(label=_("Time to claim after the period's end"), required=False)

    caps_per_user = widgets.whole_number(_("Completions by one user in a period"), required=False)
    caps_per_period = widgets.whole_number(_("Completions by all users in a period"), required=False)
    caps_total = widgets.whole_number(_("Completions by all users, ever"), required=False)
    caps_points_budget = widgets.whole_number(_("Points given out in all"), required=False, help_text=_("A warning comes at 80 %."))

    exclusive_group = forms.CharField(
        label=_("Exclusive group"), max_length=64, required=False, widget=widgets.Text(),
        help_text=_("Of the tasks with the same name here a user may do only one in a period."),
    )  # fmt: skip
    sequence = forms.CharField(
        label=_("Sequence"), max_length=64, required=False, widget=widgets.Text(),
        help_text=_("Tasks with the same name here are done one after the other."),
    )  # fmt: skip
    position = forms.IntegerField(label=_("Position in the sequence"), required=False, widget=widgets.Number())

    release_percentage_bp = widgets.Percentage(
        label=_("Share of users, in per cent"), help_text=_("A larger share keeps everybody who had the task.")
    )
    release_allow = forms.MultipleChoiceField(label=_("Always for users of these lists"), required=False, widget=widgets.Several())
    release_deny = forms.MultipleChoiceField(label=_("Never for users of these lists"), required=False, widget=widgets.Several())
    release_salt = forms.CharField(
        label=_("Salt"), max_length=64, required=False, widget=widgets.Text(),
        help_text=_("Tasks with the same salt are released to the same users. Empty: a choice of its own."),
    )  # fmt: skip

    switched_off = forms.BooleanField(
        label=_("Switched off"), required=False, widget=widgets.Tick(), help_text=_("Nobody can do it for now.")
    )
    archived = forms.BooleanField(
        label=_("Archived"),
        required=False,
        widget=widgets.Tick(),
        help_text=_("It is over for good and stands in no list. Its code stays taken."),
    )

    EMPTY = {"weight": 0, "position": 0, "claim_grace_s": 0, "period_resets_at": time(0)}
    """What an empty field means."""

    def __init__(self, *args: Any, lists: tuple[str, ...] = (), **kwargs: Any) -> None:
        super().__init__(*args, use_required_attribute=False, **kwargs)
        zones = time_zone_choices()
        known = dict(zones)
        for name in ("period_zone", "period_fallback_zone"):
            stored = self.initial.get(name)
            own = [(stored, stored)] if stored and stored not in known and stored != USER_ZONE else []
            self.fields[name].choices = [*([(USER_ZONE, _("the user's own"))] if name == "period_zone" else []), *own, *zones]  # type: ignore[attr-defined]
        for name in ("release_allow", "release_deny"):
            chosen = self.initial.get(name) or ()
            self.fields[name].choices = [(each, each) for each in sorted({*lists, *chosen})]  # type: ignore[attr-defined]
        for name in ("starts_at", "ends_at"):
            self.fields[name].kept = self.initial.get(name)  # type: ignore[attr-defined]

    def clean_period_resets_at(self) -> str:
        chosen: time | None = self.cleaned_data["period_resets_at"]
        return (chosen or time(0)).strftime("%H:%M")

    def clean_release_allow(self) -> tuple[str, ...]:
        return tuple(self.cleaned_data["release_allow"])

    def clean_release_deny(self) -> tuple[str, ...]:
        return tuple(self.cleaned_data["release_deny"])

    def clean(self) -> dict[str, Any]:
        found: dict[str, Any] = super().clean() or self.cleaned_data
        for name, meant in self.EMPTY.items():
            if name in found and found[name] is None:
                found[name] = meant
        if found.get("period_fallback_zone") == "":
            found["period_fallback_zone"] = self.initial.get("period_fallback_zone") or "UTC"
        return found
