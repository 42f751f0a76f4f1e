"""What is wrong in an uploaded file: in which line, in which column.

A fault like every other one, said by `words.say_fault`; only its place is one in the file.
"""

from __future__ import annotations

from django.utils.translation import gettext

from apps.tasks.config import written
from apps.tasks.config.faults import Fault


class LineFault(Fault, frozen=True, kw_only=True):
    """`line` counts from 1; 0: the file as a whole. `column` is its heading, or the character's number in a line of JSON; empty:
    the line as a whole. The pointer is that of a fault, where the line is one of a document."""

    line: int = 0
    column: str = ""


def say_line(fault: LineFault) -> str:
    """Where in the file: line 12, column points."""
    if not fault.line:
        return gettext("the file as a whole")
    places = {"line": written.number(fault.line), "column": fault.column}
    if not fault.column:
        return gettext("line %(line)s") % places
    return gettext("line %(line)s, column %(column)s") % places
