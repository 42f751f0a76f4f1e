"""What an operator does to a draft before it is published. Each change raises the draft's edition and takes an approval away.

A form shows a document as it is in `configuration_of(draft)`, and says with `seen` which revision was live then; without `seen`, the
document counts as an edit of what the draft is based on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django.conf import settings
from django.db import connection
from django.db.models import F
from django.utils import timezone

from apps.tasks.config.documents import TASK, Configuration, Document, to_plain
from apps.tasks.config.faults import Fault, pointer_to, refusals
from apps.tasks.config.merge import is_same, merge, settle
from apps.tasks.config.validate import validate
from apps.tasks.models import Draft, DraftItem, ListContents, Revision
from apps.tasks.models.drafts import OPEN_STATES, DraftState
from apps.tasks.publishing import audit
from apps.tasks.publishing.audit import Actor
from apps.tasks.publishing.errors import NotOpen, Stale, StaysTaken, UnknownDocument
from apps.tasks.publishing.live import configuration_at, live_configuration, live_number
from apps.tasks.publishing.many_rows import as_json, from_json, insert_rows
from apps.tasks.publishing.reconciling import (
    DocumentConflict,
    Item,
    Key,
    Reconciled,
    brought_back,
    plain_at,
    reconcile,
    reconcile_roll_back,
    with_authors,
)
from apps.tasks.publishing.unhurried import unhurried


def open_draft(user: Actor, title: str = "") -> Draft:
    """A new draft on top of what is live."""
    with unhurried():
        draft = Draft.objects.create(
            editor=audit.account_of(user), opened_by=audit.name_of(user), title=title[:200], base_revision=live_number()
        )
        audit.record(user, "open", draft=draft.pk, note=title)
    return draft


def save_document(draft: Draft, edition: int, kind: str, document: Document, user: Actor, *, seen: int | None = None) -> Draft:
    """Put the document into the draft. Raises Stale, NotOpen."""
    key = document.code if kind == TASK else document.name  # type: ignore[union-attr]
    return save_documents(draft, edition, {(kind, key): document}, user, seen=seen)


def remove_document(draft: Draft, edition: int, kind: str, key: str, user: Actor, *, seen: int | None = None) -> Draft:
    """Take the document away at the next publication. Raises StaysTaken for a published task, Stale, NotOpen."""
    return save_documents(draft, edition, {(kind, key): None}, user, seen=seen, action="remove")


def save_documents(
    draft: Draft, edition: int, changes: Mapping[Key, Document | None], user: Actor, *, seen: int | None = None, action: str = "save"
) -> Draft:
    """All of them or none, with an audit row for each: what bulk edits and imports do."""
    with unhurried():
        hold(draft, edition)
        was = configuration_at(draft.base_revision if seen is None else seen)
        stored = items_of(draft)
        told, written, dropped = [], {}, []
        for (kind, key), document in changes.items():
            item = stored.get((kind, key))
            base, before = _base_and_before(item, kind, key, was, rebases=seen is not None)
            after = None if document is None else to_plain(document)
            if kind == TASK and after is None and key in live_configuration().tasks:
                raise StaysTaken(f"the task {key} was published: it can be archived")
            if is_same(after, before):
                continue
            told.append((kind, key, before, after))
            if not is_same(after, base):
                written[(kind, key)] = Item(base, after)
            elif item is not None:
                dropped.append((kind, key))
        for kind, key in dropped:
            draft.items.filter(kind=kind, key=key).delete()
        write_items(draft, written, user)
        if told:
            change(draft, rolls_back_to=None)  # from now on it is no longer just what was live once
            audit.record_documents(user, action, told, draft=draft.pk)
    return draft


def _base_and_before(item: Item | None, kind: str, key: str, was: Configuration, rebases: bool) -> tuple[Any, Any]:
    """What an edit is a change of, and what its form showed. A form that showed the draft merged with `was` is an edit of `was`,
    unless conflicts stood in it: those stay until they are resolved."""
    theirs = plain_at(was, kind, key)
    if item is None:
        return theirs, theirs
    if rebases:
        merged, conflicts = merge(item.base, item.document, theirs)
        if not conflicts:
            return theirs, merged
    return item.base, item.document


def revert_document(draft: Draft, edition: int, kind: str, key: str, user: Actor) -> Draft:
    """The draft no longer changes this document. Raises UnknownDocument, Stale, NotOpen."""
    with unhurried():
        hold(draft, edition)
        item = draft.items.filter(kind=kind, key=key).first()
        if item is None:
            raise UnknownDocument(f"the draft does not change {kind} {key}")
        item.delete()
        change(draft, rolls_back_to=None)
        audit.record(user, "revert", kind=kind, key=key, before=item.document, after=item.base, draft=draft.pk)
    return draft


def discard(draft: Draft, edition: int, user: Actor) -> Draft:
    """Nobody works on it any more; its items stay, to be looked at. Raises Stale, NotOpen."""
    with unhurried():
        hold(draft, edition)
        change(draft, state=DraftState.DISCARDED)
        audit.record(user, "discard", draft=draft.pk)
    return draft


def changes_of(draft: Draft) -> list[DraftItem]:
    """The documents that the draft changes."""
    return list(draft.items.order_by("kind", "key"))


def items_of(draft: Draft) -> dict[Key, Item]:
    """The same as plain values: what is computed with."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT kind, `key`, base, document FROM tasks_draftitem WHERE draft_id = %s ORDER BY kind, `key`", [draft.pk])
        return {(kind, key): Item(from_json(base), from_json(document)) for kind, key, base, document in cursor.fetchall()}


