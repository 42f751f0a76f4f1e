"""How a revision comes to be: alone, whole, in one transaction.

Whoever publishes holds the row `revision` of the change counters, so there is one at a time and the numbers have no gap. Everything that
belongs to a revision is written under that lock: the bundle, the tasks' rows, the audit rows, the counters.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import msgspec
from django.conf import settings
from django.db import OperationalError, connection
from django.utils import timezone

from apps.tasks.config.compile import compile_bundle, etag_of
from apps.tasks.config.documents import TASK, Configuration, encode
from apps.tasks.models import ChangeCounter, Draft, ListContents, Revision
from apps.tasks.models.records import Origin
from apps.tasks.publishing import audit
from apps.tasks.publishing.audit import Actor
from apps.tasks.publishing.errors import Busy, NothingToPublish, TooLarge
from apps.tasks.publishing.lists import unpack
from apps.tasks.publishing.live import live_configuration, live_number
from apps.tasks.publishing.projection import project
from apps.tasks.publishing.reconciling import changed_keys, plain_at
from apps.tasks.publishing.unhurried import unhurried
from workers.protocol import MAX_BODY_BYTES, MAX_BUNDLE_BYTES

REVISION = "revision"
"""The change counter that is locked by who publishes; its value is the newest revision's number."""
LOCK_WAIT_TIMEOUT = 1205
MOST_BYTES = MAX_BODY_BYTES
"""Of a revision as gzip, in all: it is one row, and the bundle is handed down whole."""
COMPRESSED = 5
"""gzip's level: of 10,000 tasks a tenth is left, in a tenth of a second."""


class Live(NamedTuple):
    """What is live, held still."""

    number: int
    configuration: Configuration


@contextmanager
def alone() -> Iterator[Live]:
    """A transaction in which nobody else publishes. Raises Busy when somebody does for longer than we may wait."""
    ChangeCounter.objects.get_or_create(name=REVISION)
    with unhurried():
        _wait_for_our_turn()
        yield Live(live_number(), live_configuration())


def _wait_for_our_turn() -> None:
    # Shorter than the connection's read timeout, which would end the connection and say nothing of why.
    wait_s = max(1, settings.CONFIGURATION.databases.read_timeout_s - 1)
    try:
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT value FROM tasks_changecounter WHERE name = %s FOR UPDATE WAIT {wait_s:d}", [REVISION])
    except OperationalError as error:
        if error.args[0] == LOCK_WAIT_TIMEOUT:
            raise Busy(f"another publication has run for {wait_s} s") from error
        raise


def write_revision(
    live: Live,
    configuration: Configuration,
    user: Actor,
    reason: str,
    origin: Origin | str,
    *,
    draft: Draft | None = None,
    in_flight: str = "keep",
    history_counts: bool = False,
    action: str = "publish",
) -> Revision:
    """Inside `alone()`, for a configuration that was validated. Raises NothingToPublish, TooLarge."""
    changed = changed_keys(live.configuration, configuration)
    if not changed:
        raise NothingToPublish("it makes no difference to what is live")
    number, now = live.number + 1, timezone.now()
    numbers = project({key: configuration.tasks[key] for kind, key in changed if kind == TASK and key in configuration.tasks}, number)
    bundle = compile_bundle(
        configuration,
        numbers=numbers,
        uids=uids_of_lists(configuration),
        revision=number,
        published_at=now,
        previous=bundle_of(live.number),
        in_flight=in_flight,
        history_counts=history_counts,
    )
    changes = [
        {"kind": kind, "key": key, "base": plain_at(live.configuration, kind, key), "document": plain_at(configuration, kind, key)}
        for kind, key in changed
    ]
    packed_changes, packed, packed_bundle = _pack(msgspec.json.encode(changes)), _pack(encode(configuration)), _pack(bundle)
    for size, at_most in ((len(packed_changes) + len(packed) + len(packed_bundle), MOST_BYTES), (len(bundle), MAX_BUNDLE_BYTES)):
        if size > at_most:
            raise TooLarge(size, at_most)
    revision = Revision(
        number=number,
        published_at=now,
        publisher=audit.account_of(user),
        published_by=audit.name_of(user),
        reviewer=draft.reviewer if draft is not None else None,
        draft=draft,
        origin=origin,
        reason=reason[:1000],
        rolls_back_to=draft.rolls_back_to if draft is not None else None,
        change_count=len(changes),
        packed_changes=packed_changes,
        etag=etag_of(number, bundle),
        configuration=packed,
        bundle=packed_bundle,
        bundle_bytes=len(bundle),
    )
    revision.save()
    audit.record_documents(
        user,
        action,
        [(change["kind"], change["key"], change["base"], change["document"]) for change in changes],
        draft=None if draft is None else draft.pk,
        revision=number,
        note=revision.reason,
    )
    ChangeCounter.objects.filter(name=REVISION).update(value=number)
    return revision


def bundle_of(number: int) -> bytes | None:
    """The compiled bundle of that revision; None: there is none."""
    packed = Revision.objects.filter(number=number).values_list("bundle", flat=True).first()
    return None if packed is None else gzip.decompress(packed)


def uids_of_lists(configuration: Configuration) -> dict[str, list[int]]:
    """By the SHA-256 of their contents."""
    wanted = {each.sha256 for each in configuration.lists.values()}
    return {contents.sha256: unpack(contents) for contents in ListContents.objects.filter(sha256__in=wanted)}


def _pack(content: bytes) -> bytes:
    return gzip.compress(content, COMPRESSED, mtime=0)
