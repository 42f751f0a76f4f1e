"""Many users' events at once: read together, decided one by one, written together; one result each.

Items of one user are done one after another, each seeing what the one before has done; so a batch is quickest with as many users as items.
Where an item needs a newer revision than this process has (see `writing`), all that are left wait for it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence

from django.db import Error

from apps.cachesync.task_interface import UserWrite, task_interface
from apps.dbsvr.rounds import one_of_each
from apps.tasks.evaluation.bundle import Bundle
from apps.tasks.evaluation.events import Feeding
from apps.tasks.live_bundle import live, live_bundle
from apps.tasks.profiles import profiles_of
from apps.tasks.selectors import known_events
from apps.tasks.services.errors import UnknownEventType
from apps.tasks.services.events import ASKING_AGAIN, Told, told, told_in_vain
from apps.tasks.services.telling import Telling, feeding_of
from apps.tasks.services.writing import deadline, left_ms
from workers.protocol import DBSvrError, MasterDown, OldRules, Snapshot

log = logging.getLogger(__name__)

MAX_ITEMS = 500

Outcome = Told | DBSvrError | UnknownEventType


def record_events(tellings: Sequence[Telling]) -> list[Outcome]:
    """What became of each, in order: what it did, or why not. One item's fault is not the others'."""
    batch = _Batch(tellings, deadline())
    for places in one_of_each([telling.uid for telling in tellings]):
        batch.do(places)
    return [outcome for outcome in batch.outcomes if outcome is not None]


class _Batch:
    def __init__(self, tellings: Sequence[Telling], until: float) -> None:
        self.outcomes: list[Outcome | None] = [None] * len(tellings)
        self._tellings = tellings
        self._until = until
        self._bundle = live().bundle
        self._snapshots: dict[int, Snapshot] = {}
        """As the item before left the user."""

    def do(self, places: Sequence[int]) -> None:
        """One item of each user; with newer rules where some were decided by older ones than the user has met."""
        left = list(places)
        while left:
            self._try(left)
            old = {place: it for place in left if isinstance(it := self.outcomes[place], OldRules)}
            needed = max((max(error.revision, self._bundle.revision + 1) for error in old.values()), default=0)
            newer = live_bundle.get_at_least(needed, self._until - time.monotonic()) if old else None
            if newer is None:
                return
            self._bundle = newer.bundle
            left = list(old)

    def _try(self, places: Sequence[int]) -> None:
        bundle = self._bundle
        feedings = self._decided(bundle, places)
        known = self._known([place for place, feeding in feedings.items() if not feeding.fed])
        writes: dict[int, UserWrite] = {}
        for place, feeding in feedings.items():
            telling = self._tellings[place]
            if not feeding.fed and known is None:
                self.outcomes[place] = MasterDown("whether this event was here before could not be asked; nothing was done")
                continue
            if feeding.fed or (known and (telling.uid, telling.event_id) in known):
                writes[place] = UserWrite(telling.uid, telling.event_id, feeding.changes or [ASKING_AGAIN])
                continue
            try:
                self.outcomes[place] = told_in_vain(bundle, telling, self._snapshots[telling.uid], feeding)
            except UnknownEventType as error:
                self.outcomes[place] = error
        answers = task_interface().finish_many(list(writes.values()), deadline_ms=left_ms(self._until)) if writes else []
        for (place, write), answer in zip(writes.items(), answers, strict=True):
            if isinstance(answer, DBSvrError):
                self.outcomes[place] = answer
                self._snapshots.pop(write.uid, None)  # who knows what he is now
            else:
                self.outcomes[place] = told(bundle, self._tellings[place], feedings[place], answer)
                self._snapshots[write.uid] = answer.snapshot

    def _known(self, places: Sequence[int]) -> set[tuple[int, str]] | None:
        """Which of these events were here before; None: nobody could be asked. Those that feed something are done all the same."""
        try:
            return known_events([(self._tellings[place].uid, self._tellings[place].event_id) for place in places])
        except Error as error:
            log.warning("the master could not be asked for known events", extra={"error": error})
            return None

    def _decided(self, bundle: Bundle, places: Sequence[int]) -> dict[int, Feeding]:
        """What each does, of those whose user could be read."""
        missing = [uid for place in places if (uid := self._tellings[place].uid) not in self._snapshots]
        found = dict(zip(missing, task_interface().get_many(missing), strict=True)) if missing else {}
        profiles = profiles_of([(self._tellings[place].uid, self._tellings[place].passed) for place in places], bundle)
        decided = {}
        for place, profile in zip(places, profiles, strict=True):
            telling = self._tellings[place]
            snapshot = self._snapshots.get(telling.uid) or found[telling.uid]
            if isinstance(snapshot, DBSvrError):
                self.outcomes[place] = snapshot
                continue
            self._snapshots[telling.uid] = snapshot
            decided[place] = feeding_of(bundle, telling, snapshot, profile)
        return decided
