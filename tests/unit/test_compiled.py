"""What is compiled can be compiled, and means the same as its source."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import workers
from workers.compiled import MODULES

SOURCES = Path(workers.__file__).parent


@pytest.mark.parametrize("module", MODULES)
def test_no_two_except_clauses_of_a_function_give_one_name_to_two_kinds_of_errors(module: str) -> None:
    """mypyc gives the name one type, and would end the second clause with a TypeError."""
    tree = ast.parse((SOURCES / f"{module}.py").read_text())
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            clauses = [each for each in ast.walk(function) if isinstance(each, ast.ExceptHandler) and each.name and each.type]
            kinds = {(each.name, ast.unparse(each.type)) for each in clauses if each.type}
            assert len(kinds) == len({name for name, _ in kinds}), f"{module}.{function.name}: {kinds}"


@pytest.mark.parametrize("module", MODULES)
def test_no_class_of_theirs_has_slots(module: str) -> None:
    """A compiled class has a fixed layout by itself, and refuses to be told of one."""
    assert "__slots__" not in (SOURCES / f"{module}.py").read_text()


@pytest.mark.parametrize("module", MODULES)
def test_no_class_of_theirs_is_made_by_anything_but_python_itself(module: str) -> None:
    """mypyc drops a class statement's keywords, and so what msgspec is told by them: `frozen`, `tag`, `forbid_unknown_fields`."""
    tree = ast.parse((SOURCES / f"{module}.py").read_text())
    for each in ast.walk(tree):
        if isinstance(each, ast.ClassDef):
            assert not each.keywords, f"{module}.{each.name}"
            assert "msgspec.Struct" not in {ast.unparse(base) for base in each.bases}, f"{module}.{each.name}"
