"""An event as it was told, and what it feeds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone

from apps.tasks.evaluation.attributes import Profile
from apps.tasks.evaluation.bundle import Bundle
from apps.tasks.evaluation.events import Event, Feeding, feed
from apps.tasks.evaluation.standing import User
from apps.tasks.services.writing import refuse_bad_moment
from workers.protocol import Snapshot


@dataclass(frozen=True, slots=True)
class Telling:
    """One event as it was told: whose, when it happened, what the caller says of him."""

    uid: int
    event_id: str
    event: Event
    at: datetime
    received_at: datetime
    passed: Mapping[str, object]


def told_now(uid: int, event_id: str, event: Event, at: datetime | None, profile: Mapping[str, object]) -> Telling:
    """Raises BadMoment."""
    now = timezone.now()
    if at is not None:
        refuse_bad_moment(at, now)
    return Telling(uid, event_id, event, at or now, now, profile)


def feeding_of(bundle: Bundle, telling: Telling, snapshot: Snapshot, profile: Profile) -> Feeding:
    return feed(telling.event, User(bundle, profile, snapshot, telling.at, None), telling.received_at)
