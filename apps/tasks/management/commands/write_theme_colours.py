"""`manage.py write_theme_colours`: the admin theme's colours as a style sheet, to be run when they change in the settings."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from tasksys_site.configuration import PROJECT
from tasksys_site.strict_theme import theme_colours

FILE = PROJECT / "static" / "site" / "theme_colours.css"


class Command(BaseCommand):
    help = "Write static/site/theme_colours.css from the theme's colours in the settings."

    def handle(self, *args: Any, **options: Any) -> None:
        FILE.write_text(theme_colours(), encoding="utf-8")
        self.stdout.write(f"Written: {FILE.relative_to(PROJECT)}")
