"""The form that uploads a list of users: its name, a file, and what becomes of lines that are no uid."""

from __future__ import annotations

import re
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import UploadedFile
from django.core.validators import RegexValidator
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.tasks.config import limits

MOST_BYTES = 8_000_000
"""Of one file: 200,000 uids of 19 digits, with room for quotes and further columns."""
NAME = RegexValidator(
    re.compile(limits.CODE.pattern + r"\Z"), gettext_lazy("Use small letters, digits, - and _, and begin with a letter or a digit.")
)


class ContentsForm(forms.Form):
    """New contents for a list that there is."""

    file = forms.FileField(
        label=gettext_lazy("File"),
        allow_empty_file=True,
        help_text=gettext_lazy("Text or CSV: uids on lines of their own, or separated by commas. At most 200,000."),
        widget=forms.FileInput(attrs={"accept": ".txt,.csv,text/plain,text/csv"}),
    )
    leave_out = forms.BooleanField(
        label=gettext_lazy("Leave out the lines that are no uid"),
        required=False,
        help_text=gettext_lazy("Otherwise a file with such lines is not taken, and the lines are shown."),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, use_required_attribute=False, **kwargs)

    def clean_file(self) -> UploadedFile:
        file: UploadedFile = self.cleaned_data["file"]
        if file.size is not None and file.size > MOST_BYTES:
            raise ValidationError(_("The file has %(size)s MB, and at most %(most)s MB are taken. Split it into several lists."), params={
                "size": f"{file.size / 1_000_000:.1f}", "most": MOST_BYTES // 1_000_000,
            })  # fmt: skip
        return file


class NewListForm(ContentsForm):
    name = forms.CharField(
        label=gettext_lazy("Name"),
        max_length=64,
        validators=[NAME],
        help_text=gettext_lazy("Tasks refer to the list by it. It can never be changed."),
    )
    description = forms.CharField(label=gettext_lazy("Description"), max_length=500, required=False)
    field_order = ("name", "description", "file", "leave_out")

    def __init__(self, *args: Any, taken: Any = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.taken = taken

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        if name in self.taken:
            raise ValidationError(_("There is a list with this name already. Open it to give it other users."))
        return name
