"""From what JSON holds to documents, with faults instead of exceptions.

Pure. Forms, imports and the API read documents here, so that a wrong type is told with its place like every other fault.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from apps.tasks.config.documents import TASK, Document, Text, encode, from_plain
from apps.tasks.config.faults import PARTS, Fault, pointer_to

_PLACE = re.compile(r" - at `(?:key in )?\$(.*)`$")
_STEP = re.compile(r"\.([A-Za-z_]\w*)|\[(\d+|\.\.\.)\]")
_EXPECTED = re.compile(r"Expected `(.+?)`, got `(.+?)`")
_NAMED = re.compile(r"`(.+?)`")
_QUOTED = re.compile(r"'(.*)'")
_CODES = {
    "Object missing": "field_missing",
    "Object contains unknown": "field_unknown",
    "Invalid enum": "choice_unknown",
    "Invalid RFC3339 encoded datetime": "moment_pattern",
    "Invalid RFC3339 encoded date": "day_pattern",
}


def read_document(kind: str, key: str, plain: object) -> tuple[Document | None, list[Fault]]:
    """The document, or None and why it is none."""
    try:
        document = from_plain(kind, plain)
        encode(document)
    except msgspec.ValidationError as error:
        return None, [_fault_of(kind, key, plain, str(error))]
    except (OverflowError, UnicodeEncodeError, RecursionError):
        # Numbers beyond 64 bits, halves of characters, nesting without end: JSON lets them pass, nothing after us would.
        return None, [Fault(pointer_to(PARTS[kind], key), "not_storable")]
    return document, []


def _fault_of(kind: str, key: str, plain: object, message: str) -> Fault:
    place = _PLACE.search(message)
    steps = [name or index for name, index in _STEP.findall(place[1])] if place else []
    text = message[: place.start()] if place else message
    code = next((code for begin, code in _CODES.items() if text.startswith(begin)), "type_wrong")
    params: dict[str, Any] = {}
    if code in ("field_missing", "field_unknown") and (named := _NAMED.search(text)):
        params = {"field": named[1]}
        steps.append(named[1])
    elif code == "choice_unknown" and (quoted := _QUOTED.search(text)):
        params = {"value": quoted[1]}
    elif code == "type_wrong":
        expected = _EXPECTED.search(text)
        params = {"expected": expected[1], "got": expected[2]} if expected else {"expected": text, "got": ""}
    return Fault(pointer_to(PARTS[kind], key, *_named_steps(kind, plain, steps)), code, params)


def _named_steps(kind: str, plain: object, steps: list[str]) -> list[str]:
    """msgspec says `[...]` for a key of a map: find which one it is."""
    if "..." not in steps or not isinstance(plain, Mapping):
        return steps
    if kind == TASK and steps[0] == "texts":
        for language, text in plain["texts"].items():
            try:
                msgspec.convert(text, Text)
            except msgspec.ValidationError:
                return [steps[0], str(language), *steps[2:]]
    return [step for step in steps if step != "..."]