def write_items(draft: Draft, items: Mapping[Key, Item], user: Actor) -> None:
    """Put them into the draft, each in place of what it has for that document."""
    account = audit.account_of(user)
    number, now = None if account is None else account.pk, timezone.now()
    insert_rows(
        DraftItem,
        ("draft", "kind", "key", "base", "document", "changed_at", "changed_by"),
        ((draft.pk, kind, key, as_json(item.base), as_json(item.document), now, number) for (kind, key), item in items.items()),
        replacing=True,
    )


def configuration_of(draft: Draft) -> Configuration:
    """What would be live if the draft were published now. At a conflict it has the draft's value."""
    live = live_configuration()
    return reconciled(draft, live).on(live)


def conflicts_of(draft: Draft) -> list[DocumentConflict]:
    """Where a newer revision and the draft changed the same, with who did that."""
    live = live_number()
    conflicts = reconciled(draft, configuration_at(live)).conflicts
    return with_whom(conflicts, draft.base_revision) if conflicts else []


def with_whom(conflicts: list[DocumentConflict], since: int) -> list[DocumentConflict]:
    """The conflicts with who made the other change, in the revisions after `since`."""
    newer = Revision.objects.filter(number__gt=since).defer("configuration", "bundle")
    return with_authors(conflicts, [(each.number, each.published_by, each.published_at, each.changes) for each in newer])


def reconciled(draft: Draft, live: Configuration) -> Reconciled:
    items = items_of(draft)
    if draft.rolls_back_to is None:
        return reconcile(items, live)
    return reconcile_roll_back(items, configuration_at(draft.base_revision), configuration_at(draft.rolls_back_to), live)


