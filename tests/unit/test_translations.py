"""Every string that a page or the API shows is translated, and no translation is left of a string that is gone.

Collected without gettext: Python by Babel, templates by Django's own `templatize`, which turns what is translatable into Python.
"""

from __future__ import annotations

import ast
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from babel.messages.extract import extract
from babel.messages.pofile import read_po
from django.utils.translation.template import templatize

from tasksys_site.configuration import PROJECT

KEYWORDS: dict[str, Any] = {
    **dict.fromkeys(("_", "gettext", "gettext_lazy", "gettext_noop"), None),
    **dict.fromkeys(("ngettext", "ngettext_lazy"), (1, 2)),
    **dict.fromkeys(("pgettext", "pgettext_lazy"), ((1, "c"), 2)),
}

# Catalogue: where its strings stand.
CATALOGUES = {
    "apps/tasks/locale": ("apps/tasks",),
    "apps/dbsvr/locale": ("apps/dbsvr", "apps/cachesync", "templates/console"),
    "locale": ("tasksys_site", "templates"),
}
ELSEWHERE = {"templates": ("templates/console",)}  # its strings belong to the app of the console

NO_SOURCES = {".venv", ".git", "var", "tests", "static", "docs", "test-results", "node_modules"}
TRANSLATES = re.compile(r"django\.utils\.translation import .*gettext|{%\s*(trans|translate|blocktrans|blocktranslate)\b")
PLACEHOLDER = re.compile(r"%\(\w+\)[sd]|%[sd]|\{\w*\}")

Message = tuple[str, ...]


def collect(folder: Path) -> Iterator[Message]:
    for file in sorted([*folder.rglob("*.py"), *folder.rglob("*.html"), *folder.rglob("*.txt")]):
        relative = file.relative_to(PROJECT)
        if "migrations" in relative.parts or any(
            relative.is_relative_to(other) for other in ELSEWHERE.get(str(folder.relative_to(PROJECT)), ())
        ):
            continue
        text = file.read_text(encoding="utf-8")
        if file.suffix != ".py":
            # One line: what templatize leaves is Python in its calls only, not in its indentation.
            text = " ".join(templatize(text).splitlines())
        for _line, found, _comments, _context in extract("python", io.BytesIO(text.encode()), keywords=KEYWORDS):
            yield (found,) if isinstance(found, str) else tuple(part for part in found if part)


def translations(catalogue: str) -> dict[Message, Message]:
    with open(PROJECT / catalogue / "zh_Hans" / "LC_MESSAGES" / "django.po", "rb") as file:
        messages = [message for message in read_po(file) if message.id]
    assert not [message.id for message in messages if message.fuzzy], "fuzzy"

    def parts(value: Any) -> Message:
        return (value,) if isinstance(value, str) else tuple(value)

    return {(*([message.context] if message.context else []), *parts(message.id)): parts(message.string) for message in messages}


@pytest.mark.parametrize("catalogue", CATALOGUES)
def test_every_string_is_translated_and_none_is_left_over(catalogue: str) -> None:
    wanted = {message for folder in CATALOGUES[catalogue] for message in collect(PROJECT / folder)}
    translated = translations(catalogue)

    assert len(wanted) > 5
    assert wanted - translated.keys() == set()
    assert translated.keys() - wanted == set()
    assert [message for message, texts in translated.items() if not texts or not all(texts)] == []


def test_no_string_is_untranslated_anywhere() -> None:
    """All together and counted, for whoever has added some: what is missing, and where it belongs."""
    missing = {
        catalogue: sorted({message for folder in folders for message in collect(PROJECT / folder)} - translations(catalogue).keys())
        for catalogue, folders in CATALOGUES.items()
    }

    count = sum(map(len, missing.values()))
    assert count == 0, f"{count} strings have no Chinese: {missing}"


def test_no_folder_with_strings_is_forgotten() -> None:
    """A new app's strings belong to a catalogue, or they would be collected by nobody."""
    known = [PROJECT / folder for folders in CATALOGUES.values() for folder in folders]
    sources = [folder for folder in PROJECT.iterdir() if folder.name not in NO_SOURCES and folder.is_dir()]
    files = [file for folder in sources for kind in ("*.py", "*.html", "*.txt") for file in folder.rglob(kind)]
    outside = [file for file in files if not any(file.is_relative_to(folder) for folder in known)]

    assert [str(file.relative_to(PROJECT)) for file in outside if TRANSLATES.search(file.read_text(encoding="utf-8"))] == []


def test_translating_functions_go_by_names_that_are_collected() -> None:
    """`from django.utils.translation import gettext as say` would hide what it says from all of this."""
    hidden = []
    for file in [file for folder in ("apps", "tasksys_site") for file in (PROJECT / folder).rglob("*.py")]:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module == "django.utils.translation":
                names = {alias.name: alias.asname or alias.name for alias in node.names if "gettext" in alias.name}
                hidden += [(str(file.relative_to(PROJECT)), name) for name in names.values() if name not in KEYWORDS]

    assert hidden == []


@pytest.mark.parametrize("catalogue", CATALOGUES)
def test_a_translation_keeps_the_placeholders(catalogue: str) -> None:
    for message, texts in translations(catalogue).items():
        for text in texts:
            assert sorted(PLACEHOLDER.findall(text)) == sorted(PLACEHOLDER.findall(message[-1])), message
