"""All states that can be reached, breadth first, so that a counterexample is a shortest one.

Knows no model: whoever explores passes the first state, what can happen next, and the judge of every step.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

HOLDS, BROKEN, LIMIT_REACHED = "holds", "broken", "limit reached"
MOST_STATES = 3_000_000


class Violation(NamedTuple):
    promise: str
    sentence: str


@dataclass(frozen=True)
class Finding:
    """`verdict` HOLDS: every state was looked at. BROKEN: `counterexample` leads to the `violation`."""

    verdict: str
    states: int
    seconds: float
    violation: Violation | None = None
    counterexample: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = [f"{self.verdict}: {self.states} states in {self.seconds:.1f} s"]
        lines += [f"  {number:2}. {sentence}" for number, sentence in enumerate(self.counterexample, 1)]
        if self.violation is not None:
            lines.append(f"  breaks {self.violation.promise}: {self.violation.sentence}")
        return "\n".join(lines)

    def ends_as(self, breaks: str) -> bool:
        """Did it end as it must: with a counterexample to the promise `breaks`, or, where that is empty, with none?

        One that did not look at every state has not shown that anything holds.
        """
        if not breaks:
            return self.verdict == HOLDS
        return self.violation is not None and self.violation.promise == breaks


def search(
    first: Any,
    steps: Callable[[Any], Iterator[Any]],
    judge: Callable[[Any], Violation | None],
    most_states: int = MOST_STATES,
) -> Finding:
    """A step has the `sentence` of what happens and the `state` after it; a state is hashable."""
    began = time.monotonic()
    came_from: dict[Any, tuple[Any, str] | None] = {first: None}
    todo = deque([first])
    while todo:
        state = todo.popleft()
        for step in steps(state):
            violation = judge(step)
            if violation is not None:
                way = (*_way_to(state, came_from), step.sentence)
                return Finding(BROKEN, len(came_from), time.monotonic() - began, violation, way)
            if step.state not in came_from:
                came_from[step.state] = (state, step.sentence)
                todo.append(step.state)
        if len(came_from) > most_states:
            return Finding(LIMIT_REACHED, len(came_from), time.monotonic() - began)
    return Finding(HOLDS, len(came_from), time.monotonic() - began)


def _way_to(state: Any, came_from: dict[Any, tuple[Any, str] | None]) -> tuple[str, ...]:
    way: list[str] = []
    before = came_from[state]
    while before is not None:
        state, sentence = before
        way.append(sentence)
        before = came_from[state]
    return tuple(reversed(way))
