"""From an uploaded file to a list of users: ascending, each once, with what is wrong by line.

Pure. People paste from spreadsheets: a byte order mark, a heading, quotes, several uids on a line, empty lines and lines that
begin with # are all fine. Nothing is left out silently: a line that is no uid is a fault.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from apps.tasks.config.limits import MAX_UIDS_IN_A_LIST
from apps.tasks.config.line_faults import LineFault
from workers.protocol import MAX_UID

MAX_FAULTS = 100
"""A file of the wrong kind is wrong in every line; the first ones tell."""

_SEPARATORS = re.compile(r"[\s,;]+")
_HEADINGS = frozenset({"uid", "uids", "user", "user_id", "userid", "id", "用户", "用户编号"})


@dataclass(frozen=True, slots=True)
class ParsedList:
    """`text` is what is stored, under its SHA-256. With faults the rest was read all the same."""

    text: bytes
    sha256: str
    count: int
    repeated: int
    """How many uids stood in the file more than once, counted each further time."""
    faults: list[LineFault]


def parse_list(data: bytes) -> ParsedList:
    try:
        content = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return _parsed(set(), 0, [LineFault("", "list_no_text")])
    if "\x00" in content:
        return _parsed(set(), 0, [LineFault("", "list_no_text")])
    uids: set[int] = set()
    read = 0
    faults: list[LineFault] = []
    for number, line in enumerate(content.splitlines(), start=1):
        if line.lstrip().startswith("#"):
            continue
        for word in filter(None, _SEPARATORS.split(line)):
            written = word.strip("\"'")
            if number == 1 and written.lower() in _HEADINGS:
                continue
            uid = int(written) if written.isascii() and written.isdigit() and len(written) <= 30 else 0
            if 1 <= uid <= MAX_UID:
                uids.add(uid)
                read += 1
            elif len(faults) < MAX_FAULTS:
                faults.append(LineFault("", "uid", {"value": written[:40]}, line=number))
    if len(uids) > MAX_UIDS_IN_A_LIST:
        faults.append(LineFault("", "list_too_long", {"count": len(uids), "limit": MAX_UIDS_IN_A_LIST}))
    return _parsed(uids, read - len(uids), faults)


def _parsed(uids: set[int], repeated: int, faults: list[LineFault]) -> ParsedList:
    text = list_text(uids)
    return ParsedList(text, hashlib.sha256(text).hexdigest(), len(uids), repeated, faults)


def list_text(uids: set[int]) -> bytes:
    """One uid a line, ascending, every line ended by a line feed."""
    return "".join(f"{uid}\n" for uid in sorted(uids)).encode()


def uids_of(text: bytes) -> list[int]:
    """Of a text that `list_text` wrote."""
    return [int(line) for line in text.split()]
