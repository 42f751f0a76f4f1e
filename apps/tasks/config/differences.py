"""What is different between two configurations, piece by piece, each with the old and the new value.

Pure; `say_difference` in `change_words` says it. A change of a nested field or of one language's text is a piece of its own, and so is
each row that was added to or taken from a list.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from apps.tasks.config.documents import KINDS, TASK, TYPES, Claim, Configuration, Document, Streak, Text, encode, key_of

ADDED, REMOVED, ARCHIVED, RESTORED = "added", "removed", "archived", "restored"
CHANGED = "changed"
ROW_ADDED, ROW_REMOVED, ROWS_REORDERED = "row_added", "row_removed", "rows_reordered"

_MAPS = {"texts", "attributes"}
_WHOLE_STRUCTS = (Streak, Claim)
"""Read together: seven days in a row with one day of grace is one statement."""


class Difference(NamedTuple):
    """`path` is empty for a document as a whole. `old` and `new` are the documents' own values; None: there is none.

    A row of a list has the list's path; a condition row the path of its group in the new document: ("conditions", "0").
    """

    kind: str
    key: str
    what: str
    path: tuple[str, ...]
    old: Any
    new: Any


def differences(old: Configuration, new: Configuration) -> list[Difference]:
    """By kind, then by key, then in the order of the fields."""
    found: list[Difference] = []
    for kind in KINDS:
        before, after = old.of_kind(kind), new.of_kind(kind)
        for key in sorted(key for key in {**before, **after} if before.get(key) is not after.get(key)):
            found.extend(differences_of(kind, before.get(key), after.get(key)))
    return found


def differences_of(kind: str, old: Document | None, new: Document | None) -> list[Difference]:
    """Of one document; None: it is new, or goes away."""
    if old is None and new is None:
        return []
    if old is None or new is None:
        document = old if new is None else new
        assert document is not None
        return [Difference(kind, key_of(document), ADDED if old is None else REMOVED, (), old, new)]
    if old is new or encode(old) == encode(new):
        return []
    return list(_changes(kind, key_of(new), old, new))


def contents_of(kind: str, document: Document) -> list[Difference]:
    """What a document says beyond the defaults, as if all of it were changed: for one that is new, or goes away."""
    found: list[Difference] = []
    for field in msgspec.structs.fields(TYPES[kind]):
        if field.name in ("code", "name"):
            continue
        default = field.default if field.default is not msgspec.NODEFAULT else None
        found.extend(_field(kind, key_of(document), field.name, default, getattr(document, field.name)))
    return found


def _changes(kind: str, key: str, old: Document, new: Document) -> Iterator[Difference]:
    for field in TYPES[kind].__struct_fields__:
        before, after = getattr(old, field), getattr(new, field)
        if _is_same(before, after):
            continue
        if kind == TASK and field == "archived":
            yield Difference(kind, key, ARCHIVED if after else RESTORED, (field,), before, after)
        else:
            yield from _field(kind, key, field, before, after)


def _field(kind: str, key: str, field: str, before: Any, after: Any) -> Iterator[Difference]:
    if field in _MAPS:
        before, after = before or {}, after or {}
        for name in sorted({*before, *after}):
            yield from _value(kind, key, (field, name), before.get(name), after.get(name))
    else:
        yield from _value(kind, key, (field,), before, after)


def _value(kind: str, key: str, path: tuple[str, ...], old: Any, new: Any) -> Iterator[Difference]:
    if _is_same(old, new):
        return
    if path == ("conditions",) and not (old and new):
        # From everybody to some users, or back: that is one statement, however many groups it has.
        yield Difference(kind, key, CHANGED, path, old, new)
    elif isinstance(old, tuple) and isinstance(new, tuple):
        yield from _rows(kind, key, path, old, new)
    elif isinstance(old, msgspec.Struct) and type(old) is type(new) and not isinstance(old, _WHOLE_STRUCTS):
        for field in old.__struct_fields__:
            yield from _value(kind, key, (*path, field), getattr(old, field), getattr(new, field))
    elif path[0] == "texts" and (old is None or new is None):
        # A whole language came or went: its fields, so that every text that users will read stands in the list.
        for field in Text.__struct_fields__:
            before, after = getattr(old, field, ""), getattr(new, field, "")
            if before != after:
                yield Difference(kind, key, CHANGED, (*path, field), before, after)
    else:
        yield Difference(kind, key, CHANGED, path, old, new)


def _rows(kind: str, key: str, path: tuple[str, ...], old: Sequence[Any], new: Sequence[Any]) -> Iterator[Difference]:
    """What only one side has; if nothing, only the order is another."""
    gone, come = _only_there(old, new), _only_there(new, old)
    if not gone and not come:
        yield Difference(kind, key, ROWS_REORDERED, path, old, new)
    if path == ("conditions",):
        # Groups in which something changed stand in the same order on both sides: row by row says more than two whole groups.
        pairs = min(len(gone), len(come))
        for before, after in zip(gone[:pairs], come[:pairs], strict=True):
            yield from _rows(kind, key, (*path, str(next(place for place, group in enumerate(new) if group is after))), before, after)
        gone, come = gone[pairs:], come[pairs:]
    for row in gone:
        yield Difference(kind, key, ROW_REMOVED, path, row, None)
    for row in come:
        yield Difference(kind, key, ROW_ADDED, path, None, row)


def _only_there(rows: Sequence[Any], others: Sequence[Any]) -> list[Any]:
    """Rows that the other side lacks; one that is there twice and here three times remains once."""
    left = Counter(encode(row) for row in others)
    only = []
    for row in rows:
        mark = encode(row)
        if left[mark]:
            left[mark] -= 1
        else:
            only.append(row)
    return only


def _is_same(one: Any, other: Any) -> bool:
    return one is other or bool(one == other and encode(one) == encode(other))
