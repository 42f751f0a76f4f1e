"""Inputs in the dress of static/tasks/tasks.css: one class each, no scripts, no styles of their own."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django import forms
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

MINUTE_S, HOUR_S, DAY_S = 60, 3_600, 86_400
UNITS = [(DAY_S, _("days")), (HOUR_S, _("hours")), (MINUTE_S, _("minutes")), (1, _("seconds"))]


def attrs(css: str = "", **more: Any) -> dict[str, Any]:
    return {"class": f"tk-input {css}".strip(), **more}


class Text(forms.TextInput):
    def __init__(self, css: str = "", **more: Any) -> None:
        super().__init__(attrs(css, **more))


class LongText(forms.Textarea):
    def __init__(self, rows: int = 2, **more: Any) -> None:
        super().__init__(attrs(rows=rows, **more))


class Number(forms.NumberInput):
    def __init__(self, css: str = "tk-short", **more: Any) -> None:
        super().__init__(attrs(css, **more))


class Choice(forms.Select):
    def __init__(self, css: str = "", **more: Any) -> None:
        super().__init__(attrs(f"tk-select {css}".strip(), **more))


class Several(forms.CheckboxSelectMultiple):
    def __init__(self) -> None:
        super().__init__({"class": "tk-check"})


class Tick(forms.CheckboxInput):
    def __init__(self) -> None:
        super().__init__({"class": "tk-check"})


class Day(forms.DateInput):
    def __init__(self) -> None:
        super().__init__(attrs("tk-moment", type="date"), format="%Y-%m-%d")


class MomentInput(forms.DateTimeInput):
    """The browser's own picker. Seconds are shown only where there are some."""

    def __init__(self) -> None:
        super().__init__(attrs("tk-moment", type="datetime-local"))

    def format_value(self, value: Any) -> str | None:
        if not isinstance(value, datetime):
            return str(value) if value else None
        return value.strftime("%Y-%m-%dT%H:%M:%S" if value.second else "%Y-%m-%dT%H:%M")

    def get_context(self, name: str, value: Any, attrs: Any) -> dict[str, Any]:
        context = super().get_context(name, value, attrs)
        if str(context["widget"]["value"] or "").count(":") > 1:
            context["widget"]["attrs"]["step"] = 1
        return context


class Moment(forms.DateTimeField):
    """A moment in the operator's zone. One that is shown and not changed comes back as it was, to the microsecond."""

    widget = MomentInput

    def __init__(self, **more: Any) -> None:
        super().__init__(**more)
        self.kept: datetime | None = None

    def clean(self, value: Any) -> Any:
        moment = super().clean(value)
        if moment is not None and self.kept is not None and moment == self.kept.replace(microsecond=0):
            return self.kept
        return moment

    def prepare_value(self, value: Any) -> Any:
        return timezone.localtime(value) if isinstance(value, datetime) and timezone.is_aware(value) else value


class SecondsWidget(forms.MultiWidget):
    use_fieldset = True

    def __init__(self) -> None:
        super().__init__([Number(min=0), Choice("tk-unit", **{"aria-label": _("unit")})])
        self.widgets[1].choices = UNITS  # type: ignore[attr-defined]

    def render(self, *args: Any, **kwargs: Any) -> SafeString:
        return format_html('<span class="seconds">{}</span>', super().render(*args, **kwargs))

    def decompress(self, value: int | None) -> list[int | None]:
        if not value:
            return [value, HOUR_S]
        unit = next(seconds for seconds, _name in UNITS if value % seconds == 0)
        return [value // unit, unit]


class Seconds(forms.MultiValueField):
    """A length of time in seconds, typed as a number of the largest unit that divides it."""

    def __init__(self, **more: Any) -> None:
        fields = (forms.IntegerField(min_value=0), forms.TypedChoiceField(choices=UNITS, coerce=int))
        super().__init__(fields, widget=SecondsWidget(), require_all_fields=False, **more)
        self.widget.widgets[0].attrs["aria-label"] = self.label

    def compress(self, values: list[Any]) -> int | None:
        if not values or values[0] is None:
            return None
        return int(values[0]) * int(values[1] or 1)


class Words(forms.CharField):
    """Several words with commas between them, as a tuple."""

    def clean(self, value: Any) -> Any:
        text = super().clean(value)
        return tuple(word.strip() for word in text.split(",") if word.strip())

    def prepare_value(self, value: Any) -> Any:
        return ", ".join(value) if isinstance(value, list | tuple) else value


class Percentage(forms.DecimalField):
    """Per cent on the page, basis points inside."""

    def __init__(self, **more: Any) -> None:
        super().__init__(min_value=0, max_value=100, max_digits=5, decimal_places=2, widget=Number(step="0.01", min=0, max=100), **more)

    def clean(self, value: Any) -> Any:
        percent = super().clean(value)
        return None if percent is None else int(percent * 100)

    def prepare_value(self, value: Any) -> Any:
        return f"{value / 100:g}" if isinstance(value, int) else value


def whole_number(text: Any, **more: Any) -> forms.IntegerField:
    """Limits are the validation's to state: it says them with a way out, and for every path."""
    return forms.IntegerField(label=text, widget=Number(), **more)
