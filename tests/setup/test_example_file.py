"""tasksys.example.toml is documentation that a program can read, so a program holds it true."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from tasksys_site.configuration import PROJECT, Configuration, load

EXAMPLE = PROJECT / "tasksys.example.toml"


def values_of(settings: BaseModel) -> dict[str, Any]:
    return settings.model_dump(mode="json")


def names_in(section: Any, before: str = "") -> set[str]:
    """Every setting by its dotted name; entries of lists and tables by the names inside them."""
    if isinstance(section, dict):
        return {name for key, value in section.items() for name in names_in(value, f"{before}{key}.")}
    if isinstance(section, list) and section and isinstance(section[0], dict):
        return names_in(section[0], before)
    return {before.rstrip(".")}


def test_the_example_file_says_the_defaults(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TASKSYS_CONFIG", str(EXAMPLE))
    from_example = load()
    empty = tmp_path / "empty.toml"
    empty.touch()
    monkeypatch.setenv("TASKSYS_CONFIG", str(empty))

    assert values_of(from_example) == values_of(load())


def test_the_example_file_names_every_setting(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    empty = tmp_path / "empty.toml"
    empty.touch()
    monkeypatch.setenv("TASKSYS_CONFIG", str(empty))
    text = EXAMPLE.read_text(encoding="utf-8")
    # A setting without a default stands in the file as a comment.
    uncommented = re.sub(r'^# ([a-z_]+ = ".*")$', r"\1", text, flags=re.MULTILINE)

    assert names_in(tomllib.loads(uncommented)) == names_in(values_of(Configuration()))
