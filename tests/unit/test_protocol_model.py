"""The protocol's rules, explored in small configurations: they suffice, and none is needless. The larger ones: `make test-long`."""

from __future__ import annotations

import dataclasses
import re

import pytest

from tasksys_site.configuration import PROJECT
from tests.model.cases import BROKEN as BROKEN_RULES
from tests.model.cases import CASES, HOLD, Case
from tests.model.configuration import Rules, Scenario
from tests.model.explore import BROKEN, LIMIT_REACHED, explore
from tests.model.pair_cases import PAIR_CASES


@pytest.mark.parametrize("case", [case for case in CASES if case.is_quick], ids=lambda case: case.name)
def test_the_protocol_keeps_its_promises_and_breaks_them_where_a_rule_is_left_out(case: Case) -> None:
    finding = explore(case.scenario, case.rules)

    assert case.is_met_by(finding), str(finding)


def test_every_rule_is_left_out_in_some_case_and_nothing_but_that_rule() -> None:
    left_out = [[field.name for field in dataclasses.fields(Rules) if not getattr(case.rules, field.name)] for case in BROKEN_RULES]

    assert all(len(rules) == 1 for rules in left_out)
    assert {rule for (rule,) in left_out} == {field.name for field in dataclasses.fields(Rules)}


def test_each_broken_rule_stands_in_a_configuration_that_holds_with_it() -> None:
    holding = {case.scenario for case in HOLD}

    assert [case.name for case in BROKEN_RULES if case.scenario not in holding] == []


def test_a_counterexample_is_told_from_the_first_step_to_the_broken_promise() -> None:
    finding = explore(Scenario(replicas=1, events=("e1",)), Rules(stamp_before_answer=False))

    assert finding.verdict == BROKEN
    assert finding.counterexample == (
        "the front accepts the write e1",
        "life 1 receives e1",
        "life 1 sends e1, from BEGIN to COMMIT",
        "the master bumps the tick for e1, and holds its row",
        "the master commits e1 at tick 2",
        "the front acknowledges e1",
        "a read arrives: stamp 1, must see e1",
        "replica 1 applies tick 1",
        "replica 1, at tick 1, answers: nothing",
    )


def test_what_was_not_explored_to_the_end_does_not_hold() -> None:
    case = HOLD[0]

    finding = explore(case.scenario, case.rules, most_states=100)

    assert finding.verdict == LIMIT_REACHED
    assert not case.is_met_by(finding)


def test_the_proof_names_cases_and_tests_that_exist() -> None:
    proof = (PROJECT / "docs" / "protocol.md").read_text(encoding="utf-8").split("## The wire")[0]
    quoted = re.findall(r"`([^`\n]+)`", proof)
    cases = [name.rstrip(" …") for name in quoted if re.match(r"(INV \d|generations:|durability|event ids are|a promotion)", name)]
    tests = [name for name in quoted if re.fullmatch(r"test_\w+", name)]
    sources = "".join(path.read_text(encoding="utf-8") for path in (PROJECT / "tests").rglob("test_*.py"))

    assert [case.name for case in BROKEN_RULES if not any(case.name.startswith(name) for name in cases)] == []
    assert len(tests) > 5
    assert [name for name in cases if not any(case.name.startswith(name) for case in (*CASES, *PAIR_CASES))] == []
    assert [name for name in tests if f"def {name}(" not in sources] == []
