"""Where a draft and a newer revision changed the same place: what it was, what each side made of it, who did that."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from apps.tasks.config.documents import Configuration, from_plain
from apps.tasks.config.labels import document_label, field_label
from apps.tasks.config.value_words import say_value
from apps.tasks.models import Draft
from apps.tasks.moments import say_moment
from apps.tasks.publishing.reconciling import DocumentConflict
from apps.tasks.screens.change_sentences import address_of


@dataclass(frozen=True)
class Shown:
    """One conflict on the page. `path` goes back with the decision."""

    kind: str
    key: str
    path: tuple[str, ...]
    headline: str
    base: str
    mine: str
    theirs: str
    address: str


def say_conflicts(conflicts: Iterable[DocumentConflict], draft: Draft, live: Configuration) -> list[Shown]:
    items = {(item.kind, item.key): item for item in draft.items.all()}
    return [_shown(each, items.get((each.kind, each.key)), live) for each in conflicts]


def _shown(conflict: DocumentConflict, item: Any, live: Configuration) -> Shown:
    kind, path = conflict.kind, conflict.path
    theirs = live.of_kind(kind).get(conflict.key)
    if path:
        base, mine = (
            None if plain is None else from_plain(kind, plain) for plain in ((item.base, item.document) if item else (None, None))
        )
        said = [say_value(kind, path, _value_at(document, path)) for document in (base, mine, theirs)]
    else:
        said = [_("there is one") if value is not None else _("there is none") for value in (conflict.base, conflict.mine, conflict.theirs)]
    facts = {
        "revision": conflict.revision or 0,
        "document": document_label(kind, conflict.key),
        "field": field_label(kind, path) if path else "",
        "old": said[0],
        "new": said[2],
        "who": conflict.by,
        "moment": say_moment(conflict.at) if conflict.at else "",
    }
    if not path:
        text = _("%(document)s: revision %(revision)d changed or removed it as well (%(who)s, %(moment)s).")
    else:
        text = _("%(document)s: revision %(revision)d changed the same field, %(field)s: %(old)s → %(new)s (%(who)s, %(moment)s).")
    return Shown(kind, conflict.key, path, text % facts, *said, address=address_of(kind, conflict.key))


def _value_at(document: Any, path: tuple[str, ...]) -> Any:
    value = document
    for part in path:
        value = value.get(part) if isinstance(value, dict) else getattr(value, part, None)
        if value is None:
            return None
    return value
