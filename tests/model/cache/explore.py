"""The cache layer's model, explored: whatever can happen next, and what must never."""

from __future__ import annotations

from collections.abc import Iterator

from tests.model.cache.configuration import Rules, Scenario
from tests.model.cache.promises import judge
from tests.model.cache.state import State, Step, first_state
from tests.model.cache.steps_front import front_steps
from tests.model.cache.steps_logic import logic_steps
from tests.model.cache.steps_node import node_steps
from tests.model.explore import Finding, search


def explore(scenario: Scenario, rules: Rules, most_states: int) -> Finding:
    return search(first_state(scenario.nodes, scenario.copies_at), lambda state: steps(state, scenario, rules), judge, most_states)


def steps(state: State, scenario: Scenario, rules: Rules) -> Iterator[Step]:
    """Whatever can happen next."""
    yield from node_steps(state, scenario, rules)
    yield from logic_steps(state, scenario, rules)
    yield from front_steps(state, scenario, rules)
