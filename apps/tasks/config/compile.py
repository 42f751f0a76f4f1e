"""A configuration becomes the one bundle that logic nodes evaluate.

Pure: the same arguments give the same bytes. It takes a configuration that `validate` has found no fault in, and decides nothing about a
user; what it adds are the tasks' numbers, the lists' uids, and for users in flight the rules that they began under.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Literal

import msgspec

from apps.tasks.config.bundle_document import (
    SCHEMA,
    BundleDocument,
    KeptRules,
    PublishedList,
    PublishedTask,
    Rules,
    decode_bundle,
    encode_bundle,
    rules_of,
)
from apps.tasks.config.documents import USER_ZONE, Configuration, Task, UserList
from apps.tasks.evaluation.periods import clock_of, zone_named

InFlight = Literal["keep", "apply"]

NOMINAL_DAYS = {"daily": 1, "weekly": 7, "monthly": 31}
USUAL_LENGTHS_AT_MOST = 2
"""Who moves to another zone has one period of up to one and a half times the usual length; by twice the length it is over."""


def compile_bundle(
    configuration: Configuration,
    numbers: Mapping[str, int],
    uids: Mapping[str, Sequence[int]],
    revision: int,
    published_at: datetime,
    previous: bytes | None = None,
    in_flight: InFlight = "keep",
    history_counts: bool = False,
) -> bytes:
    """The bundle of `revision`, as JSON.

    `numbers`: of the tasks, by code; one without is not published yet and gets 0. `uids`: of the lists, by the SHA-256 of their text.
    `previous`: the bundle that is live now. `in_flight`: whether users keep the rules that they began a period under, where this revision
    changes them. `history_counts`: whether events from before this revision count for tasks that it brings.
    """
    before = {task.code: task for task in decode_bundle(previous).tasks} if previous is not None else {}
    tasks = (
        _publish(task, before.get(task.code), numbers.get(task.code, 0), revision, published_at, in_flight, history_counts)
        for _code, task in sorted(configuration.tasks.items())
        if not task.archived
    )
    return encode_bundle(
        BundleDocument(
            schema=SCHEMA,
            revision=revision,
            published_at=published_at,
            tasks=tuple(tasks),
            attributes=configuration.attributes,
            events=configuration.events,
            lists={name: _with_uids(each, uids) for name, each in configuration.lists.items()},
        )
    )


def etag_of(revision: int, bundle: bytes) -> str:
    """The entity tag, with its quotes: it changes with every change of the bundle and with nothing else."""
    return f'"{revision}-{hashlib.sha256(bundle).hexdigest()[:16]}"'


def _publish(
    task: Task,
    live: PublishedTask | None,
    number: int,
    revision: int,
    published_at: datetime,
    in_flight: InFlight,
    history_counts: bool,
) -> PublishedTask:
    fields = {name: getattr(task, name) for name in task.__struct_fields__}
    if live is None:
        counts_from = None if history_counts or task.starts_at >= published_at else published_at
        return PublishedTask(**fields, number=number, since=revision, counts_from=counts_from)
    counts_from = None if live.counts_from is None or task.starts_at >= live.counts_from else live.counts_from
    kept = tuple(rules for rules in live.kept if rules.until is None or rules.until > published_at)
    since = live.since
    former = rules_of(live)
    if former != rules_of(task):
        if in_flight == "apply":
            kept = ()
        else:
            since = revision
            until = _over_by(former, live, published_at)
            if until is None or until > published_at:
                kept = (*kept, KeptRules(**msgspec.structs.asdict(former), before=revision, until=until))
    return PublishedTask(**fields, number=number, since=since, kept=kept, counts_from=counts_from)


def _over_by(rules: Rules, task: Task, published_at: datetime) -> datetime | None:
    """When no record of a period that runs at `published_at` can change any more; None: never."""
    period = rules.period
    # A late event may still count, and a reward still be claimed, when the period itself is over.
    afterwards = timedelta(seconds=max(task.late_window_s, rules.claim.grace_s))
    ends_at: datetime | None
    if period.zone == USER_ZONE and period.kind not in ("once", "window"):
        ends_at = published_at + USUAL_LENGTHS_AT_MOST * timedelta(days=NOMINAL_DAYS.get(period.kind, period.every_days))
    else:
        zone = zone_named("UTC" if period.zone == USER_ZONE else period.zone)
        ends_at = clock_of(period, zone, task.starts_at, task.ends_at).period_at(published_at).resets_at
    return None if ends_at is None else ends_at + afterwards


def _with_uids(listed: UserList, uids: Mapping[str, Sequence[int]]) -> PublishedList:
    return PublishedList(
        name=listed.name,
        description=listed.description,
        sha256=listed.sha256,
        count=listed.count,
        uids=list(uids[listed.sha256]),
    )
