"""What the strict Content-Security-Policy rests on: the theme's files are those that ours were made from, and ours keep to it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tasksys_site.configuration import PROJECT
from tasksys_site.content_security import POLICY
from tasksys_site.strict_theme import ORIGINALS, installed, theme_colours

TEMPLATES = sorted((PROJECT / "templates").rglob("*.html"))

# What the policy stops, or htmx without eval does not do.
FORBIDDEN = {
    "a style attribute": re.compile(r"""\sstyle\s*="""),
    "an inline style": re.compile(r"<style"),
    "an inline script": re.compile(r"<script(?![^>]*\ssrc=)[^>]*>(?!\s*</script>)"),
    "a handler in an attribute": re.compile(
        r"\son(click|change|submit|load|input|focus|blur|error|toggle|key|mouse|pointer|drag|touch|scroll)[a-z]*\s*="
    ),
    "a script as address": re.compile(r"javascript:"),
    "what htmx would evaluate": re.compile(r"""\shx-on|hx-(vals|headers)\s*=\s*["']js:|hx-trigger\s*=\s*["'][^"']*\["""),
}


def test_the_theme_is_the_one_that_our_templates_were_made_from() -> None:
    assert installed() == ORIGINALS, "the theme has changed: see tasksys_site/strict_theme.py for what to do"


def test_the_style_sheet_of_colours_is_what_the_settings_say() -> None:
    written = (PROJECT / "static" / "site" / "theme_colours.css").read_text(encoding="utf-8")

    assert written == theme_colours(), "run manage.py write_theme_colours"


def test_the_policy_allows_nothing_inline_and_nothing_foreign() -> None:
    assert "unsafe" not in POLICY
    assert "http" not in POLICY
    assert {"default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"} <= {
        directive.strip() for directive in POLICY.split(";")
    }


@pytest.mark.parametrize("template", TEMPLATES, ids=[str(template.relative_to(PROJECT)) for template in TEMPLATES])
def test_a_template_has_nothing_that_the_policy_stops(template: Path) -> None:
    text = re.sub(r"{#.*?#}|{% comment %}.*?{% endcomment %}", "", template.read_text(encoding="utf-8"), flags=re.DOTALL)

    assert [what for what, pattern in FORBIDDEN.items() if pattern.search(text)] == []
