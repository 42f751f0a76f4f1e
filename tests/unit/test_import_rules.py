"""Who may import whom. The processes of the DBSvr know nothing of Django, and `apps` know only their wire."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tasksys_site.configuration import PROJECT

FOREIGN_TO_WORKERS = ("django", "rest_framework", "celery", "apps", "tasksys_site.settings", "deploy", "tests", "bench")


def imports_of(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def is_within(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")


@pytest.mark.parametrize("path", sorted((PROJECT / "workers").glob("*.py")), ids=lambda path: path.name)
def test_workers_import_neither_django_nor_apps(path: Path) -> None:
    foreign = [module for module in imports_of(path) if any(is_within(module, package) for package in FOREIGN_TO_WORKERS)]

    assert not foreign


@pytest.mark.parametrize("path", sorted((PROJECT / "apps").rglob("*.py")), ids=lambda path: str(path.relative_to(PROJECT)))
def test_apps_import_only_the_wire_from_workers(path: Path) -> None:
    own = [module for module in imports_of(path) if is_within(module, "workers")]

    assert all(is_within(module, "workers.protocol") for module in own if module != "workers"), own
    assert not [module for module in imports_of(path) if any(is_within(module, package) for package in ("deploy", "tests", "bench"))]


def test_the_configuration_knows_neither_django_nor_celery() -> None:
    modules = list(imports_of(PROJECT / "tasksys_site" / "configuration.py"))

    assert not [module for module in modules if is_within(module, "django") or is_within(module, "celery")]


@pytest.mark.parametrize("package", ["tasksys_site", "workers"])
def test_these_packages_import_nothing_by_themselves(package: str) -> None:
    assert (PROJECT / package / "__init__.py").read_text(encoding="utf-8").strip() == ""
