"""How a write is decided and sent: by the rules of one revision, and anew by newer ones where the user has met them already.

A user's record may be of a newer revision than the one that this process works with: another logic node heard of it first. Then nothing is
done, and the DBSvr says which revision it is; this process waits for it (a fraction of a second), decides again and sends the same
event id again.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TypeVar

from django.conf import settings
from django.utils.translation import gettext as _

from apps.dbsvr.sweeps import events
from apps.dbsvr.sweeps.horizon import Horizon
from apps.tasks.evaluation.bundle import Bundle
from apps.tasks.live_bundle import LiveBundle, live_bundle
from apps.tasks.services.errors import BadMoment
from workers.protocol import OldRules

FUTURE_TOLERATED = timedelta(minutes=5)
"""Clocks of other machines are a little ahead of ours; more than this is a mistake."""
SURELY_KNOWN = timedelta(days=1)
"""Event ids that are younger are never deleted: of most events nothing needs to be asked."""
EVENTS = Horizon(events.NAME)

Written = TypeVar("Written")


def deadline() -> float:
    """Until when a call that begins now may take; a moment of time.monotonic()."""
    return time.monotonic() + settings.DEADLINE_MS / 1000


def left_ms(until: float) -> int:
    return max(1, int(1000 * (until - time.monotonic())))


def decide_by_newest(write: Callable[[Bundle], Written], until: float, bundles: LiveBundle = live_bundle) -> Written:
    """`write` decides by the bundle that it is given, and sends. Raises OldRules when the revision that is needed does not come in time."""
    bundle = bundles.get().bundle
    while True:
        try:
            return write(bundle)
        except OldRules as error:
            newer = bundles.get_at_least(max(error.revision, bundle.revision + 1), until - time.monotonic())
            if newer is None:
                raise
            bundle = newer.bundle


def refuse_bad_moment(moment: datetime, now: datetime) -> None:
    """Raises BadMoment: a moment ahead, or one of which it is not sure any more whether the event was here before. DatabaseError."""
    if moment > now + FUTURE_TOLERATED:
        raise BadMoment(
            _("The moment “at” lies more than %(minutes)d minutes in the future.") % {"minutes": FUTURE_TOLERATED.seconds // 60}
        )
    if moment < now - timedelta(days=settings.EVENT_RETENTION_DAYS):
        raise BadMoment(
            _("The moment “at” is more than %(days)d days ago; event ids are not kept longer.") % {"days": settings.EVENT_RETENTION_DAYS}
        )
    # The settings of this process are not all: what another has deleted by its own cannot be known here any more.
    if moment < now - SURELY_KNOWN and (known_since := EVENTS.kept_since()) is not None and moment < known_since:
        raise BadMoment(_("The moment “at” is before %(day)s; event ids of that time are not kept any more.") % {"day": known_since.date()})


def new_event_id() -> str:
    return uuid.uuid4().hex
