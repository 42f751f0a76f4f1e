"""The rules of the pair, explored in small configurations: they suffice, and none is needless. The larger ones: `make test-long`."""

from __future__ import annotations

import dataclasses

import pytest

from tasksys_site.configuration import PROJECT
from tests.model.pair import PairRules
from tests.model.pair_cases import BROKEN, HOLD, PAIR_CASES, PairCase

WITHOUT_A_COUNTEREXAMPLE = {"change_of_master_is_a_takeover"}
"""Kept all the same: docs/protocol.md says why."""


@pytest.mark.parametrize("case", [case for case in PAIR_CASES if case.is_quick], ids=lambda case: case.name)
def test_a_pair_keeps_its_promises_and_breaks_them_where_a_rule_is_left_out(case: PairCase) -> None:
    finding = case.explore()

    assert case.is_met_by(finding), str(finding)


def test_every_rule_is_left_out_in_some_case_and_nothing_but_that_rule() -> None:
    left_out = [[field.name for field in dataclasses.fields(PairRules) if not getattr(case.rules, field.name)] for case in BROKEN]

    assert all(len(rules) == 1 for rules in left_out)
    assert {rule for (rule,) in left_out} == {field.name for field in dataclasses.fields(PairRules)} - WITHOUT_A_COUNTEREXAMPLE
    assert {case.scenario for case in BROKEN} <= {case.scenario for case in HOLD}


def test_the_proof_names_every_case_of_a_broken_rule() -> None:
    proof = (PROJECT / "docs" / "protocol.md").read_text(encoding="utf-8").split("## The wire")[0]

    assert [case.name for case in BROKEN if f"`{case.name}`" not in proof] == []
