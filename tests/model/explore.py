"""All states that can be reached, breadth first, so that a counterexample is a shortest one."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol, TypeVar

from tests.model.configuration import Rules, Scenario
from tests.model.promises import Violation, judge
from tests.model.state import State, Step, first_state
from tests.model.steps_database import database_steps
from tests.model.steps_front import front_steps
from tests.model.steps_worker import worker_steps

HOLDS, BROKEN, LIMIT_REACHED = "holds", "broken", "limit reached"


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


class OneStep(Protocol):
    """Something happens: a sentence, and the state that it leads to."""

    @property
    def sentence(self) -> str: ...

    @property
    def state(self) -> Hashable: ...


AnyStep = TypeVar("AnyStep", bound=OneStep)


def explore(scenario: Scenario, rules: Rules, most_states: int = 3_000_000) -> Finding:
    first = first_state(scenario.replicas, scenario.events)
    return search(first, lambda state: steps(state, scenario, rules), judge, most_states)


def search(
    first: Hashable,
    next_steps: Callable[..., Iterable[AnyStep]],
    judge_step: Callable[[AnyStep], Violation | None],
    most_states: int = 3_000_000,
) -> Finding:
    """`next_steps` of a state are whatever can happen next."""
    began = time.monotonic()
    came_from: dict[Hashable, tuple[Hashable, str] | None] = {first: None}
    todo = deque([first])
    while todo:
        state = todo.popleft()
        for step in next_steps(state):
            violation = judge_step(step)
            if violation is not None:
                way = (*_way_to(state, came_from), step.sentence)
                return Finding(BROKEN, len(came_from), time.monotonic() - began, violation, way)
            if step.state not in came_from:
                came_from[step.state] = (state, step.sentence)
                todo.append(step.state)
        if len(came_from) > most_states:
            return Finding(LIMIT_REACHED, len(came_from), time.monotonic() - began)
    return Finding(HOLDS, len(came_from), time.monotonic() - began)


def steps(state: State, scenario: Scenario, rules: Rules) -> Iterator[Step]:
    """Whatever can happen next."""
    yield from front_steps(state, scenario, rules)
    yield from worker_steps(state, scenario, rules)
    yield from database_steps(state, scenario, rules)


def _way_to(state: Hashable, came_from: dict[Hashable, tuple[Hashable, str] | None]) -> tuple[str, ...]:
    way: list[str] = []
    before = came_from[state]
    while before is not None:
        state, sentence = before
        way.append(sentence)
        before = came_from[state]
    return tuple(reversed(way))
