"""Sentences that carry codes between backticks, as pages show them."""

from __future__ import annotations

import re

from django import template
from django.utils.html import conditional_escape
from django.utils.safestring import SafeString, mark_safe

register = template.Library()

_CODE = re.compile(r"`([^`]+)`")


@register.filter
def codes(sentence: str) -> SafeString:
    """`daily-login` becomes a code element; everything else is escaped."""
    return mark_safe(_CODE.sub(r"<code>\1</code>", conditional_escape(sentence)))
