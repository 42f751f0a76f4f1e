"""Tasks as a table (CSV) that spreadsheets open: a column for each plain field, JSON in the columns of what has rows.

Pure. A column is named by its path: `points`, `period.zone`, `texts.en.name`. An empty cell is the field's default. A spreadsheet
runs a cell that begins like a formula, so a text that does is written with an apostrophe before it, and read back without.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from datetime import date
from typing import Any, Literal, get_args, get_origin, get_type_hints

import msgspec

from apps.tasks.config import documents
from apps.tasks.config.documents import TASK, Configuration, Task, Text, to_plain
from apps.tasks.config.exchange import Imported
from apps.tasks.config.limits import LANGUAGE, MAX_TASKS
from apps.tasks.config.line_faults import LineFault
from apps.tasks.config.merge import with_value

Path = tuple[str, ...]

# A cell of 1,000 condition values is longer than what the csv module takes by itself.
csv.field_size_limit(4_000_000)

_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_QUOTED_FORMULA = re.compile(r"'+[=+\-@\t\r]")
_DAY = re.compile(r"(\d{4})[/.](\d{1,2})[/.](\d{1,2})")
_WHOLE_NUMBER = re.compile(r"[+-]?[0-9]{1,30}")
_DELIMITERS = ",;\t"
_TEXT_FIELDS = Text.__struct_fields__

TEXT, NUMBER, BOOLEAN, DAY, JSON = "text", "number", "boolean", "day", "json"


def _columns_of(struct: type[Any], before: Path = ()) -> Iterator[tuple[Path, str]]:
    """Paths and what their cells hold, in the order of the fields. The texts have columns for each language: see `_columns`."""
    hints = get_type_hints(struct, vars(documents))
    for field in struct.__struct_fields__:
        hint = hints[field]
        parts = [part for part in get_args(hint) if part is not type(None)] if get_origin(hint) is not Literal else []
        nested = next((part for part in (hint, *parts) if isinstance(part, type) and issubclass(part, msgspec.Struct)), None)
        path = (*before, field)
        if get_origin(hint) is tuple:
            yield path, JSON
        elif get_origin(hint) is dict:
            yield path, TEXT
        elif nested is not None:
            yield from _columns_of(nested, path)
        else:
            yield path, _cell_type(hint, parts)


def _cell_type(hint: Any, parts: list[Any]) -> str:
    types = [hint, *parts]
    if bool in types:
        return BOOLEAN
    if int in types:
        return NUMBER
    return DAY if date in types else TEXT


_FIELDS: dict[Path, str] = dict(_columns_of(Task))
_TEXTS: Path = ("texts",)


def _columns(languages: list[str]) -> list[Path]:
    columns: list[Path] = []
    for path in _FIELDS:
        if path == _TEXTS:
            columns.extend((*_TEXTS, language, field) for language in languages for field in _TEXT_FIELDS)
        else:
            columns.append(path)
    return columns


def _type_of(path: Path) -> str | None:
    """What the cells of a column hold; None: there is no such column."""
    if len(path) == 3 and path[0] == "texts":
        return TEXT if path[2] in _TEXT_FIELDS and LANGUAGE.fullmatch(path[1]) else None
    return None if path == _TEXTS else _FIELDS.get(path)


def export_csv(configuration: Configuration) -> bytes:
    """All tasks, in the order of their codes. With a byte order mark: without one, spreadsheets misread Chinese."""
    tasks = [task for _code, task in sorted(configuration.tasks.items())]
    languages = sorted({language for task in tasks for language in task.texts} | {"en", "zh-hans"})
    columns = _columns(languages)
    out = io.StringIO(newline="")
    table = csv.writer(out)
    table.writerow([".".join(column) for column in columns])
    for task in tasks:
        table.writerow([_to_cell(_value_of(task, column)) for column in columns])
    return out.getvalue().encode("utf-8-sig")


def _value_of(task: Task, column: Path) -> Any:
    """Defaults as well: who reads a table wants to see what holds."""
    value: Any = task
    for part in column:
        value = value.get(part) if isinstance(value, dict) else getattr(value, part, None)
    return msgspec.to_builtins(value)


def _to_cell(value: Any) -> str:
    if value is None or value == []:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return f"'{text}" if _FORMULA.match(text) else text


def import_csv(data: bytes, onto: Configuration | None = None) -> Imported:
    """Tasks of a table. With `onto`, a task that is there keeps the fields for which the table has no column; otherwise they have
    their defaults."""
    imported = Imported({}, [], {})
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        imported.faults.append(LineFault("", "table_encoding"))
        return imported
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter_of(text), strict=True)
    line = 1
    try:
        columns = _read_headings(next(rows, []), imported)
        if imported.faults:
            return imported
        line = rows.line_num + 1
        for row in rows:
            if any(cell.strip() for cell in row):
                _read_row(row, columns, line, onto, imported)
            line = rows.line_num + 1
            if len(imported.lines) > MAX_TASKS:
                imported.faults.append(
                    LineFault("", "documents_too_many", {"kind": TASK, "limit": MAX_TASKS, "count": len(imported.lines)})
                )
                return imported
    except csv.Error:
        imported.faults.append(LineFault("", "table_syntax", line=line))
    return imported


def _delimiter_of(text: str) -> str:
    """Spreadsheets write what their country uses. Headings contain none of the candidates."""
    heading = text.partition("\n")[0]
    return max(_DELIMITERS, key=heading.count)


def _read_headings(headings: list[str], imported: Imported) -> list[Path]:
    columns: list[Path] = []
    for number, heading in enumerate(headings, start=1):
        path = tuple(heading.strip().split("."))
        if _type_of(path) is None:
            imported.faults.append(LineFault("", "column_unknown", {"name": heading[:80], "number": number}, line=1, column=heading[:80]))
        elif path in columns:
            imported.faults.append(LineFault("", "column_twice", {"name": heading}, line=1, column=heading))
        columns.append(path)
    if ("code",) not in columns:
        imported.faults.append(LineFault("", "column_code_missing", line=1))
    return columns


def _read_row(row: list[str], columns: list[Path], line: int, onto: Configuration | None, imported: Imported) -> None:
    if len(row) > len(columns):
        imported.faults.append(LineFault("", "cells_too_many", {"count": len(row), "limit": len(columns)}, line=line))
        return
    cells = dict(zip(columns, (*row, *[""] * (len(columns) - len(row))), strict=True))
    code = _from_text(cells["code",]).strip()
    if not code:
        imported.faults.append(LineFault("", "code_missing", line=line, column="code"))
        return
    present = onto.tasks.get(code) if onto is not None else None
    plain: dict[str, Any] = to_plain(present) if present is not None else {}
    faults_before = len(imported.faults)
    for path, cell in cells.items():
        try:
            value = _from_cell(cell, _FIELDS.get(path, TEXT))
        except ValueError:
            fault = LineFault("", f"cell_{_FIELDS[path]}", {"value": cell[:60]}, line=line, column=".".join(path))
            imported.faults.append(fault)
        else:
            plain = with_value(plain, path, value) or {}
    if len(imported.faults) == faults_before:
        imported.take(TASK, code, plain | {"code": code}, line)
    else:
        imported.lines[TASK, code] = line


def _from_cell(cell: str, type_: str) -> Any:
    """None for an empty cell. Raises ValueError."""
    if type_ == TEXT:
        return _from_text(cell) or None
    cell = _from_text(cell).strip()
    if not cell:
        return None
    if type_ == NUMBER:
        return int(cell) if _WHOLE_NUMBER.fullmatch(cell) else _refuse(cell)
    if type_ == BOOLEAN:
        return {"true": True, "false": False}[cell.lower()] if cell.lower() in ("true", "false") else _refuse(cell)
    if type_ == DAY:
        day = _DAY.fullmatch(cell)  # spreadsheets rewrite days
        return f"{day[1]}-{int(day[2]):02}-{int(day[3]):02}" if day else cell
    return json.loads(cell, parse_constant=_refuse)


def _refuse(cell: str) -> Any:
    raise ValueError(cell)


def _from_text(cell: str) -> str:
    return cell[1:] if _QUOTED_FORMULA.match(cell) else cell
