"""The larger configurations of the models, each explored to the end."""

from __future__ import annotations

import pytest

from tests.model.cache.cases import CACHE_CASES, CacheCase
from tests.model.cases import CASES, Case
from tests.model.explore import explore
from tests.model.pair_cases import PAIR_CASES, PairCase


@pytest.mark.long
@pytest.mark.parametrize("case", [case for case in CASES if not case.is_quick], ids=lambda case: case.name)
def test_the_protocol_keeps_its_promises_and_breaks_them_where_a_rule_is_left_out(case: Case) -> None:
    finding = explore(case.scenario, case.rules)

    assert case.is_met_by(finding), str(finding)


@pytest.mark.long
@pytest.mark.parametrize("case", [case for case in PAIR_CASES if not case.is_quick], ids=lambda case: case.name)
def test_a_pair_keeps_its_promises_in_larger_configurations(case: PairCase) -> None:
    finding = case.explore()

    assert case.is_met_by(finding), str(finding)


@pytest.mark.long
@pytest.mark.parametrize("case", [case for case in CACHE_CASES if not case.is_quick], ids=lambda case: case.name)
def test_the_cache_layer_keeps_its_promises_in_larger_configurations(case: CacheCase) -> None:
    finding = case.explore()

    assert case.is_met_by(finding), str(finding)
