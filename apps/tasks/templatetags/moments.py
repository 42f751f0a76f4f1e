"""`{{ at|moment }}`: a moment in the reader's zone, with its name; machines find it in UTC."""

from __future__ import annotations

from datetime import datetime, timezone

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from apps.tasks.moments import say_moment

register = template.Library()


@register.filter(expects_localtime=False)
def moment(at: datetime | None) -> SafeString | str:
    if at is None:
        return ""
    return format_html('<time datetime="{}">{}</time>', at.astimezone(timezone.utc).isoformat(timespec="seconds"), say_moment(at))
