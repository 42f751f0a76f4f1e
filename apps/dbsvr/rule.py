"""The shape of a rule: tiers with two thresholds each, and the facts that its sentence needs.

Pure. A tier rises when its condition has held long enough and stays until another, calmer condition has held too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from apps.dbsvr.findings import Fact, Finding
from apps.dbsvr.thresholds import Thresholds
from apps.dbsvr.window import Window


class Most(msgspec.Struct, frozen=True):
    """The most that was ever seen. Reads/s (means of five seconds): what one can compare "now" with.

    The newest generation with which writes were lost, and when that was first seen.
    """

    reads: float = 0.0
    master_reads: float = 0.0
    lost_generation: int = 0
    lost_at: float = 0.0


@dataclass(frozen=True)
class Scene:
    """All that a rule may look at."""

    window: Window
    limits: Thresholds
    most: Most

    @property
    def now(self) -> float:
        return self.window.now


Rises = Callable[[Scene, str], float | None]
"""Since when the condition holds, or None. The name is the replica's, empty for the DBSvr itself."""
Clears = Callable[[Scene, str], bool]
Told = tuple[str, dict[str, Fact]]
"""The case, and the facts for its words."""
Describe = Callable[[Scene, str, Finding], Told]


@dataclass(frozen=True)
class Tier:
    level: str
    rises: Rises
    clears: Clears


@dataclass(frozen=True)
class Rule:
    """`tiers` from the mildest to the worst. `of_replica`: asked once for each replica."""

    code: str
    tiers: tuple[Tier, ...]
    describe: Describe
    of_replica: bool = False
