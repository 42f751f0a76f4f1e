"""The audit log as CSV. Pure but for the rows that are handed in.

A spreadsheet takes a cell that begins with =, +, -, @, a tab or a carriage return for a formula, and runs it; what users typed must not
get that far. Such a cell is led by an apostrophe, which a spreadsheet takes for "this is text".
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from apps.tasks.screens.audit_sides import as_text

COLUMNS = ("id", "at", "who", "action", "kind", "key", "revision", "draft", "note", "address", "before", "after")
BYTE_ORDER_MARK = "\ufeff"
"""Without it, spreadsheets read Chinese as something else."""
_BEGIN_FORMULAS = ("=", "+", "-", "@", "\t", "\r", "＝", "＋", "－", "＠")


class _Echo:
    """A file for the csv module that hands back what is written."""

    def write(self, text: str) -> str:
        return text


def safe_cell(value: object) -> str:
    text = "" if value is None else as_text(value)
    return f"'{text}" if text.startswith(_BEGIN_FORMULAS) else text


def csv_lines(rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """Header and rows, one text each, lines ended as RFC 4180 says."""
    writer: Any = csv.writer(_Echo())
    yield BYTE_ORDER_MARK + writer.writerow(COLUMNS)
    for row in rows:
        yield writer.writerow([safe_cell(value) for value in row])
