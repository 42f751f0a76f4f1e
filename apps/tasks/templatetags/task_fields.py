"""For the task form's template: a field with the faults of its place, and faults of rows."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from django import template
from django.conf import settings
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

register = template.Library()

_MARKED = re.compile(r"`([^`]+)`")

Placed = Sequence[tuple[tuple[str, ...], str]]
"""Sentences by their places below the document."""


@register.inclusion_tag("admin/tasks/field.html", takes_context=True)
def task_field(context: Mapping[str, Any], name: str, css: str = "") -> dict[str, Any]:
    """A single field of the task by its name; the places of fields joined by "_" are their names."""
    editor = context["editor"]
    faults = [text for place, text in context.get("placed", ()) if "_".join(place) == name]
    return {"field": editor.form[name], "judged": editor.judged, "css": css, "faults": faults}


@register.simple_tag
def faults_at(placed: Placed, *place: object) -> list[str]:
    """What is wrong at this place or anywhere in it."""
    wanted = tuple(str(part) for part in place)
    return [text for where, text in placed or () if where[: len(wanted)] == wanted]


@register.simple_tag
def faults_only_at(placed: Placed, *place: object) -> list[str]:
    """What is wrong with this place itself."""
    wanted = tuple(str(part) for part in place)
    return [text for where, text in placed or () if where == wanted]


@register.simple_tag
def language_of(text: Any) -> str:
    code = str(text["language"].value() or "")
    return str(dict(settings.LANGUAGES).get(code, code)) or "…"


@register.filter
def code_marks(text: object) -> SafeString:
    """A sentence in which `names` stand between backticks."""
    return mark_safe(_MARKED.sub(r"<code>\1</code>", escape(str(text))))  # escaped first
