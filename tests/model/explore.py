"""The protocol's model, explored: whatever can happen next, and what must never."""

from __future__ import annotations

from collections.abc import Iterator

from tests.model.configuration import Rules, Scenario
from tests.model.promises import judge
from tests.model.search import MOST_STATES, Finding, search
from tests.model.state import State, Step, first_state
from tests.model.steps_database import database_steps
from tests.model.steps_front import front_steps
from tests.model.steps_worker import worker_steps


def explore(scenario: Scenario, rules: Rules, most_states: int = MOST_STATES) -> Finding:
    first = first_state(scenario.replicas, scenario.events)
    return search(first, lambda state: steps(state, scenario, rules), judge, most_states)


def steps(state: State, scenario: Scenario, rules: Rules) -> Iterator[Step]:
    """Whatever can happen next."""
    yield from front_steps(state, scenario, rules)
    yield from worker_steps(state, scenario, rules)
    yield from database_steps(state, scenario, rules)
