"""The configuration as a file of JSON, out and in again without loss.

Pure. An import says which documents it brings; it takes none away. What they mean together is `validate`'s to say, on the
configuration with these changes. The same for tasks as a table: `table`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec

from apps.tasks.config.documents import KINDS, TASK, Configuration, Document, to_plain
from apps.tasks.config.faults import PARTS, Fault, pointer_to
from apps.tasks.config.line_faults import LineFault
from apps.tasks.config.reading import read_document

SCHEMA = 1
_PARTS_OF_A_FILE = ("schema", *PARTS.values())


class Imported(NamedTuple):
    """`changes`: the documents by kind and key; those with faults are not among them. `lines`: where each stands in the file."""

    changes: dict[tuple[str, str], Document]
    faults: list[LineFault]
    lines: dict[tuple[str, str], int]

    def take(self, kind: str, key: str, plain: object, line: int) -> None:
        """Read one document of the file."""
        document, found = read_document(kind, key, plain)
        self.faults.extend(LineFault(fault.pointer, fault.code, fault.params, line=line, column=column_of(fault)) for fault in found)
        if (kind, key) in self.lines:
            self.faults.append(LineFault(pointer_to(PARTS[kind], key), "document_twice", {"name": key}, line=line))
        self.lines[kind, key] = line
        if document is not None:
            self.changes[kind, key] = document

    def in_file(self, faults: Iterable[Fault]) -> list[LineFault]:
        """Faults of the configuration with these changes, with their lines; line 0 where the file does not hold the document."""
        placed = []
        for fault in faults:
            line = self.lines.get((fault.kind, fault.key), 0)
            placed.append(LineFault(fault.pointer, fault.code, fault.params, line=line, column=column_of(fault) if line else ""))
        return placed


def column_of(fault: Fault) -> str:
    """The field at fault, as a table's heading names it."""
    return ".".join(fault.place[2:])


def export_json(configuration: Configuration, kinds: Iterable[str] = KINDS) -> bytes:
    """All documents of these kinds, each in the order of its key. The uids of lists are not in it, only their SHA-256."""
    parts = {PARTS[kind]: [to_plain(document) for _key, document in sorted(configuration.of_kind(kind).items())] for kind in kinds}
    return msgspec.json.format(msgspec.json.encode({"schema": SCHEMA, **parts}), indent=2) + b"\n"


def import_json(data: bytes) -> Imported:
    try:
        text = data.decode("utf-8-sig")
        content = json.loads(text, object_pairs_hook=_once, parse_constant=_refuse_constant)
    except UnicodeDecodeError:
        return _nothing(LineFault("", "file_no_text"))
    except json.JSONDecodeError as error:
        return _nothing(LineFault("", "json_syntax", line=error.lineno, column=str(error.colno)))
    except _Refused as error:
        return _nothing(LineFault("", error.code, {"name": error.name}))
    except (RecursionError, ValueError):  # nested without end; a number of thousands of digits
        return _nothing(LineFault("", "not_storable"))
    if not isinstance(content, dict) or content.get("schema") != SCHEMA:
        return _nothing(LineFault("", "file_not_ours", {"schema": SCHEMA}))
    imported = Imported({}, [LineFault("", "part_unknown", {"name": part[:80]}) for part in content if part not in _PARTS_OF_A_FILE], {})
    lines = _item_lines(text)
    for kind, part in PARTS.items():
        _read_part(kind, content.get(part, []), lines.get(part, []), imported)
    return imported


def _nothing(fault: LineFault) -> Imported:
    return Imported({}, [fault], {})


def _read_part(kind: str, part: object, lines: list[int], imported: Imported) -> None:
    if not isinstance(part, list):
        imported.faults.append(LineFault(f"/{PARTS[kind]}", "type_wrong", {"expected": "array", "got": type(part).__name__}))
        return
    for number, plain in enumerate(part):
        key = key_in(kind, plain, number)
        # Where an item is no object, the lines of objects cannot be told apart by their number.
        line = lines[number] if len(lines) == len(part) else 0
        imported.take(kind, key, plain, line)


def key_in(kind: str, plain: object, number: int) -> str:
    """The key that a document in a file has; where it has none, its number in the file stands for it."""
    key = plain.get("code" if kind == TASK else "name") if isinstance(plain, dict) else None
    return key if isinstance(key, str) and key else f"#{number + 1}"


class _Refused(Exception):
    """JSON that one reader takes and another does not."""

    def __init__(self, code: str, name: str) -> None:
        super().__init__(code)
        self.code = code
        self.name = name


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        names = [name for name, _value in pairs]
        raise _Refused("field_twice", next(name for name in names if names.count(name) > 1)[:80])
    return fields


def _refuse_constant(name: str) -> None:
    raise _Refused("number_unknown", name)


_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}\n]')


def _item_lines(text: str) -> dict[str, list[int]]:
    """For each array of the file's object, the lines in which the objects in it begin."""
    found: dict[str, list[int]] = {}
    depth, line, name = 0, 1, ""
    for match in _TOKEN.finditer(text):
        token = match[0]
        if token == "\n":
            line += 1
        elif token in "[{":
            if token == "{" and depth == 2:
                found.setdefault(name, []).append(line)
            depth += 1
        elif token in "]}":
            depth -= 1
        elif depth == 1:
            name = token[1:-1]
    return found
