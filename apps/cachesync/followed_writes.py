"""What a web process writes down of its own work, once a look: its counts, and a sample of its writes for the cache checker to follow.

Nothing of it is in a request's way: a request appends to a bounded list, and the thread that looks at the nodes writes.
"""

from __future__ import annotations

import random
import time
from collections import deque
from collections.abc import Mapping

from apps.cachesync import counts
from apps.cachesync.checker import AFTER_S
from apps.cachesync.models import CacheCheck
from apps.cachesync.nodes import CacheNode
from workers.protocol import WriteAnswer

KEPT = 1_000
COUNTS_EVERY_S = 5.0


class FollowedWrites:
    def __init__(self, one_in: int) -> None:
        self._one_in = one_in
        self._waiting: deque[CacheCheck] = deque(maxlen=KEPT)
        self._counted_at = time.monotonic()

    def note(self, own_node: str, event_id: str, answer: WriteAnswer) -> None:
        """A write is about to be answered: from now on no node may serve anything older."""
        if not self._one_in or random.random() * self._one_in >= 1:
            return
        now, snapshot = time.time(), answer.snapshot
        self._waiting.append(
            CacheCheck(
                uid=snapshot.uid,
                generation=snapshot.generation,
                version=snapshot.version,
                written_at=now,
                own_node=own_node,
                event_id=event_id,
                due_at=now + AFTER_S[0],
            )
        )

    def write_down(self, nodes: Mapping[str, CacheNode]) -> None:
        """Raises the database's errors; what could not be written is dropped."""
        checks = [self._waiting.popleft() for _ in range(len(self._waiting))]
        if checks:
            CacheCheck.objects.bulk_create(checks)
        if time.monotonic() - self._counted_at >= COUNTS_EVERY_S:
            self._counted_at = time.monotonic()
            counts.add(nodes)