def resolve(
    draft: Draft, kind: str, key: str, path: Iterable[str], take: str, user: Actor, *, edition: int | None = None, seen: int | None = None
) -> Draft:
    """Decide one conflict: `take` "mine" (the draft's value) or "theirs" (the live one).

    `seen` is the revision in which the other value was seen; when something newer stands there now, that is a conflict anew.
    Raises UnknownDocument when there is no such conflict, Stale, NotOpen.
    """
    place = tuple(path)
    with unhurried():
        hold(draft, draft.edition if edition is None else edition)
        number = live_number() if seen is None else seen
        live = configuration_at(number)
        conflict = next(
            (each for each in reconciled(draft, live).conflicts if (each.kind, each.key, each.path) == (kind, key, place)), None
        )
        if conflict is None or take not in ("mine", "theirs"):
            raise UnknownDocument(f"no conflict in {kind} {key} at {'.'.join(place) or 'the whole'}")
        item = draft.items.filter(kind=kind, key=key).first() or DraftItem(draft=draft, kind=kind, key=key)
        before, theirs = item.document, plain_at(live, kind, key)
        if draft.rolls_back_to is not None:
            target = configuration_at(draft.rolls_back_to)
            item.base, item.document = theirs, brought_back(kind, key, target, live) if take == "mine" else theirs
        else:
            item.base, item.document = settle(item.base, item.document, theirs, place, take)
        item.changed_by = audit.account_of(user)
        item.save()
        if not reconciled(draft, live).conflicts:
            _base_on(draft, number, live)
        change(draft)
        facts = {"kind": kind, "key": key, "before": before, "after": item.document, "draft": draft.pk}
        audit.record(user, "resolve", **facts, note=f"{'.'.join(place)}: {take}")
    return draft


def _base_on(draft: Draft, number: int, live: Configuration) -> None:
    """The draft, without conflicts, becomes one of changes to revision `number`."""
    for (kind, key), document in reconciled(draft, live).documents.items():
        base = plain_at(live, kind, key)
        items = draft.items.filter(kind=kind, key=key)
        if is_same(base, document):
            items.delete()
        else:
            # update(): who changed the document last is still who edited it.
            items.update(base=base, document=document)
    Draft.objects.filter(pk=draft.pk).update(base_revision=number)


def check(draft: Draft) -> list[Fault]:
    """All faults and warnings of the whole that it would make. Remembers that this edition has none that would stop it."""
    live = live_configuration()
    merged = reconciled(draft, live)
    faults = faults_of(merged.on(live), live)
    if not refusals(faults) and not merged.conflicts:
        Draft.objects.filter(pk=draft.pk, edition=draft.edition).update(checked_edition=draft.edition)
        draft.checked_edition = draft.edition
    return faults


def faults_of(configuration: Configuration, live: Configuration) -> list[Fault]:
    """What validation says of what is to become of `live`, and lists whose uids are not here."""
    faults = validate(configuration, live, event_retention_s=settings.EVENT_RETENTION_DAYS * 86_400)
    return list({(fault.pointer, fault.code): fault for fault in (*faults, *missing_contents(configuration))}.values())


def missing_contents(configuration: Configuration) -> list[Fault]:
    wanted = {name: each.sha256 for name, each in configuration.lists.items()}
    here = set(ListContents.objects.filter(sha256__in=set(wanted.values())).values_list("sha256", flat=True))
    return [Fault(pointer_to("lists", name, "sha256"), "sha256") for name, sha256 in wanted.items() if sha256 not in here]


def hold(draft: Draft, edition: int) -> None:
    """Lock the draft as the caller has seen it, and read it anew. Raises Stale, NotOpen."""
    now = Draft.objects.select_for_update().get(pk=draft.pk)
    if now.state not in OPEN_STATES:
        raise NotOpen(f"draft {draft.pk} is {now.state}")
    if now.edition != edition:
        raise Stale(now.edition)
    draft.refresh_from_db()


def change(draft: Draft, **fields: Any) -> None:
    """A new edition: nobody has asked for, given or refused an approval of it, and it waits for no moment."""
    cleared = {
        "state": DraftState.EDITING,
        "asked_at": None,
        "reviewed_at": None,
        "reviewer": None,
        "publish_at": None,
        "publisher": None,
        "failure": "",
        "changed_at": timezone.now(),
        "edition": F("edition") + 1,
    }
    Draft.objects.filter(pk=draft.pk).update(**{**cleared, **fields})
    draft.refresh_from_db()
