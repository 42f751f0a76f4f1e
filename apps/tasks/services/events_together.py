"""Events of different callers that travel together: those that have come to this process meanwhile, decided and sent by one thread.

Only what needs nobody's word beside the users' copies goes this way. Who has no copy on his node, or a profile that has to be asked for,
whose event feeds nothing, and whatever a DBSvr does not answer at once with what was done, goes by himself, as if there were nobody else.
"""

from __future__ import annotations

import functools
import logging
import os
from collections.abc import Callable, Sequence
from typing import Any

from apps.cachesync.task_interface import task_interface
from apps.cachesync.travelling import Travelling, TravellingWrite
from apps.tasks.evaluation.bundle import Bundle
from apps.tasks.evaluation.events import Feeding
from apps.tasks.live_bundle import live
from apps.tasks.profiles import profile_at_hand
from apps.tasks.services.telling import Telling, feeding_of
from workers.protocol import Snapshot

log = logging.getLogger(__name__)


class TravellingEvent(TravellingWrite):
    __slots__ = ("decided", "telling")

    def __init__(self, telling: Telling) -> None:
        super().__init__(telling.uid, telling.event_id)
        self.telling = telling
        self.decided: tuple[Bundle, Snapshot, Feeding] | None = None
        """By which rules, from which state of the user, and how."""


def set_out(event: TravellingEvent, until: float) -> Callable[[], None] | None:
    """As Travelling.set_out."""
    return _of_process(os.getpid()).set_out(event, until)


def prepare(events: Sequence[Any]) -> None:
    """Decide those whose user is at hand. The others are not sent."""
    bundle = live().bundle
    copies = task_interface().copies([event.uid for event in events])
    for event in events:
        found = copies.get(event.uid)
        if found is not None:
            try:
                _decide(event, bundle, *found)
            except Exception:
                log.exception("an event could not be decided; whoever waits for it hears why")


def _decide(event: TravellingEvent, bundle: Bundle, own: Any, snapshot: Snapshot) -> None:
    telling = event.telling
    profile = profile_at_hand(telling.uid, telling.passed, bundle, bundle.listeners.get(telling.event.type, ()))
    if profile is None:
        return
    feeding = feeding_of(bundle, telling, snapshot, profile)
    event.decided = bundle, snapshot, feeding
    if feeding.fed:
        event.decide(own, feeding.changes)


@functools.lru_cache(maxsize=1)
def _of_process(pid: int) -> Travelling:
    """A forked child must not share its parent's connections and threads, hence the pid."""
    return task_interface().travelling(prepare)
