"""Generations: which timeline of the master a tick belongs to, and when a new one begins.

Pure. A master that is promoted lacks what its predecessor had not replicated yet, and a database that is restored lacks what
came after the backup: its ticks go on from an earlier one, and the same number now names another transaction. So each such
break begins a new *generation*, from a *fork tick*: ticks count only within one generation, and whoever shows a tick of an
older generation past the fork has applied what the master lacks.
"""

from __future__ import annotations

from typing import NamedTuple

PROMOTION, RESTORE, ADOPTION = "promotion", "restore", "adoption"


class Known(NamedTuple):
    """The newest that a DBSvr has seen committed, and on which server (`server_id`); zeros when it knows nothing."""

    generation: int = 0
    tick: int = 0
    server_id: int = 0


class Found(NamedTuple):
    """What a master's row of this instance says, as a claim finds it.

    `recorded_server_id` is the server that wrote it last, `server_id` the one we are connected to, and `generation_here` the
    highest generation that any instance has recorded for that server.
    """

    generation: int
    tick: int
    fork_tick: int
    recorded_server_id: int
    server_id: int
    generation_here: int


class Timeline(NamedTuple):
    """`cause` is empty when the generation goes on; else PROMOTION, RESTORE, or ADOPTION: an operator has begun it."""

    generation: int
    fork_tick: int
    cause: str = ""


def is_outdated(found: Found, known: Known) -> bool:
    """A master of an older generation than we have seen, and not the one we knew: a former master that has come back.

    The known server itself, at an older generation, was restored from a backup, and that is a new timeline.
    """
    return max(found.generation, found.generation_here) < known.generation and found.server_id != known.server_id


def timeline_of(found: Found, known: Known) -> Timeline:
    """Does the generation go on, or must a new one begin here? The answer of a claim, for a master that is not outdated."""
    lacks = (found.generation, found.tick) < (known.generation, known.tick)
    is_promoted = found.recorded_server_id not in (0, found.server_id)
    cause = PROMOTION if is_promoted else RESTORE
    if not lacks and not is_promoted:
        if found.generation_here <= found.generation:
            is_adopted = 0 < known.generation < found.generation
            return Timeline(found.generation, found.fork_tick, ADOPTION if is_adopted else "")
        # A new instance begins in the generation of the others; an old one has slept through a break.
        return Timeline(found.generation_here, found.tick, RESTORE if found.recorded_server_id else "")
    if found.generation_here > max(found.generation, known.generation):
        return Timeline(found.generation_here, found.tick, cause)  # another instance has noticed the same break before us
    return Timeline(max(found.generation, known.generation) + 1, found.tick, cause)


class Forks:
    """Where the generations that we have seen begin to end: generation -> the last tick of older ones that it contains."""

    def __init__(self, forks: dict[int, int] | None = None) -> None:
        self._forks = dict(forks or {})

    def note(self, generation: int, fork_tick: int) -> None:
        self._forks[generation] = fork_tick

    def passed_by(self, generation: int, tick: int) -> int | None:
        """The fork tick that a server showing this has gone past, or None: everything it has applied is in the present generation."""
        later = [fork_tick for each, fork_tick in self._forks.items() if each > generation]
        # Ticks go on across a fork, so the lowest later fork is the first place where the two histories part.
        fork_tick = min(later, default=None)
        return fork_tick if fork_tick is not None and tick > fork_tick else None

    def as_dict(self) -> dict[int, int]:
        return dict(self._forks)
