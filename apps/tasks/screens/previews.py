"""How users would see a task, one picture for each of its languages."""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings
from django.utils.translation import get_supported_language_variant, ngettext, override

from apps.tasks.config.documents import Task, Text


@dataclass(frozen=True)
class Preview:
    language: str
    language_name: str
    text: Text
    points: str


def previews_of(task: Task) -> list[Preview]:
    names = dict(settings.LANGUAGES)
    points = sum(tier.points for tier in task.tiers) if task.kind == "tiers" else task.points
    return [Preview(key, str(names.get(key, key)), text, _say_points(points, key)) for key, text in task.texts.items()]


def _say_points(points: int, language: str) -> str:
    """In the users' language, where the pages have it."""
    if not points:
        return ""
    try:
        known = get_supported_language_variant(language)
    except LookupError:
        known = settings.LANGUAGE_CODE
    with override(known):
        return ngettext("%(count)d point", "%(count)d points", points) % {"count": points}
