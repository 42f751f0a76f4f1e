"""A draft brought together with what is live now: the merged documents, and where both changed the same.

Pure: items and configurations in, values out. Per field for each document that the draft has changed; a draft that brings back an old
revision promises the whole of it, so every document that was changed since is a conflict of its own there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple, TypeAlias

import msgspec

from apps.tasks.config.documents import KINDS, TASK, Configuration, Document, from_plain, to_plain
from apps.tasks.config.merge import is_same, merge

Key: TypeAlias = tuple[str, str]
"""Kind and key of a document."""
Plain: TypeAlias = dict[str, Any]


class Item(NamedTuple):
    """One document as a draft has it: what it was when it was last reconciled, and what it is to be. None: there is none."""

    base: Plain | None
    document: Plain | None


class DocumentConflict(msgspec.Struct, frozen=True):
    """Draft and live changed the same place of one document. `revision`, `by` and `at` say who changed it there, where that is known."""

    kind: str
    key: str
    path: tuple[str, ...]
    base: Any
    mine: Any
    theirs: Any
    revision: int | None = None
    by: str = ""
    at: datetime | None = None

    def __str__(self) -> str:
        return ".".join((f"{self.kind} {self.key}", *self.path))


class Reconciled(NamedTuple):
    """What the draft makes of the live configuration: its own documents, merged. At a conflict they have the draft's value."""

    documents: dict[Key, Plain | None]
    conflicts: list[DocumentConflict]

    def on(self, live: Configuration) -> Configuration:
        """Raises msgspec.ValidationError for what no document can be."""
        return live.changed(
            {(kind, key): None if plain is None else from_plain(kind, plain) for (kind, key), plain in self.documents.items()}
        )


def reconcile(items: Mapping[Key, Item], live: Configuration) -> Reconciled:
    documents: dict[Key, Plain | None] = {}
    conflicts = []
    for (kind, key), item in items.items():
        document, found = merge(item.base, item.document, plain_at(live, kind, key))
        documents[(kind, key)] = document
        conflicts += [DocumentConflict(kind, key, conflict.path, conflict.base, conflict.mine, conflict.theirs) for conflict in found]
    return Reconciled(documents, conflicts)


def reconcile_roll_back(items: Mapping[Key, Item], base: Configuration, target: Configuration, live: Configuration) -> Reconciled:
    """`base` was live when the draft was made to bring back `target`. What was changed since is said, touched by the draft or not."""
    found = reconcile(items, live)
    conflicts = []
    for kind, key in changed_keys(base, live):
        theirs = plain_at(live, kind, key)
        wanted = brought_back(kind, key, target, live)
        item = items.get((kind, key))
        is_decided = item is not None and is_same(item.base, theirs)
        if not is_decided and not is_same(wanted, theirs):
            conflicts.append(DocumentConflict(kind, key, (), plain_at(base, kind, key), wanted, theirs))
            found.documents[(kind, key)] = wanted
    return Reconciled(found.documents, conflicts)


def what_rolls_back(target: Configuration, live: Configuration) -> dict[Key, Item]:
    """The items of a draft that brings back `target`."""
    items = {}
    for kind, key in changed_keys(target, live):
        base, document = plain_at(live, kind, key), brought_back(kind, key, target, live)
        if not is_same(base, document):
            items[(kind, key)] = Item(base, document)
    return items


def brought_back(kind: str, key: str, target: Configuration, live: Configuration) -> Plain | None:
    """The document as it was; a task that did not exist then is archived, for users' records refer to it."""
    document = target.of_kind(kind).get(key)
    if document is None and kind == TASK and key in live.tasks:
        return to_plain(msgspec.structs.replace(live.tasks[key], archived=True))
    return None if document is None else to_plain(document)


def changed_keys(old: Configuration, new: Configuration) -> list[Key]:
    """Of the documents that differ, in the order of kinds and keys."""
    keys = []
    for kind in KINDS:
        before, after = old.of_kind(kind), new.of_kind(kind)
        keys += [(kind, key) for key in sorted({*before, *after}) if before.get(key) != after.get(key)]
    return keys


def plain_at(configuration: Configuration, kind: str, key: str) -> Plain | None:
    document: Document | None = configuration.of_kind(kind).get(key)
    return None if document is None else to_plain(document)


def with_authors(
    conflicts: Iterable[DocumentConflict], changes: Iterable[tuple[int, str, datetime, list[Plain]]]
) -> list[DocumentConflict]:
    """The conflicts, each with the newest of the given revisions (number, by whom, when, changes) that changed its document."""
    authors: dict[Key, tuple[int, str, datetime]] = {}
    for number, by, at, changed in sorted(changes, key=lambda each: each[0]):
        authors.update({(change["kind"], change["key"]): (number, by, at) for change in changed})
    told: list[DocumentConflict] = []
    for conflict in conflicts:
        author = authors.get((conflict.kind, conflict.key))
        told.append(conflict if author is None else msgspec.structs.replace(conflict, revision=author[0], by=author[1], at=author[2]))
    return told
