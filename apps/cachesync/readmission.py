"""Which cache nodes may be used now (INV 11).

Pure. A node with an unfinished purge older than the grace is used by nobody, nor is one that is to be flushed. How old a purge is is
told by no clock of another host: ids rise, so a row is at least as old as the look that first saw its id, or a higher one. Of what
the first look finds, or the first after a gap, the age is not known; it counts as old. So with a look a second a node that missed a
purge is used for LONGEST_GAP_S + the grace + LONGEST_GAP_S at most.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from typing import NamedTuple, Protocol

EVERY_NODE = "*"

FLUSH, PURGES, SILENT, JOINING, DRAINING = "flush", "purges", "silent", "joining", "draining"
"""Why a node is not used."""

LONGEST_GAP_S = 1.5
"""Between two looks; after a longer one all that is seen counts as old."""


class Unfinished(Protocol):
    @property
    def oldest(self) -> int: ...
    @property
    def newest(self) -> int: ...
    @property
    def flush(self) -> bool: ...


class Node(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def state(self) -> str: ...
    @property
    def is_silent(self) -> bool: ...


class _Mark(NamedTuple):
    """The highest id that was seen by a look sent at this moment."""

    sent_at: float
    highest: int


class Readmission:
    """One process's looks, in their order. Moments are of one monotonic clock."""

    def __init__(self, grace_s: float) -> None:
        self._grace_s = grace_s
        self._marks: deque[_Mark] = deque()
        self._sent_at = float("-inf")

    def judge(self, sent_at: float, nodes: Iterable[Node], unfinished: Mapping[str, Unfinished]) -> dict[str, str]:
        """Of each node why it is not used, empty for the others. `sent_at`: when this look was sent."""
        if self._marks and sent_at - self._sent_at > LONGEST_GAP_S:
            self._marks.clear()
        self._sent_at = sent_at
        highest = max((each.newest for each in unfinished.values()), default=0)
        if self._marks:
            highest = max(highest, self._marks[-1].highest)
        self._marks.append(_Mark(sent_at, highest))
        while len(self._marks) > 1 and self._marks[1].sent_at <= sent_at - self._grace_s:
            self._marks.popleft()
        # The newest mark of the grace's age, or the first there is.
        aged = self._marks[0].highest
        return {
            node.name: _why_not(node, [unfinished[name] for name in (node.name, EVERY_NODE) if name in unfinished], aged) for node in nodes
        }


def _why_not(node: Node, unfinished: list[Unfinished], aged: int) -> str:
    if node.state != "in_use":
        return node.state
    if any(each.flush for each in unfinished):
        return FLUSH
    if any(each.oldest <= aged for each in unfinished):
        return PURGES
    return SILENT if node.is_silent else ""
