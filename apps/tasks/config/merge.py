"""Two changes of one document brought together, field by field.

Pure, on documents as JSON holds them (None: there is none). Fields of nested objects and of maps, such as the texts of one language,
are merged one by one; a list (condition rows, tiers, feeds) is one value. A field that is absent has its default, and so has one that
is null. Nothing is chosen silently: where both sides changed the same field to different values, both stand in a conflict.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import msgspec

Plain: TypeAlias = dict[str, Any]
Path: TypeAlias = tuple[str, ...]
MINE, THEIRS = "mine", "theirs"

_encode = msgspec.json.Encoder(order="deterministic").encode


class Conflict(NamedTuple):
    """Both sides changed what stands at `path` (the empty path: the document as a whole). None: absent, or the default."""

    path: Path
    base: Any
    mine: Any
    theirs: Any


class Merged(NamedTuple):
    """At a conflict, the document has mine: that is what its editor sees until he decides."""

    document: Plain | None
    conflicts: list[Conflict]


def merge(base: Plain | None, mine: Plain | None, theirs: Plain | None) -> Merged:
    """`base` is what both sides started from. Also with conflicts the document is whole."""
    base, mine, theirs = _tidy(base), _tidy(mine), _tidy(theirs)
    if is_same(mine, theirs) or is_same(theirs, base):
        return Merged(mine, [])
    if is_same(mine, base):
        return Merged(theirs, [])
    if base is None or mine is None or theirs is None:
        # Two new documents under one key, or one that somebody changed and somebody else took away.
        return Merged(mine, [Conflict((), base, mine, theirs)])
    conflicts: list[Conflict] = []
    document = _merge_fields((), base, mine, theirs, conflicts)
    return Merged(document, conflicts)


def _merge_fields(path: Path, base: Plain, mine: Plain, theirs: Plain, conflicts: list[Conflict]) -> Plain:
    merged: Plain = {}
    for field in sorted({*base, *mine, *theirs}):
        value = _merge_value((*path, field), base.get(field), mine.get(field), theirs.get(field), conflicts)
        if value is not None:
            merged[field] = value
    return merged


def _merge_value(path: Path, base: Any, mine: Any, theirs: Any, conflicts: list[Conflict]) -> Any:
    if is_same(mine, theirs) or is_same(theirs, base):
        return mine
    if is_same(mine, base):
        return theirs
    sides = (base, mine, theirs)
    if all(side is None or isinstance(side, dict) for side in sides) and (all(sides) or not _needs_all_its_fields(path)):
        return _merge_fields(path, base or {}, mine or {}, theirs or {}, conflicts) or None
    conflicts.append(Conflict(path, base, mine, theirs))
    return mine


def _needs_all_its_fields(path: Path) -> bool:
    """Of what may be absent as a whole but, when there, has fields without a default: half of one would be no document."""
    return path == ("streak",) or (path[0] == "texts" and len(path) == 2)


def is_same(one: Any, other: Any) -> bool:
    """As JSON: true is not 1."""
    return one is other or bool(one == other and _encode(one) == _encode(other))


def value_at(document: Plain | None, path: Path) -> Any:
    """None: absent."""
    value: Any = document
    for field in path:
        if not isinstance(value, dict):
            return None
        value = value.get(field)
    return value


def with_value(document: Plain | None, path: Path, value: Any) -> Plain | None:
    """A copy with this value in this place; None takes it away."""
    if not path:
        whole: Plain | None = _tidy(value)
        return whole
    changed = dict(document or {})
    inner = changed.get(path[0]) if len(path) > 1 else None
    below = with_value(inner if isinstance(inner, dict) else {}, path[1:], value) if len(path) > 1 else value
    if below is None or below == {}:
        changed.pop(path[0], None)
    else:
        changed[path[0]] = below
    return changed


def settle(base: Plain | None, mine: Plain | None, theirs: Plain | None, path: Path, take: str) -> tuple[Plain | None, Plain | None]:
    """The base and mine after one conflict is decided: the next merge takes the chosen value and finds no conflict there."""
    their_value = value_at(theirs, path)
    settled_base = with_value(base, path, their_value)
    return settled_base, mine if take == MINE else with_value(mine, path, their_value)


def _tidy(value: Any) -> Any:
    """Without fields that say nothing: null, and objects with nothing in them. Lists stay as they are."""
    if not isinstance(value, dict):
        return value
    tidied = {field: _tidy(inner) for field, inner in value.items()}
    return {field: inner for field, inner in tidied.items() if inner is not None and inner != {}}
