"""How the admin's theme, unfold, is brought under the strict Content-Security-Policy, and on which of its files that rests.

As it comes, it needs 'unsafe-eval' (Alpine evaluates attributes) and inline styles. Instead:

- Alpine's CSP build (static/vendor) takes the place of its Alpine. It evaluates expressions by a parser of its own: no globals,
  no statements. static/site/admin_theme.js registers what the theme's attributes call.
- Its colours are a style sheet, static/site/theme_colours.css, written by `manage.py write_theme_colours`.
- A few templates are ours instead of its own (templates/unfold, templates/admin): each says what it was made from.
- htmx evaluates nothing (`allowEval`), so hx-on, `hx-vals="js:…"` and conditions in hx-trigger do not work, in our templates either.

Not usable under this policy, and not used: SIDEBAR's show_search (the palette is), the array widget, LOGIN's image, `style=""` in a
template of ours (a class, or `element.style` from a script).

A test compares ORIGINALS with the installed theme. When it fails: look at what the new version changed there, change ours alike,
run the browser tests, write the new sums.
"""

from __future__ import annotations

import hashlib
from importlib.resources import files
from typing import Any

from django.contrib import admin

ORIGINALS = {
    "templates/unfold/layouts/skeleton.html": "66af9f0bb45f98ba4e16ba5e5a11f36d87b8e07430d19066d088b29548491c2e",
    "templates/unfold/helpers/welcomemsg.html": "e8eab02522ba2319b937086bbcb6bf2a2bbe1489d236ad90ff23edbe070a7d6b",
    "templates/unfold/helpers/userlinks.html": "b493fa5ca3595d28c6858f789f303c1797c34107dc60b2857ab6ce8585fc3914",
    "templates/unfold/helpers/command.html": "ae6ce324d85366131fc82945b3c35c1b980829229508343993e6adcbee4c975d",
    "templates/admin/actions.html": "b5332aace8e6919204a65b842e626bd8b1d5f8ed855dc290ab114b08526c5f15",
    "templates/admin/change_list.html": "5885c39760f6085d55b2db8e740d4fdc340c402fc7cd43c0b5ef6ae7fb76f421",
    "templates/admin/change_form.html": "e9824d4d8a447d9741a1fe4a83180042ac11383bd51678e2b5e40460fa42d86a",
    "static/unfold/js/app.js": "be01a34d18a89dc961f6d96e8f5a98c5fa53553ce35c8cebd19076c3b56a6be4",
}
"""Of the theme's files that are replaced here, or whose attributes are answered in admin_theme.js, the SHA-256."""


def installed() -> dict[str, str]:
    theme = files("unfold")
    return {name: hashlib.sha256(theme.joinpath(name).read_bytes()).hexdigest() for name in ORIGINALS}


def theme_colours() -> str:
    """The style sheet of the theme's colours: its defaults with ours over them."""
    site: Any = admin.site
    context = {"colors": site._get_colors("COLORS", None), "radius": site._get_config("BORDER_RADIUS", None)}
    lines = [f"  --border-radius: {context['radius']};"] if context["radius"] else []
    lines += [f"  --color-{name}-{weight}: {value};" for name, weights in context["colors"].items() for weight, value in weights.items()]
    return "/* Written by `manage.py write_theme_colours` from UNFOLD in the settings. */\n:root {\n" + "\n".join(lines) + "\n}\n"
