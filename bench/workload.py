"""The comparison's workload: who is read or written when, and what became of it.

Pure. The operations of a slot are made before it begins, at a fixed rate: a fast way does not get more writes a second, and with
them more reads that follow a write closely, than a slow one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import NamedTuple

USERS = 2_000
RATE = 1_200
"""Operations a second, of all threads together: well below what the slowest way can do when nothing makes it wait."""


class Step(NamedTuple):
    """One operation; `after_s` from the beginning of its slot."""

    after_s: float
    user: int
    is_write: bool


def steps(seed: str, write_share: float, seconds: float, rate: float = RATE, users: int = USERS) -> list[Step]:
    """Few users are asked for often: staleness shows where reads follow writes closely."""
    rnd = Random(seed)
    return [Step(number / rate, int(users * rnd.random() ** 2), rnd.random() < write_share) for number in range(int(seconds * rate))]


def earlier_writes(seed: str, write_share: float, began_at: float, seconds: float, rate: float = RATE) -> dict[int, float]:
    """user -> the moment of his last write, if the workload had run for so long before `began_at`.

    A window of 15 s is full only after 15 s; the writes older than the replica's lag need not have been done for it.
    """
    before = began_at - seconds
    return {step.user: before + step.after_s for step in steps(seed, write_share, seconds, rate) if step.is_write}


def is_pinned(written_at: float | None, now: float, window_s: float) -> bool:
    """Whether a user who wrote last at that moment reads from the master, as fixed windows have it."""
    return written_at is not None and now - written_at < window_s


@dataclass
class Outcome:
    """What a way did with its slot."""

    planned: int
    done: int = 0
    reads: int = 0
    from_replica: int = 0
    stale: int = 0
    lag_s: float | None = None
    """The replica's, median over the slot; None is unknown."""
    latencies_s: list[float] = field(default_factory=list)
    """Of reads, from when they were due: a thread that still waits for an earlier answer keeps others waiting."""

    def add(self, other: Outcome) -> None:
        self.done += other.done
        self.reads += other.reads
        self.from_replica += other.from_replica
        self.stale += other.stale
        self.latencies_s += other.latencies_s

    @property
    def replica_share(self) -> float:
        return self.from_replica / self.reads if self.reads else 0.0

    @property
    def stale_share(self) -> float:
        return self.stale / self.reads if self.reads else 0.0

    @property
    def done_share(self) -> float:
        return self.done / self.planned if self.planned else 0.0


def quantile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of them does not exceed."""
    if not values:
        raise ValueError("no values, no quantile")
    ordered = sorted(values)
    place = -(-len(ordered) * share // 1)  # rounded up
    return ordered[max(0, int(place) - 1)]
